"""`python -m gclbench` is `gclbench`."""

import sys

from gclbench.cli import main

sys.exit(main())
