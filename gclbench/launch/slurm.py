"""`launcher=slurm`: a sweep as a job array, through submitit."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from gclbench.component.registry import LAUNCHERS
from gclbench.component.settings import Count, Range
from gclbench.launch import python_path, slurm_queue
from gclbench.launch.launcher import ENDED, QUEUED, RUNNING, Launcher, LaunchError, Note, Progress
from gclbench.launch.sweep import Job, Sweep, UnknownSweep
from gclbench.machine import messages
from gclbench.machine.paths import expanded
from gclbench.records import Store, StoreError, unwritable

_OURS = {"array", "chdir", "error", "job-name", "open-mode", "output", "signal", "wrap"}
"""Options of sbatch that the launcher sets itself."""

_ONE_TASK = {"nodes", "ntasks", "ntasks-per-node", "ntasks-per-gpu"}

_FIELDS = {
    "partition": "partition",
    "time": "time",
    "mem": "mem",
    "cpus-per-task": "cpus",
    "gpus-per-node": "gpus",
}

_FIRST_LOOK, _LAST_LOOK = 1.0, 20.0
"""Seconds between two looks at the queue: at the beginning, and at most."""


@LAUNCHERS.register("slurm")
@dataclass(frozen=True)
class Slurm(Launcher):
    """Job arrays on a Slurm cluster.

    Attributes:
        partition: of Slurm; its default when not given.
        time: wall-clock of a job as Slurm writes it: minutes, `MM:SS`, `HH:MM:SS`, `D-HH:MM`. A
            longer run goes on after a requeue.
        mem: memory per node, as in `16G`. cpus: per job. gpus: per job, a number or `TYPE:NUMBER`.
        array_parallelism: jobs that run at the same time at most.
        units_per_job: trainings that a job does one after the other; worth it for short ones.
        requeues: how often a job that ran out of its time is put back.
        signal_delay: seconds before the end of its time at which Slurm signals a job to write a
            checkpoint.
        folder: for scripts and logs, seen by every node; `<runs_dir>/sweeps/<id>/slurm` when not
            given.
        extra: any other option of sbatch, as in
            `launcher.extra={qos:long,exclude:node7,exclusive:true}`; `false` takes one away.
    """

    partition: str | None = None
    time: str = "1:00:00"
    mem: str | None = None
    cpus: Count = 1
    gpus: str | None = None
    array_parallelism: Count = 256
    units_per_job: Count = 1
    requeues: Annotated[int, Range(least=0)] = 10
    signal_delay: Count = 90
    folder: str | None = None
    extra: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seconds = 60 * minutes(self.time)
        if 2 * self.signal_delay > seconds:
            raise ValueError(
                f"time={self.time} is too short for signal_delay={self.signal_delay} s: jobs would"
                " be told to end as soon as they start; a larger launcher.time, or"
                f" launcher.signal_delay={max(1, seconds // 3)}"
            )
        for name in self.extra:
            option = _option(name)
            if option in _OURS:
                raise ValueError(f"extra={{{name}:…}} is set by the launcher itself; leave it out")
            if option in _FIELDS:
                raise ValueError(
                    f"extra={{{name}:…}} has a name of its own: launcher.{_FIELDS[option]}=…"
                )
            if option in _ONE_TASK:
                raise ValueError(
                    f"extra={{{name}:…}}: a run is one task on one node; launcher.cpus and"
                    " launcher.gpus make it larger"
                )

    @property
    def remote(self) -> bool:
        return True

    def check(self) -> None:
        try:
            import submitit  # noqa: F401
        except ImportError as error:
            raise LaunchError(
                "launcher=slurm needs submitit: pip install 'gclbench[slurm]'"
            ) from error
        slurm_queue.check_answering()
        options = {**self.options(), "time": str(minutes(self.time))}
        slurm_queue.check_options(
            [
                f"--{name}" if value is True else f"--{name}={value}"
                for name, value in options.items()
            ]
        )

    def options(self) -> dict[str, Any]:
        """Options of sbatch by their long names; True for one without a value."""
        given = {
            "partition": self.partition,
            "mem": self.mem,
            "gpus-per-node": self.gpus,
            "cpus-per-task": self.cpus,
        }
        options: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        # After a node failure or a preemption Slurm itself puts the job back.
        options["requeue"] = True
        for name, value in self.extra.items():
            options[_option(name)] = True if value.lower() == "true" else value
        return {name: value for name, value in options.items() if str(value).lower() != "false"}

    def submit(self, sweep: Sweep) -> list[Job]:
        return self._submit(sweep, list(range(len(sweep.units))))

    def _submit(self, sweep: Sweep, places: list[int]) -> list[Job]:
        """Hands over the units at `places`."""
        folder = Path(expanded(self.folder)) / sweep.id if self.folder else sweep.folder / "slurm"
        setting = "launcher.folder" if self.folder else "runs_dir"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(error.errno, unwritable(folder, error, setting)) from error

        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        from gclbench.launch.slurm_job import SlurmJob

        executor = submitit.SlurmExecutor(folder.absolute(), max_num_timeout=self.requeues)
        executor.update_parameters(
            job_name=f"gclbench-{sweep.id}",
            time=minutes(self.time),
            array_parallelism=self.array_parallelism,
            signal_delay_s=self.signal_delay,
            setup=setup(),
            stderr_to_stdout=True,
            wckey=None,
            additional_parameters=self.options(),
        )
        packs = packed(places, self.units_per_job, slurm_queue.largest_array())
        runs_dir = str(Path(sweep.runs_dir).absolute())
        scripts = [
            SlurmJob(
                tuple(sweep.units[place].plain() for place in pack), runs_dir, self.signal_delay / 2
            )
            for pack in packs
        ]
        try:
            with executor.batch():
                jobs = [executor.submit(script) for script in scripts]
        except (FailedJobError, FailedSubmissionError) as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            raise LaunchError(
                f"launcher=slurm: sbatch refuses the jobs: {lines[-1] if lines else error}"
            ) from error
        except OSError as error:
            raise StoreError(error.errno, unwritable(folder, error, setting)) from error
        return [
            Job(job.job_id, tuple(pack), str(job.paths.stdout))
            for job, pack in zip(jobs, packs, strict=True)
        ]

    def run(self, sweep: Sweep, progress: Progress, note: Note) -> None:
        """Hands the sweep over, waits, and does again what a dead job left: once, then its end is
        recorded."""
        sweep.jobs = self.submit(sweep)
        sweep.save()
        note(
            f"sweep {sweep.id}: {messages.counted(len(sweep.units), 'unit')} in"
            f" {messages.counted(len(sweep.jobs), 'Slurm job')};"
            f" logs in {Path(sweep.jobs[0].log).parent}"
        )
        try:
            self._wait(sweep, note)
        except KeyboardInterrupt:
            where = messages.elsewhere(sweep.runs_dir)
            note(
                f"the jobs go on in Slurm: `gclbench status {sweep.id}{where}` shows them,"
                f" `gclbench cancel {sweep.id}{where}` ends them"
            )
            raise

    def _wait(self, sweep: Sweep, note: Note) -> None:
        alive = list(sweep.jobs)
        tried: Counter[int] = Counter()
        shown, pause = "", _FIRST_LOOK
        silent_since: float | None = None
        while alive:
            time.sleep(pause)
            pause = min(_LAST_LOOK, pause * 1.2)
            try:
                states = slurm_queue.states(job.id for job in alive)
            except LaunchError as error:
                # A controller that restarts is back in minutes; jobs go on without it.
                if silent_since is None:
                    silent_since = time.monotonic()
                    note(f"{error}; waiting for it")
                continue
            silent_since = None
            again: list[int] = []
            for job in alive:
                if states[job.id].phase == ENDED:
                    again += self._closed(sweep, job, states[job.id], tried, note)
            alive = [job for job in alive if states[job.id].phase != ENDED]
            if again:
                fresh = self._submit(sweep, again)
                sweep.jobs = [*sweep.jobs, *fresh]
                sweep.save()
                if _cancelled(sweep):
                    # While they were handed over, so `gclbench cancel` may not have seen them.
                    slurm_queue.cancel([job.id for job in fresh])
                alive += fresh
            now = _summary(alive, states)
            if now != shown:
                note(now)
                shown = now

    def _closed(
        self,
        sweep: Sweep,
        job: Job,
        state: slurm_queue.JobState,
        tried: Counter[int],
        note: Note,
    ) -> list[int]:
        """Looks at what a job that ended has recorded; returns the places of units that another job
        must do."""
        from gclbench.launch.attempt import give_up, missing
        from gclbench.run.ending import Ending

        store = Store(sweep.runs_dir)
        left = [place for place in job.units if missing(sweep.units[place], store)]
        if not left:
            return []
        word = state.word or "gone from the queue"
        if state.word.startswith("CANCELLED") or _cancelled(sweep):
            note(
                f"job {job.id} was cancelled before {len(left)} of its units were done; the same"
                " command goes on with them"
            )
            return []
        # A job does its units in order, so the first that is missing is the one at which it died.
        first = left[0]
        tried[first] += 1
        if tried[first] < 2:
            note(
                f"job {job.id} ended ({word}) during {sweep.units[first].title}; once more in a"
                f" new job. Log: {job.log}"
            )
            return left
        reason = (
            f"its Slurm job {job.id} ended twice during this run, last as {word}; log: {job.log}"
        )
        # Also where the job's memory or time ran out: with more of it the run is to be repeated.
        give_up(sweep.units[first], sweep.runs_dir, Ending("failed", reason))
        return left[1:]

    def states(self, sweep: Sweep) -> dict[str, str]:
        return {
            job: state.phase
            for job, state in slurm_queue.states(job.id for job in sweep.jobs).items()
        }

    def cancel(self, sweep: Sweep) -> list[str]:
        alive = [job for job, phase in self.states(sweep).items() if phase != ENDED]
        slurm_queue.cancel(alive)
        return alive


def _cancelled(sweep: Sweep) -> bool:
    """Whether somebody has typed `gclbench cancel`; a later `save` then keeps it so."""
    with contextlib.suppress(UnknownSweep):
        sweep.cancelled = type(sweep).read(sweep.folder).cancelled
    return sweep.cancelled


def minutes(text: str) -> int:
    """Slurm's notation of a time (`90`, `90:00`, `1:30:00`, `0-1:30`) in minutes, rounded up.

    Raises:
        ValueError: for anything else.
    """
    days, dash, rest = text.partition("-") if "-" in text else ("0", "", text)
    parts = rest.split(":")
    if not days.isdigit() or not all(part.isdigit() for part in parts) or len(parts) > 3:
        raise ValueError(
            f"time={text} is no time of Slurm:"
            " minutes, MM:SS, HH:MM:SS or D-HH:MM:SS, for example 4:00:00"
        )
    values = [int(part) for part in parts]
    if dash:
        hours, mins, secs = [*values, 0, 0][:3]
    elif len(values) == 3:
        hours, mins, secs = values
    else:
        hours, mins, secs = 0, values[0], values[1] if len(values) == 2 else 0
    total = int(days) * 1440 + hours * 60 + mins + -(-secs // 60)
    if total < 1:
        raise ValueError(f"time={text} must be at least a minute")
    return total


def packed(places: list[int], size: int, most: int) -> list[list[int]]:
    """The places in packs of `size`, or larger ones where there would be more than `most` packs."""
    size = max(size, -(-len(places) // most))
    return [places[start : start + size] for start in range(0, len(places), size)]


def setup() -> list[str]:
    """Shell lines that give a job this process's folder and those variables that gclbench and
    Python read."""
    exported = {name: value for name, value in os.environ.items() if name.startswith("GCLBENCH_")}
    if paths := python_path.typed():
        exported["PYTHONPATH"] = paths
    return [
        f"cd {shlex.quote(str(Path.cwd()))}",
        *(f"export {name}={shlex.quote(value)}" for name, value in sorted(exported.items())),
        "export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}",
        # Since Slurm 22.05 srun does not take these two over from sbatch.
        "export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}",
        "export SLURM_EXPORT_ENV=ALL",
    ]


def _option(name: str) -> str:
    return name.lstrip("-").replace("_", "-")


def _summary(alive: list[Job], states: dict[str, slurm_queue.JobState]) -> str:
    phases = Counter(states[job.id].phase if job.id in states else QUEUED for job in alive)
    reasons = sorted(
        {
            state.reason
            for state in states.values()
            if state.phase == QUEUED and state.reason not in ("", "None")
        }
    )
    text = f"Slurm: {phases[RUNNING]} jobs running, {phases[QUEUED]} queued" + (
        f" ({', '.join(reasons)})" if reasons else ""
    )
    held = [
        job
        for job, state in states.items()
        if state.phase == QUEUED and "held" in state.reason.lower()
    ]
    return text + (
        f"; held: `scontrol release {' '.join(held[:4])}` lets them go on" if held else ""
    )
