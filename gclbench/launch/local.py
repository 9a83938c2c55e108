"""`launcher=local`: runs in this process, or in worker processes of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gclbench.component.registry import LAUNCHERS
from gclbench.component.settings import Count
from gclbench.launch.launcher import Launcher, Note, Progress

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment
    from gclbench.launch.sweep import Sweep
    from gclbench.records import Record


@LAUNCHERS.register("local")
@dataclass(frozen=True)
class Local(Launcher):
    """This machine: this process, or worker processes, one per GPU when there are several.

    Attributes:
        workers: 1 runs in this process, one unit after the other; more start that many processes.
        threads: of torch and its libraries in each worker; not given, the cores are shared out.
    """

    workers: Count = 1
    threads: Count | None = None

    def run(self, sweep: Sweep, progress: Progress, note: Note) -> None:
        if self.workers > 1:
            from gclbench.launch.pool import Pool, environments

            threads = self.threads or share_of_cores(self.workers)
            # A device with a number is meant as it is; `cuda` is dealt out.
            dealt = environments(
                self.workers,
                threads,
                gpus=any(unit.device in ("auto", "cuda") for unit in sweep.units),
            )
            Pool(sweep.runs_dir, dealt, threads, progress, note).run(sweep.units)
            return
        from gclbench.launch.unit import perform

        for unit in sweep.units:
            with progress(unit.title) as report:
                perform(replace(unit, threads=self.threads), sweep.runs_dir, report)


def share_of_cores(workers: int) -> int:
    """Threads of a worker: this process's cores shared out, and not more than OMP_NUM_THREADS
    allows."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    most = int(allowed) if allowed.isdigit() and int(allowed) > 0 else cores
    return max(1, min(cores // workers, most))


def execute(experiment: Experiment) -> list[Record]:
    """Runs in this process what is not recorded yet, and returns the records of every run of the
    experiment, in order.

    For use from Python: `execute(gclbench.config.validation.load(["method=dmat_i",
    "dataset=cora"]))`.

    Raises:
        StoreError: before anything starts, when records could not be written.
        DataUnavailable, GraphError: when the dataset cannot be had.
        KeyboardInterrupt: on Ctrl-C; what was recorded stays.
    """
    from gclbench.launch.plan import expand
    from gclbench.launch.unit import perform
    from gclbench.records import Store
    from gclbench.run.runner import load

    store = Store(experiment.runs_dir)
    store.ensure_writable()
    load(experiment.components["dataset"])
    batch = expand([experiment], store)
    for unit in batch.units:
        perform(unit, experiment.runs_dir)
    found = (store.read(run_id) for run_id in batch.ids)
    return [record for record in found if record is not None]
