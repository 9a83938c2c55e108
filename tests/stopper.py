"""A training's reporter that stops it."""

from __future__ import annotations

import threading


class Stopper:
    """Sets the flag once so many iterations are done."""

    def __init__(self, after: int):
        self.flag = threading.Event()
        self._after = after

    def __call__(self, iteration: int, total: int, loss: float) -> None:
        if iteration == self._after:
            self.flag.set()
