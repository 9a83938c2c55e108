"""Local worker processes: each performs one unit at a time. When one dies, its unit is begun once
more; the others go on."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from gclbench.launch import python_path
from gclbench.launch.attempt import Statuses, give_up
from gclbench.launch.launcher import LaunchError, Note, Progress
from gclbench.machine import messages
from gclbench.records import StoreError
from gclbench.run.ending import INTERRUPTED, Ending
from gclbench.run.unit import Unit
from gclbench.training.watch import Reporter

ATTEMPTS = 2
"""How often a unit whose worker dies is begun; then its end is recorded."""

SECONDS_TO_END = 20.0
"""How long interrupted workers may take to record their runs before they are killed."""


class WorkerDied(Exception):
    """A worker process has ended in the middle of a unit.

    Attributes:
        ending: `oom` where the kernel says so, else `failed`; the reason names the exit signal.
    """

    def __init__(self, ending: Ending):
        super().__init__(ending.reason)
        self.ending = ending


START = """import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
if sys.path[:1] == [""]:
    sys.path.append(sys.path.pop(0))
from gclbench.launch.worker import main
sys.exit(main(sys.argv[1:]))"""
"""What a worker does: Ctrl-C goes to all processes of a terminal, and reaches a worker also while
it imports what it needs. A file here that is called as a module of Python's is none of them."""


class Worker:
    """One process.

    Args:
        environment: its environment variables.

    Raises:
        LaunchError: when it does not come up.
    """

    def __init__(self, runs_dir: str, environment: Mapping[str, str]):
        reading, writing = os.pipe()
        command = [sys.executable, "-c", START, runs_dir, str(writing), str(os.getpid())]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                pass_fds=(writing,),
                env=dict(environment),
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            os.close(reading)
            raise LaunchError(f"a worker process cannot be started: {error}") from error
        finally:
            os.close(writing)
        self._pipe = os.fdopen(reading, encoding="utf-8")
        if not self._pipe.readline():
            code = self.process.wait()
            self.close()
            raise LaunchError(
                f"a worker process ended with exit code {code} before its first run; see its"
                " messages above"
            )

    def perform(self, unit: Unit, report: Reporter) -> Statuses:
        """The status of each of the unit's runs.

        Raises:
            WorkerDied: when the process ends instead. StoreError: when it cannot write records.
        """
        killed_before = oom_kills()
        with contextlib.suppress(BrokenPipeError, OSError):
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(unit.plain()) + "\n")
            self.process.stdin.flush()
        for line in self._pipe:
            message = json.loads(line)
            if "progress" in message:
                report(*message["progress"])
            elif "ended" in message:
                return dict(message["ended"])
            elif "store" in message:
                raise StoreError(None, message["store"])
            elif "error" in message:
                told = message["error"].strip()
                raise WorkerDied(Ending("failed", told.splitlines()[-1], told))
        raise WorkerDied(died(self.process.wait(), oom_kills() > killed_before))

    def close(self) -> None:
        """Lets it end, having nothing left to do."""
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._pipe.close()


def _with_others(ending: Ending, others: int) -> Ending:
    """The ending of a run beside which other workers were at work. That memory was used up then
    does not say that the run alone is too large, so the next command repeats it."""
    if ending.status != "oom" or not others:
        return ending
    used = f"{messages.counted(others, 'other worker')} used memory, too"
    told = f"{ending.reason}; {used}, and launcher.workers=1 runs it alone"
    return Ending("failed", told, ending.traceback)


def died(code: int, out_of_memory: bool) -> Ending:
    """The ending of a run whose process ended with this code; negative is the signal that killed
    it.

    Args:
        out_of_memory: whether the kernel killed a process for memory in the meantime.
    """
    if code >= 0:
        return Ending("failed", f"its worker process ended with exit code {code}")
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    if -code == signal.SIGKILL and out_of_memory:
        return Ending(
            "oom",
            "the kernel killed its worker process,"
            " for the machine's memory was used up (signal 9, SIGKILL)",
        )
    return Ending("failed", f"its worker process was killed by signal {-code} ({name})")


def oom_kills() -> int:
    """Processes that the kernel has killed for memory since the machine started; 0 where it does
    not say."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


class Pool:
    """Performs units in worker processes.

    Args:
        environments: one per worker, its environment variables.
    """

    def __init__(
        self,
        runs_dir: str,
        environments: Sequence[Mapping[str, str]],
        progress: Progress,
        note: Note,
    ):
        self._runs_dir = runs_dir
        self._environments = environments
        self._progress = progress
        self._note = note
        self._units: queue.SimpleQueue[Unit] = queue.SimpleQueue()
        self._workers: dict[int, Worker] = {}
        self._stopping = threading.Event()
        self._errors: list[Exception] = []

    def run(self, units: Sequence[Unit]) -> None:
        """Performs the units; returns when all have ended.

        Raises:
            KeyboardInterrupt: after the running ones were recorded as interrupted.
            StoreError: when records cannot be written. LaunchError: when workers do not start.
        """
        for unit in units:
            self._units.put(unit)
        threads = [
            threading.Thread(target=self._serve, args=(place,), name=f"gclbench-worker-{place}")
            for place in range(min(len(self._environments), len(units)))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.1)  # not without end: signals are handled between calls
        except KeyboardInterrupt:
            self._stop()
            for thread in threads:
                thread.join()
            raise
        if self._errors:
            raise self._errors[0]

    def _serve(self, place: int) -> None:
        """One worker's life, and that of its successors."""
        try:
            while not self._stopping.is_set():
                try:
                    unit = self._units.get_nowait()
                except queue.Empty:
                    break
                self._perform(place, unit)
        except (StoreError, LaunchError) as error:
            self._errors.append(error)
            self._stop()
        except Exception as error:  # a defect of gclbench ends the sweep, not this thread alone
            self._errors.append(LaunchError(f"{type(error).__name__}: {error}"))
            self._stop()
        finally:
            worker = self._workers.pop(place, None)
            if worker is not None:
                worker.close()

    def _perform(self, place: int, unit: Unit) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            if self._stopping.is_set():
                return
            worker = self._workers.get(place)
            if worker is None:
                worker = self._workers[place] = Worker(self._runs_dir, self._environments[place])
                if self._stopping.is_set():
                    # It came up after `_stop` had ended the others.
                    return
            others = len(self._workers) - 1
            try:
                with self._progress(unit.title) as report:
                    worker.perform(unit, report)
                return
            except WorkerDied as death:
                self._workers.pop(place).close()
                if self._stopping.is_set():
                    give_up(unit, self._runs_dir, INTERRUPTED)
                elif attempt < ATTEMPTS:
                    self._note(f"{unit.title}: {death}; it is begun once more")
                else:
                    ending = _with_others(death.ending, others)
                    give_up(unit, self._runs_dir, ending.again(ATTEMPTS))

    def _stop(self) -> None:
        """Running units end as interrupted, those that wait are left."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        workers = list(self._workers.values())
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                worker.process.terminate()
        for worker in workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(SECONDS_TO_END)
                continue
            worker.process.kill()


def environments(workers: int, gpus: bool) -> list[dict[str, str]]:
    """The environment of each worker: its GPU where there are several, and where to find this
    gclbench."""
    visible = _gpus() if gpus else []
    shared = {**os.environ, "PYTHONPATH": python_path.with_source()}
    if len(visible) < 2:
        return [dict(shared) for _ in range(workers)]
    return [
        {**shared, "CUDA_VISIBLE_DEVICES": visible[place % len(visible)]}
        for place in range(workers)
    ]


def _gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name.strip()]
    return [str(index) for index in range(torch.cuda.device_count())]
