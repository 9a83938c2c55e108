"""Progress of a training: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from gclbench.watch import Reporter

SECONDS_BETWEEN_LINES = 10.0


@contextlib.contextmanager
def shown(title: str) -> Iterator[Reporter]:
    """A context in which training reports (iterations done, in all, loss); output goes to stderr."""
    with _bar(title) if sys.stderr.isatty() else _lines(title) as report:
        yield report


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Reporter]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None, loss=float("nan"))
        yield lambda done, total, loss: progress.update(task, completed=done, total=total, loss=loss)


@contextlib.contextmanager
def _lines(title: str) -> Iterator[Reporter]:
    started = last = time.monotonic()

    def report(done: int, total: int, loss: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            left = (now - started) / done * (total - done)
            print(f"{title}: {done}/{total}, loss {loss:.4f}, about {left:.0f} s left", file=sys.stderr, flush=True)

    yield report
    print(f"{title}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
