"""Sweeps of the tests in this folder: short runs on a small graph."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from gclbench.component.settings import values_of
from gclbench.config.validation import experiment_of
from gclbench.launch.plan import expand
from gclbench.launch.sweep import Job, Sweep
from gclbench.records import Store

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6", "device=cpu")


KMEANS = (*SMALL, "method=kmeans", "task=clustering", "task.clustering.n_init=1")


def records(folder: str = "runs") -> list[str]:
    return sorted(f"{record.seed} {record.status}" for record in Store(folder).scan())


def saved_sweep(*overrides: str, **more: object) -> Sweep:
    """A sweep in the store whose only job has never been."""
    experiment = experiment_of([*KMEANS, *overrides])
    plan = expand([experiment], Store("runs"))
    places = tuple(range(len(plan.units)))
    job = Job("nowhere:0", places, host=os.uname().nodename, pid=2**22 + 1)
    sweep = Sweep(
        "runs",
        tuple(plan.units),
        "local",
        values_of(experiment.launcher),
        ("gclbench", "submit", *overrides),
        jobs=[job],
    )
    for key, value in more.items():
        setattr(sweep, key, value)
    sweep.save()
    return sweep


def wait_for(condition: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.2)
