"""What runs inside a Slurm job: units one after the other, and what to do when Slurm wants the
place back."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from gclbench.launch.attempt import PREEMPTED, Statuses, give_up, perform
from gclbench.launch.pool import ATTEMPTS, died, oom_kills
from gclbench.records import StoreError
from gclbench.run.ending import Ending
from gclbench.run.unit import Unit

log = logging.getLogger(__name__)

LOOK_EVERY = 0.5
"""Seconds between two looks at whether the unit's process must stop."""

KILL_WAIT = 120.0
"""Seconds to wait for the kill that follows SIGTERM, after which the job puts itself back: then no
kill was meant."""


@dataclass(frozen=True)
class SlurmJob:
    """The units of one Slurm job; submitit pickles it and calls it in the job.

    Attributes:
        units: plain values of each.
        runs_dir: absolute.
        patience: seconds that a training has after Slurm's signal to reach its next iteration.
    """

    units: tuple[dict[str, Any], ...]
    runs_dir: str
    patience: float

    def __call__(self) -> Statuses:
        """Does what is missing, in order; what is recorded, by an earlier attempt too, is not done
        again.

        Returns:
            the status of every run that it came to.

        Raises:
            RuntimeError: when records cannot be written, or the job ran out of its time more often
                than it may.
        """
        logging.basicConfig(level=logging.WARNING, format="%(message)s")
        # submitit writes its own lines.
        logging.getLogger("submitit").propagate = False
        done: Statuses = {}
        with noticed(self.patience) as notice:
            for plain in self.units:
                unit = Unit.from_plain(plain)
                statuses = self._performed(unit, notice)
                listed = ", ".join(f"{run_id} {status}" for run_id, status in statuses.items())
                log.warning("%s: %s", unit.title, listed)
                done |= statuses
                if PREEMPTED in statuses.values():
                    try:
                        notice.hand_over()
                    except RuntimeError as error:
                        # submitit puts a job back only so many times.
                        reason = f"{error} (launcher.requeues, launcher.time)"
                        self._given_up(unit, Ending("failed", reason), notice)
                        raise
                    break
        return done

    def _performed(self, unit: Unit, notice: Notice) -> Statuses:
        """The statuses of the unit's runs; a unit whose process dies is tried once more, and then
        its end is recorded."""
        for attempt in range(1, ATTEMPTS + 1):
            killed_before = oom_kills()
            statuses, code = _in_child(lambda stop: perform(unit, self.runs_dir, stop=stop), notice)
            if statuses is not None:
                return statuses
            if notice.stop.is_set():
                # Slurm has begun to kill; what it did not let finish is for the next attempt.
                return dict.fromkeys(unit.ids, PREEMPTED)
            # `failed` also where memory ran out, which may be the job's: it is to be repeated.
            ending = Ending("failed", died(code, oom_kills() > killed_before).reason)
            log.warning("%s: %s (attempt %d of %d)", unit.title, ending.reason, attempt, ATTEMPTS)
        return self._given_up(unit, ending.again(ATTEMPTS), notice)

    def _given_up(self, unit: Unit, ending: Ending, notice: Notice) -> Statuses:
        # In a process of its own too: composing looks for GPUs, and a process that has done so
        # cannot fork others that use them.
        statuses, code = _in_child(lambda stop: give_up(unit, self.runs_dir, ending), notice)
        if statuses is None:
            raise RuntimeError(f"the end of {unit.title} could not be recorded (exit code {code})")
        return statuses

    def checkpoint(self) -> Any:
        """What the job does when it is started again: the same, since recorded runs are found in
        the store."""
        from submitit import JobEnvironment
        from submitit.helpers import DelayedSubmission

        # A job that was killed while submitit wrote this file leaves its temporary one, at which
        # submitit would stop.
        with contextlib.suppress(OSError, RuntimeError, KeyError):
            path = JobEnvironment().paths.submitted_pickle
            path.with_suffix(f"{path.suffix}.save_tmp").unlink(missing_ok=True)
        return DelayedSubmission(self)


def _in_child(
    work: Callable[[threading.Event], Statuses], notice: Notice
) -> tuple[Statuses | None, int]:
    """Does work in a forked process, so that its death takes nothing else with it.

    Args:
        work: given the event that is set when the process is to stop.

    Returns:
        what the work returned, None where the process died; its exit code (negative: of the
        signal).

    Raises:
        RuntimeError: when records could not be written.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forks beside threads: the only one here waits for signals and holds no
        # lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        _child(work, writing)
    os.close(writing)
    said = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], LOOK_EVERY)
            if ready:
                chunk = pipe.read(65536)
                if not chunk:
                    break
                said += chunk
            elif notice.stop.is_set():
                # Slurm signals the processes of the job's step; whether that includes this one is a
                # setting.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGUSR2)
    _, status = os.waitpid(child, 0)
    message = json.loads(said) if said else {}
    if "error" in message:
        raise RuntimeError(message["error"])
    return message.get("ended"), os.waitstatus_to_exitcode(status)


def _child(work: Callable[[threading.Event], Statuses], channel: int) -> NoReturn:
    """The life of the forked process: nothing of the parent's may be run at its end."""
    code = 1
    try:
        with noticed(0.0, requeue=False) as notice:
            try:
                message: dict[str, Any] = {"ended": work(notice.stop)}
            except StoreError as error:
                message = {"error": str(error.args[1])}
        with os.fdopen(channel, "wb") as pipe:
            pipe.write(json.dumps(message).encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Notice:
    """Slurm's word that the job will be ended, and the way back into the queue.

    Attributes:
        stop: set as soon as the signal arrives, even while the main thread is inside a library's
            loop.
    """

    def __init__(self, patience: float, requeue: Any):
        self.stop = threading.Event()
        self._patience = patience
        self._requeue = requeue
        self._asked = threading.Event()
        self._taken = threading.Lock()

    def receive(self, number: int) -> None:
        """Called with each signal, outside the main thread."""
        self.stop.set()
        if callable(self._requeue) and number == signal.SIGUSR2 and not self._asked.is_set():
            self._asked.set()
            late = threading.Timer(self._patience, self._without_checkpoint)
            late.daemon = True
            late.start()

    def hand_over(self) -> None:
        """Puts the job back into the queue and ends this process; returns only where submitit does
        not run it.

        After SIGTERM alone, Slurm itself is about to kill the job, to put it back if it was
        preempted and not if it was cancelled. If the process exited by itself, Slurm would count
        the job as failed.

        Raises:
            RuntimeError: when the job has been put back as often as it may.
        """
        if not callable(self._requeue):
            return
        self._asked.wait(KILL_WAIT)
        if not self._taken.acquire(blocking=False):
            time.sleep(KILL_WAIT)
            return
        self._requeue(signal.SIGUSR2, None)

    def _without_checkpoint(self) -> None:
        """The training did not come to its next iteration in time: back into the queue with the
        last checkpoint there is."""
        if callable(self._requeue) and self._taken.acquire(blocking=False):
            log.warning(
                "no iteration ended within %g s of Slurm's signal; the job goes back as it is",
                self._patience,
            )
            try:
                self._requeue(signal.SIGUSR2, None)
            except RuntimeError as error:
                log.warning("%s", error)


@contextlib.contextmanager
def noticed(patience: float, requeue: bool = True) -> Iterator[Notice]:
    """Takes over SIGUSR2 and SIGTERM; submitit's handler, which would end the process at once, is
    called by `hand_over`.

    Args:
        patience: seconds. requeue: False in a process that is not the job's own.
    """
    inbox, outbox = socket.socketpair()
    outbox.setblocking(False)
    numbers = (signal.SIGUSR2, signal.SIGTERM)
    # Python runs handlers between bytecodes of the main thread only; the wake-up descriptor is
    # written at once.
    previous = {number: signal.signal(number, lambda *_: None) for number in numbers}
    notice = Notice(patience, previous[signal.SIGUSR2] if requeue else None)
    earlier = signal.set_wakeup_fd(outbox.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(inbox, numbers, notice), daemon=True)
    listener.start()
    try:
        yield notice
    finally:
        signal.set_wakeup_fd(earlier)
        for number, handler in previous.items():
            signal.signal(number, handler)
        outbox.close()
        listener.join(timeout=1.0)
        inbox.close()


def _listen(inbox: socket.socket, numbers: tuple[signal.Signals, ...], notice: Notice) -> None:
    while received := inbox.recv(64):
        for number in received:
            if number in numbers:
                notice.receive(number)
