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
    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_LINES = 10.0

BAR = 24
"""Characters of a bar, where there is room for one."""

SLOWER = 1.5
"""How much longer a training must take than was told before the time left is raised."""


def note(text: str) -> None:
    """Prints a line for the user on standard error. Runs go on where nobody reads it any more."""
    with contextlib.suppress(OSError):
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
            task = display.add_task(title, total=None, loss=None, pace=Pace())
        try:
            yield lambda done, total, loss: self._note(display, task, done, total, loss)
        finally:
            with self._lock:
                display.remove_task(task)
                self._open -= 1
                if not self._open:
                    display.stop()
                    self._display = None

    @staticmethod
    def _note(display: Progress, task: TaskID, done: int, total: int, loss: float) -> None:
        display.tasks[display.task_ids.index(task)].fields["pace"].note(done, total)
        display.update(task, completed=done, total=total, loss=loss)


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text

    console = Console(stderr=True)

    class Line(ProgressColumn):
        """A training in one line that fits."""

        def render(self, task: Task) -> Text:
            text = line(
                task.description,
                console.width,
                task.elapsed or 0.0,
                None if task.total is None else (int(task.completed), int(task.total)),
                task.fields["loss"],
                task.fields["pace"].left(),
            )
            return Text(text, no_wrap=True, overflow="crop")

    return Progress(Line(), console=console, transient=True)


def line(
    title: str,
    width: int,
    elapsed: float,
    steps: tuple[int, int] | None,
    loss: float | None,
    left: float | None,
) -> str:
    """What a terminal of a width shows of a training: `grace · x … ━━━━     12/300  loss 0.1234
    0:05  left 1:10`. What is not known yet is not there; the title is shortened, never a number.

    Args:
        elapsed, left: seconds. steps: done, in all; None before the first one.
    """
    facts = []
    if steps is not None:
        done, total = steps
        facts.append(f"{done:>{len(str(total))}}/{total}")
    if loss is not None:
        facts.append(f"loss {loss:.4f}")
    facts.append(clock(elapsed))
    if left is not None and steps is not None and steps[0] < steps[1]:
        facts.append(f"left {clock(left)}")
    right = "  ".join(facts)
    if steps is not None and width - len(right) - len(title) >= BAR + 4:
        full = round(BAR * steps[0] / max(1, steps[1]))
        right = f"{'━' * full}{'╌' * (BAR - full)}  {right}"
    room = max(8, width - len(right) - 3)
    return f"{title if len(title) <= room else title[: room - 1] + '…'}  {right}"


def clock(seconds: float) -> str:
    """`0:05`, `12:34`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Pace:
    """How long a training will still take, by its steps so far.

    Between two steps, and while the estimate hardly changes, the time left counts down.
    """

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._done = 0
        self._end: float | None = None

    def note(self, done: int, total: int, now: float | None = None) -> None:
        """Notes a step; the time before the first report does not count: it was spent on loading
        and filtering, or on the iterations of an earlier attempt."""
        now = time.monotonic() if now is None else now
        again, self._done = done < self._done, done
        if self._first is None or again:
            self._first, self._end = (done, now), None
            return
        steps = done - self._first[0]
        if not steps:
            return
        end = now + (now - self._first[1]) / steps * (total - done)
        known = self._end
        if known is None or end < known or end - now > SLOWER * (known - now) + 1:
            self._end = end

    def left(self, now: float | None = None) -> float | None:
        """Seconds; None before the second step."""
        now = time.monotonic() if now is None else now
        return None if self._end is None else max(0.0, self._end - now)


_bars = _Bars()


@contextlib.contextmanager
def _lines(title: str) -> Iterator[Reporter]:
    started = last = time.monotonic()
    pace = Pace()

    def report(done: int, total: int, loss: float) -> None:
        nonlocal last
        now = time.monotonic()
        pace.note(done, total, now)
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            seconds = pace.left(now)
            left = "" if seconds is None else f", about {seconds:.0f} s left"
            note(f"{title}: {done}/{total}, loss {loss:.4f}{left}")

    yield report
    note(f"{title}: {time.monotonic() - started:.1f} s")
