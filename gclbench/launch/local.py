"""`launcher=local`: runs in this process, or in worker processes of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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
            `auto` takes as many as the cores, the graphs' threads, the memory and the GPUs allow
            (`launch.workers`); it is what `-m` and `sweep` take by themselves.
    """

    workers: Count | Literal["auto"] = 1

    def run(self, sweep: Sweep, progress: Progress, note: Note) -> None:
        workers = self.workers
        if workers == "auto":
            from gclbench.launch.workers import workers_for

            workers = workers_for(sweep.units)
        if workers > 1:
            note(f"{workers} worker processes (launcher.workers={self.workers})")
            from gclbench.launch.pool import Pool, environments

            # A device with a number is meant as it is; `cuda` is dealt out.
            asked = {unit.device for unit in sweep.units}
            dealt = environments(
                workers, gpus=asked <= {"auto", "cuda", "cpu"} and asked != {"cpu"}
            )
            Pool(sweep.runs_dir, dealt, progress, note).run(sweep.units)
            return
        from gclbench.launch.attempt import perform

        for unit in sweep.units:
            with progress(unit.title) as report:
                perform(unit, sweep.runs_dir, report)
