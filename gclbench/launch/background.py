"""Sweeps in a process of this machine that outlives the command which started it and writes a
log."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from gclbench.launch import python_path
from gclbench.launch.launcher import ENDED, RUNNING, Launcher, LaunchError, launcher_of
from gclbench.launch.running import RENEWED_EVERY, alive, begun, fresh
from gclbench.launch.sweep import Job, Sweep
from gclbench.machine import messages
from gclbench.machine.signals import interrupt_once
from gclbench.records import unwritable
from gclbench.training.watch import Reporter


class Detached(Launcher):
    """Base of launchers that run a sweep in a process of this machine when it is handed over."""

    def submit(self, sweep: Sweep) -> list[Job]:
        return [start(sweep)]

    def states(self, sweep: Sweep) -> dict[str, str]:
        return {job.id: state(job) for job in sweep.jobs}

    def cancel(self, sweep: Sweep) -> list[str]:
        return [job.id for job in sweep.jobs if end(job)]


def start(sweep: Sweep) -> Job:
    """Starts the process of a saved sweep.

    Raises:
        LaunchError: when it does not start or its log cannot be written.
    """
    log = sweep.folder / "log.txt"
    try:
        with open(log, "ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "gclbench.launch.background", str(sweep.folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": python_path.with_source()},
            )
    except OSError as error:
        raise LaunchError(unwritable(log, error)) from error
    # It is meant to outlive this process; without a code Python would warn of it.
    process.returncode = 0
    return _job(sweep, process.pid, str(log))


def attend(sweep: Sweep) -> None:
    """Makes this process the job of a saved sweep that has none: `gclbench status` sees it,
    `gclbench cancel` ends it.

    Raises:
        StoreError: when the sweep cannot be saved.
    """
    if not sweep.jobs:
        sweep.jobs = [_job(sweep, os.getpid())]
        sweep.save()
        _renew(sweep.folder / "alive")


def _job(sweep: Sweep, pid: int, log: str = "") -> Job:
    """The job that a process of this machine is, with all of the sweep's units."""
    host = socket.gethostname()
    units = tuple(range(len(sweep.units)))
    # Also found from another folder than the one where the sweep was begun.
    renewed = str((sweep.folder / "alive").absolute())
    return Job(f"{host}:{pid}", units, log, host, pid, begun(pid), renewed)


def state(job: Job) -> str:
    """Whether a job's process is there; on another machine, whether its file is fresh."""
    if job.host == socket.gethostname():
        return RUNNING if alive(job.pid) and begun(job.pid) == job.begun else ENDED
    return RUNNING if fresh(Path(job.alive)) else ENDED


def end(job: Job) -> bool:
    """Ends a job's process; False when it has ended already.

    Raises:
        LaunchError: when it is another machine's, or another user's.
    """
    if state(job) == ENDED:
        return False
    if job.host != socket.gethostname():
        raise LaunchError(
            f"the sweep runs on {job.host}, and this is {socket.gethostname()}; cancel it there"
        )
    try:
        os.kill(job.pid, signal.SIGTERM)
    except ProcessLookupError:
        return False
    except PermissionError as error:
        raise LaunchError(
            f"the sweep's process {job.pid} is another user's; cancel it as that user"
        ) from error
    return True


def main(argv: list[str]) -> int:
    """The process itself. Argument: the sweep's folder."""
    from gclbench.records import StoreError

    signal.signal(signal.SIGTERM, interrupt_once)
    messages.set_up()
    sweep = Sweep.read(Path(argv[0]))
    _renew(sweep.folder / "alive")
    try:
        launcher_of(sweep).run(sweep, _progress, _say)
    except KeyboardInterrupt:
        _say("cancelled; what was recorded stays, the same command goes on from there")
        return 130
    except StoreError as error:
        _say(f"gclbench: {error.args[1]}")
        return 1
    except LaunchError as error:
        _say(f"gclbench: {error}")
        return 1
    _say("all runs have ended")
    return 0


@contextlib.contextmanager
def _progress(title: str) -> Iterator[Reporter]:
    _say(f"{title}: begun")
    yield lambda done, total, loss: None
    _say(f"{title}: ended")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _renew(path: Path) -> None:
    """Touches a file now and then, for other machines."""

    def renew() -> None:
        while True:
            with contextlib.suppress(OSError):
                path.touch()
            if over.wait(RENEWED_EVERY):
                return

    over = threading.Event()
    threading.Thread(target=renew, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
