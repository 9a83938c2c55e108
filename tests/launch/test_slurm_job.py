"""Inside a Slurm job, without Slurm: units in processes of their own, signals, the way back into
the queue."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gclbench.launch import slurm_job
from gclbench.launch.attempt import PREEMPTED, Statuses
from gclbench.launch.slurm_job import Notice, SlurmJob, noticed
from gclbench.records import StoreError
from gclbench.run.ending import Ending
from gclbench.run.unit import Unit

UNITS = tuple(
    Unit("dmat", "cora", (), seed, ("clustering",), (f"run{seed}",), "0" * 64, ("",)).plain()
    for seed in range(3)
)

Perform = Callable[..., Statuses]


@pytest.fixture
def performs(monkeypatch: pytest.MonkeyPatch) -> Callable[[Perform], None]:
    """Replaces what performs a unit; the forked processes see it too."""

    def replace(perform: Perform) -> None:
        monkeypatch.setattr(slurm_job, "perform", perform)

    return replace


@pytest.fixture
def requeued() -> Iterator[list[int]]:
    """Signals that reached submitit's handler, which here ends the process as it does in a job."""
    received: list[int] = []

    def handler(number: int, frame: Any) -> None:
        received.append(number)
        raise SystemExit(-1)

    before = signal.signal(signal.SIGUSR2, handler)
    yield received
    signal.signal(signal.SIGUSR2, before)


def ok(unit: Unit, runs_dir: str, stop: threading.Event) -> Statuses:
    return dict.fromkeys(unit.ids, "ok")


def count(folder: str, name: str) -> int:
    """How often it was called with these arguments, whichever process asks."""
    with open(Path(folder) / name, "a+") as file:
        file.write("x")
        file.seek(0)
        return len(file.read())


def test_all_units_in_order(performs: Callable[[Perform], None], tmp_path: Path) -> None:
    performs(ok)
    assert SlurmJob(UNITS, str(tmp_path), 1.0)() == {"run0": "ok", "run1": "ok", "run2": "ok"}


def test_a_unit_whose_process_dies_is_tried_again_and_takes_nothing_with_it(
    performs: Callable[[Perform], None], tmp_path: Path
) -> None:
    def perform(unit: Unit, runs_dir: str, stop: threading.Event) -> Statuses:
        if unit.seed == 1 and count(runs_dir, "attempts") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return ok(unit, runs_dir, stop)

    performs(perform)
    assert SlurmJob(UNITS, str(tmp_path), 1.0)() == {"run0": "ok", "run1": "ok", "run2": "ok"}
    assert count(str(tmp_path), "attempts") == 3


@pytest.mark.parametrize(
    ("killed", "reason"),
    [
        (0, "its worker process was killed by signal 9 (SIGKILL), 2 times"),
        (1, "the kernel killed its worker process, for the machine's memory was used up"),
    ],
)
def test_a_unit_whose_process_always_dies_is_recorded_and_the_others_go_on(
    killed: int,
    reason: str,
    performs: Callable[[Perform], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kills = itertools.count(step=killed)  # of the kernel, for memory: so many more at each look

    def perform(unit: Unit, runs_dir: str, stop: threading.Event) -> Statuses:
        if unit.seed == 1:
            count(runs_dir, "attempts")
            os.kill(os.getpid(), signal.SIGKILL)
        return ok(unit, runs_dir, stop)

    def give_up(unit: Unit, runs_dir: str, ending: Ending) -> Statuses:
        (Path(runs_dir) / "reason").write_text(f"{ending.status}: {ending.reason}")
        return dict.fromkeys(unit.ids, ending.status)

    performs(perform)
    monkeypatch.setattr(slurm_job, "give_up", give_up)
    monkeypatch.setattr(slurm_job, "oom_kills", lambda: next(kills))
    assert SlurmJob(UNITS, str(tmp_path), 1.0)() == {
        "run0": "ok",
        "run1": "failed",
        "run2": "ok",
    }
    assert (tmp_path / "attempts").read_text() == "xx"
    assert (tmp_path / "reason").read_text().startswith(f"failed: {reason}")


def test_a_store_that_cannot_be_written_ends_the_job(
    performs: Callable[[Perform], None], tmp_path: Path
) -> None:
    def perform(unit: Unit, runs_dir: str, stop: threading.Event) -> Statuses:
        raise StoreError(28, "cannot write /there: the disk is full")

    performs(perform)
    with pytest.raises(RuntimeError, match="cannot write /there: the disk is full"):
        SlurmJob(UNITS, str(tmp_path), 1.0)()


def told_to_stop(unit: Unit, runs_dir: str, stop: threading.Event) -> Statuses:
    """A training: goes on until it is told to stop, then writes its checkpoint."""
    if unit.seed == 0:
        return ok(unit, runs_dir, stop)
    (Path(runs_dir) / "training").touch()
    if not stop.wait(20):
        return {unit.ids[0]: "failed"}
    (Path(runs_dir) / "checkpoint").touch()
    return {unit.ids[0]: PREEMPTED}


def signal_when_training(folder: Path, number: int) -> threading.Thread:
    def wait() -> None:
        while not (folder / "training").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_slurms_signal_lets_the_training_write_its_checkpoint_and_then_puts_the_job_back(
    performs: Callable[[Perform], None], tmp_path: Path, requeued: list[int]
) -> None:
    performs(told_to_stop)
    thread = signal_when_training(tmp_path, signal.SIGUSR2)
    with pytest.raises(SystemExit):
        SlurmJob(UNITS, str(tmp_path), 30.0)()
    thread.join()
    assert requeued == [signal.SIGUSR2] and (tmp_path / "checkpoint").exists()


def test_sigterm_writes_the_checkpoint_and_waits_for_the_kill_before_it_puts_the_job_back(
    performs: Callable[[Perform], None],
    tmp_path: Path,
    requeued: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slurm_job, "KILL_WAIT", 0.5)
    performs(told_to_stop)
    thread = signal_when_training(tmp_path, signal.SIGTERM)
    with pytest.raises(SystemExit):
        SlurmJob(UNITS, str(tmp_path), 30.0)()
    thread.join()
    assert requeued == [signal.SIGUSR2] and (tmp_path / "checkpoint").exists()


def test_a_process_killed_after_the_signal_is_left_for_the_next_attempt(
    performs: Callable[[Perform], None], tmp_path: Path, requeued: list[int]
) -> None:
    def perform(unit: Unit, runs_dir: str, stop: threading.Event) -> Statuses:
        count(runs_dir, "attempts")
        (Path(runs_dir) / "training").touch()
        stop.wait(20)
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    performs(perform)
    thread = signal_when_training(tmp_path, signal.SIGUSR2)
    with pytest.raises(SystemExit):
        SlurmJob(UNITS[1:], str(tmp_path), 30.0)()
    thread.join()
    assert requeued == [signal.SIGUSR2] and (tmp_path / "attempts").read_text() == "x"


def test_a_training_that_does_not_come_to_an_iteration_is_put_back_all_the_same() -> None:
    received = threading.Event()
    with noticed(0.05, requeue=False) as notice:
        notice._requeue = lambda number, frame: received.set()
        os.kill(os.getpid(), signal.SIGUSR2)
        assert received.wait(5)
        # What puts it back does so once.
        assert not notice._taken.acquire(blocking=False)


def test_a_job_that_may_not_go_back_again_records_so(
    performs: Callable[[Perform], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(unit: Unit, runs_dir: str, ending: Ending) -> Statuses:
        (Path(runs_dir) / "reason").write_text(f"{ending.status}: {ending.reason}")
        return {}

    def refused(self: Notice) -> None:
        raise RuntimeError("Job not requeued because: timed-out too many times.")

    performs(told_to_stop)
    monkeypatch.setattr(slurm_job, "give_up", give_up)
    monkeypatch.setattr(Notice, "hand_over", refused)
    thread = signal_when_training(tmp_path, signal.SIGUSR2)
    with pytest.raises(RuntimeError, match="too many times"):
        SlurmJob(UNITS, str(tmp_path), 30.0)()
    thread.join()
    assert (
        (tmp_path / "reason")
        .read_text()
        .startswith("failed: Job not requeued because: timed-out too many times.")
    )


def test_signal_handlers_are_given_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGUSR2, signal.SIGTERM)]
    with noticed(1.0) as notice:
        assert signal.getsignal(signal.SIGTERM) != before[1] and not notice.stop.is_set()
    assert [signal.getsignal(number) for number in (signal.SIGUSR2, signal.SIGTERM)] == before


def test_a_left_over_of_a_killed_checkpoint_does_not_stop_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitit = pytest.importorskip("submitit")
    monkeypatch.setenv("SUBMITIT_EXECUTOR", "slurm")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SUBMITIT_FOLDER", str(tmp_path))
    job = SlurmJob(UNITS, "/runs", 45.0)
    left = tmp_path / "7_submitted.pkl.save_tmp"
    left.touch()
    again = job.checkpoint()
    assert isinstance(again, submitit.helpers.DelayedSubmission) and again.function == job
    assert not left.exists()
