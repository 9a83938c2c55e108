"""The eye on a training: progress, loss curve, divergence and time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

CURVE_POINTS = 100
"""Losses kept for the record at most, evenly spaced over the training, and the last one."""

Reporter = Callable[[int, int, float], None]
"""Called with (iterations done, iterations in all, loss)."""


class Diverged(RuntimeError):
    """The loss is not finite any more."""


class TimeLimit(RuntimeError):
    """The run has used its wall-clock limit."""


class Watch:
    """Passed to a method's `fit`, which calls it once per iteration.

    Args:
        report: told of progress, or None.
        time_limit: seconds of wall-clock from now, or None.
    """

    def __init__(self, report: Reporter | None = None, time_limit: float | None = None):
        self._report = report
        self._started = time.monotonic()
        self._limit = time_limit
        self.curve: list[tuple[int, float]] = []
        self.iterations = 0
        self.last_loss = math.nan

    def iterations(self, total: int, **state: Any) -> Iterator[int]:
        """Iteration numbers 1…total of a training loop.

        Args:
            state: everything the loop changes, by name: modules, optimisers and other objects with `state_dict` and
                `load_state_dict`, and random generators. What is named here is what a checkpoint holds.
        """
        yield from range(1, total + 1)

    def __call__(self, iteration: int, total: int, loss: Any) -> None:
        """Notes iteration number `iteration` (from 1) of `total` and its loss (a number or a one-element tensor).

        Raises:
            Diverged: when the loss is NaN or infinite.
            TimeLimit: when the limit has passed.
        """
        value = float(loss)
        if not math.isfinite(value):
            raise Diverged(
                f"the loss became {value} at iteration {iteration} of {total}; a smaller method.lr or a larger method.tau may help"
            )
        self.iterations, self.last_loss = iteration, value
        if iteration == total or iteration % max(1, math.ceil(total / CURVE_POINTS)) == 0:
            self.curve.append((iteration, value))
        if self._report is not None:
            self._report(iteration, total, value)
        if self._limit is not None and time.monotonic() - self._started > self._limit:
            raise TimeLimit(f"stopped after {self._limit:g} s at iteration {iteration} of {total}; time_limit=SECONDS sets it")

    def summary(self) -> dict[str, Any]:
        """Plain values for the record: iterations, final loss, loss curve as [iteration, loss] pairs."""
        if not self.iterations:
            return {"iterations": 0}
        return {"iterations": self.iterations, "loss": self.last_loss, "curve": [list(point) for point in self.curve]}
