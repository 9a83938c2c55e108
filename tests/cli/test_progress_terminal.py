"""Progress on a pseudo-terminal of 80 columns: what a person sees, frame by frame."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
import time

import pytest

from gclbench.cli import progress

TITLE = "grace · my_dataset · seed 0 · clustering, classification, link_prediction"


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that a slow start and sixty steps show."""
    master, slave = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(master, 1 << 16):
                seen.append(part)
        except OSError:  # the terminal is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with os.fdopen(slave, "w") as screen:
        monkeypatch.setattr(sys, "stderr", screen)
        with progress.shown(TITLE) as report:
            time.sleep(0.4)
            for done in range(1, 61):
                time.sleep(0.04 if done > 1 else 0.2)
                report(done, 60, 1 / done)
        monkeypatch.undo()
    reader.join()
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(seen).decode())
    return [line for line in re.split(r"[\r\n]+", text) if line.strip()]


def test_a_person_sees_what_is_known_and_nothing_else(frames: list[str]) -> None:
    assert len(frames) > 10
    for line in frames:
        assert len(line.rstrip()) <= 80 and "nan" not in line and "?" not in line
        assert line.startswith("grace · my_data"), "the title gives way, and stays readable"
    before = [line for line in frames if "/60" not in line]
    assert before and all("loss" not in line and "left" not in line for line in before)
    during = [line for line in frames if "/60" in line]
    assert len(during) > 5
    for line in during:
        assert re.search(r"\d+/60  loss \d\.\d{4}  \d:\d\d", line), "no number is shortened"
    left = [int(found[1]) for line in frames if (found := re.search(r"left 0:(\d\d)", line))]
    assert left and left == sorted(left, reverse=True), "the time left counts down"


def test_a_wide_terminal_has_a_bar() -> None:
    shown = progress.line("grace · cora", 80, 65.0, (30, 60), 0.5, 3700.0)
    assert shown == f"grace · cora  {'━' * 12}{'╌' * 12}  30/60  loss 0.5000  1:05  left 1:01:40"
    assert progress.line("grace · cora", 40, 5.0, None, None, None) == "grace · cora  0:05"


def test_the_time_left_is_raised_only_where_a_training_slows_down() -> None:
    pace = progress.Pace()
    told = []
    for done, now in ((0, 0.0), (1, 1.0), (2, 2.1), (3, 3.0), (4, 50.0)):
        pace.note(done, 10, now)
        told.append(pace.left(now))
    assert told[0] is None and told[1] == 9.0
    assert told[2] == pytest.approx(7.9), "a step that took a little longer raises nothing"
    assert told[3] == pytest.approx(7.0)
    assert told[4] == pytest.approx(75.0)


def test_a_training_that_follows_has_a_pace_of_its_own() -> None:
    pace = progress.Pace()
    told = []
    for done, now in ((1, 0.0), (2, 1.0), (10, 9.0), (1, 10.0), (2, 11.0), (4, 13.0)):
        pace.note(done, 10, now)
        told.append(pace.left(now))
    assert told == [None, 8.0, 0.0, None, 8.0, 6.0]
