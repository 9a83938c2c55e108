"""What SIGTERM does: one rule for the command, its worker processes and a sweep in the
background."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


def interrupt_once(number: int, frame: FrameType | None) -> None:
    """A handler: the signal ends what runs as Ctrl-C does, and a second one is ignored, since
    records are being written then."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Within the block SIGTERM, as a cluster or `kill` sends it, ends runs as Ctrl-C does. In a
    thread that is not the main one nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
