"""What the command says beside its output: notes, and the progress of trainings, as live bars on a
terminal and plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gclbench.training.watch import Reporter

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BETWEEN_LINES = 10.0


def note(text: str) -> None:
    """Prints a line for the user on standard error."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def shown(title: str) -> Iterator[Reporter]:
    """A context in which training reports (iterations done, in all, loss); output goes to stderr.

    Several threads may be in it.
    """
    with _bars.bar(title) if sys.stderr.isatty() else _lines(title) as report:
        yield report


class _Bars:
    """One live display with a bar for every training that is running: rich allows one display at a
    time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._display: Progress | None = None
        self._open = 0

    @contextlib.contextmanager
    def bar(self, title: str) -> Iterator[Reporter]:
        with self._lock:
            if self._display is None:
                self._display = _display()
                self._display.start()
            display = self._display
            self._open += 1
            task = display.add_task(title, total=None, loss=float("nan"))
        try:
            yield lambda done, total, loss: display.update(
                task, completed=done, total=total, loss=loss
            )
        finally:
            with self._lock:
                display.remove_task(task)
                self._open -= 1
                if not self._open:
                    display.stop()
                    self._display = None


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


_bars = _Bars()


@contextlib.contextmanager
def _lines(title: str) -> Iterator[Reporter]:
    started = last = time.monotonic()
    first: tuple[int, float] | None = None

    def report(done: int, total: int, loss: float) -> None:
        nonlocal last, first
        now = time.monotonic()
        if first is None:
            # The time before the first report does not count: it was spent on loading and
            # filtering, or on the iterations of an earlier attempt.
            first = (done, now)
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            steps = done - first[0]
            left = (
                f", about {(now - first[1]) / steps * (total - done):.0f} s left"
                if steps > 0
                else ""
            )
            print(f"{title}: {done}/{total}, loss {loss:.4f}{left}", file=sys.stderr, flush=True)

    yield report
    print(f"{title}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
