"""Local worker processes: an interrupt while one of them comes up."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from gclbench.launch import pool
from gclbench.launch.pool import Pool
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
