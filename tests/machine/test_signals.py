"""SIGTERM ends a run as Ctrl-C does, once."""

from __future__ import annotations

import os
import signal

import pytest

from gclbench.machine.signals import terminated_like_interrupted


def test_a_second_sigterm_is_ignored_while_the_first_is_worked_off() -> None:
    before = signal.getsignal(signal.SIGTERM)
    written = []
    with pytest.raises(KeyboardInterrupt), terminated_like_interrupted():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            written.append("the record")
    assert written == ["the record"]
    assert signal.getsignal(signal.SIGTERM) is before
