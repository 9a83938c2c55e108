"""Progress of trainings, one and several at a time."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Callable

import pytest

from gclbench.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Puts a terminal in place of stderr; called within the test, for pytest puts its own there
    when a test begins."""

    def install() -> Terminal:
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "150")
        return screen

    return install


def test_several_trainings_share_one_display(terminal: Callable[[], Terminal]) -> None:
    screen = terminal()
    together = threading.Barrier(3)

    def train(title: str) -> None:
        with progress.shown(title) as report:
            together.wait(10)
            for done in range(1, 6):
                report(done, 5, 0.25)
            together.wait(10)

    threads = [threading.Thread(target=train, args=(f"training {name}",)) for name in "ab"]
    for thread in threads:
        thread.start()
    together.wait(10)
    together.wait(10)
    for thread in threads:
        thread.join()
    shown = screen.getvalue()
    assert "training a" in shown and "training b" in shown
    assert progress._bars._display is None, "the display is gone when nobody trains"
    with progress.shown("training c") as report:
        report(1, 2, 0.5)
    assert "training c" in screen.getvalue()


def test_an_error_ends_the_display(terminal: Callable[[], Terminal]) -> None:
    screen = terminal()
    with contextlib.suppress(RuntimeError), progress.shown("training"):
        raise RuntimeError
    assert screen.getvalue()
    assert progress._bars._display is None


def test_lines_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    clock = iter([0.0, 100.0, 110.0, 130.0, 131.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.shown("training") as report:
        # Resumed at the ninetieth iteration, after 100 seconds of loading.
        report(90, 100, 0.5)
        report(91, 100, 0.25)
        report(93, 100, 0.125)
    assert capsys.readouterr().err.splitlines() == [
        "training: 90/100, loss 0.5000",
        "training: 91/100, loss 0.2500, about 90 s left",
        "training: 93/100, loss 0.1250, about 70 s left",
        "training: 131.0 s",
    ]


def test_lines_that_nobody_reads_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError("nobody reads")

    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys, "stderr", Gone())
    with progress.shown("training") as report:
        report(1, 2, 0.5)
    progress.note("a word")
