"""Local worker processes: an interrupt while one of them comes up."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gclbench.launch import pool
from gclbench.launch.pool import Pool, WorkerDied
from gclbench.run.ending import Ending
from gclbench.run.unit import Unit

UNIT = Unit("dmat", "cora", (), 0, ("clustering",), ("0" * 16,), "0" * 64, ("",))


def test_a_worker_that_comes_up_during_an_interrupt_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming_up, told = threading.Event(), threading.Event()
    performed: list[Any] = []
    closed: list[Slow] = []

    class Slow:
        """A worker that is not up yet when all are told to end."""

        def __init__(self, *arguments: Any):
            coming_up.set()
            assert told.wait(10)

        def perform(self, *arguments: Any) -> None:
            performed.append(arguments)

        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(pool, "Worker", Slow)
    workers = Pool(str(tmp_path), [{}], lambda title: contextlib.nullcontext(), lambda text: None)  # type: ignore[arg-type, return-value]
    running = threading.Thread(target=workers.run, args=([UNIT, UNIT],))
    running.start()
    assert coming_up.wait(10)
    workers._stop()
    told.set()
    running.join(10)
    assert not running.is_alive() and len(closed) == 1 and performed == []


@pytest.mark.parametrize(("workers", "status"), [(1, "oom"), (2, "failed")])
def test_memory_that_others_took_too_says_nothing_of_the_run(
    workers: int, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second worker is at work until the first one's unit has been given up."""
    given_up: list[Ending] = []
    busy, over = threading.Event(), threading.Event()

    def note_it(unit: Unit, runs_dir: str, ending: Ending) -> None:
        given_up.append(ending)
        over.set()

    class Killed:
        def __init__(self, *arguments: Any):
            pass

        def perform(self, unit: Unit, report: Any) -> None:
            if unit.seed:
                busy.set()
                assert over.wait(10)
                return
            assert workers == 1 or busy.wait(10)
            raise WorkerDied(Ending("oom", "the kernel killed it"))

        def close(self) -> None:
            pass

    monkeypatch.setattr(pool, "Worker", Killed)
    monkeypatch.setattr(pool, "give_up", note_it)
    units = [UNIT, replace(UNIT, seed=1)][:workers]
    Pool(
        str(tmp_path),
        [{}] * workers,
        lambda title: contextlib.nullcontext(),  # type: ignore[arg-type, return-value]
        lambda text: None,
    ).run(units)
    (ending,) = given_up
    assert ending.status == status
    assert ("1 other worker used memory, too" in ending.reason) == (workers == 2)
