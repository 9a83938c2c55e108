"""Runs in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from gclbench.config import Experiment
from gclbench.launch.plan import plan
from gclbench.records import Record, Store
from gclbench.runner import load, run
from gclbench.watch import Reporter

Progress = Callable[[str], "AbstractContextManager[Reporter]"]
"""Given a job's title, a context in which training reports its progress."""


def execute(experiment: Experiment, progress: Progress, note: Callable[[str], None]) -> list[Record]:
    """Runs what is not recorded yet and returns the records of every run of the experiment, in order.

    Args:
        progress: shows a training. note: told what is skipped, in one line.

    Raises:
        StoreError: before anything starts, when records could not be written.
        KeyboardInterrupt: on Ctrl-C; what was recorded stays.
    """
    store = Store(experiment.runs_dir)
    store.ensure_writable()
    loaded = load(experiment.components["dataset"])
    planned = plan(experiment, loaded.graph, store)
    if planned.done:
        note(f"{len(planned.done)} of {len(planned.specs)} runs are recorded in {store.root}; rerun=all repeats them")
    records = dict(planned.done)
    for job in planned.jobs:
        with progress(job.title) as report:
            for record in run(job, loaded, store, report):
                records[record.id] = record
    return [records[spec.id] for spec in planned.specs]
