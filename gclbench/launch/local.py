"""`launcher=local`: runs in this process, or in worker processes of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gclbench.component.registry import LAUNCHERS
from gclbench.component.settings import Count
from gclbench.launch.background import Detached
from gclbench.launch.launcher import Note, Progress

if TYPE_CHECKING:
    from gclbench.launch.sweep import Sweep


@LAUNCHERS.register("local")
@dataclass(frozen=True)
class Local(Detached):
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
        from gclbench.launch.attempt import perform

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
