"""Reproducible benchmarks of self-supervised representation learning on attributed graphs.

import gclbench

graph = gclbench.load("cora")
runs = gclbench.run(method="dmat_i", dataset="cora", task="clustering", seeds=10)
z = gclbench.embed(method="dmat_i", dataset="cora", seed=0)
z = gclbench.fit(method="grace", graph=data, settings={"tau": 0.4})
records = gclbench.runs(method="grace", status="ok")
table = gclbench.table("dmat/1")
gclbench.use("my_method.py")
"""

import importlib
import os

# The room `gclbench.run` is imported before the function of the same name takes its place here:
# Python sets the attribute when it first imports a package, and never again. The files of the room
# are imported as everywhere in this project: `from gclbench.run import runner`.
importlib.import_module("gclbench.run")

from gclbench.component.own_components import use  # noqa: E402
from gclbench.face import RunFailed, embed, fit, load, run, runs, table  # noqa: E402

__all__ = ["RunFailed", "embed", "fit", "load", "run", "runs", "table", "use"]

# Read by OpenMP when torch is first imported. Threads that spin while they wait make a training
# several times slower as soon as anything else runs on the machine, and gain little on an idle one
# (docs/sweeps.md has figures).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Read by torch when it first makes a tensor: arrays of 2 MiB and more ask Linux for pages of that
# size, which it hands out and clears several times as fast as pages of 4 KiB.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
