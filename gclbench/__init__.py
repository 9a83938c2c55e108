"""Reproducible benchmarks of self-supervised representation learning on attributed graphs."""

import os

# Read by OpenMP when torch is first imported. Threads that spin while they wait make a training
# several times slower as soon as anything else runs on the machine, and gain little on an idle one
# (docs/sweeps.md has figures).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
