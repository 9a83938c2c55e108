"""What a process says on standard error besides its own lines, and how its lines count."""

from __future__ import annotations

import logging
import shlex
import sys
import warnings

IN_BETA = "Sparse CSR tensor support is in beta"
"""PyTorch says so once per process, of matrices that gclbench's own tests cover."""


def set_up() -> None:
    """Warnings of the log go to standard error, one line each; what users cannot act on does not.

    For a process of gclbench's own. A library call leaves the caller's logging as it is.
    """
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr
    )
    warnings.filterwarnings("ignore", message=IN_BETA)


def elsewhere(runs_dir: str) -> str:
    """What a printed command needs besides where the runs are not in `runs`: ` --runs DIR`."""
    return "" if runs_dir == "runs" else f" --runs {shlex.quote(runs_dir)}"


def counted(count: int, noun: str) -> str:
    """`1 run`, `1,200 runs`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
