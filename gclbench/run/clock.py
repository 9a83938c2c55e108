"""The seconds of each phase of a run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

OF_ONE_TASK = ("split", "evaluate")
"""Phases of each of a unit's tasks; the others are of the training that they share."""


class Clock:
    """Wall-clock seconds per phase.

    Args:
        load_seconds: what loading the dataset took.
    """

    def __init__(self, load_seconds: float):
        self._seconds: dict[str, float] = {"load": load_seconds}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Counts the time within it to a phase, also when it ends by an exception."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - started

    def taken(self, earlier_fit: float) -> dict[str, float]:
        """Seconds by phase so far; `split` and `evaluate` start again for the next task.

        Args:
            earlier_fit: seconds that earlier attempts of a resumed training took.
        """
        seconds = {
            name: round(value + (earlier_fit if name == "fit" else 0), 6)
            for name, value in self._seconds.items()
        }
        for name in OF_ONE_TASK:
            self._seconds.pop(name, None)
        return seconds
