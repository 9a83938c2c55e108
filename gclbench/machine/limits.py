"""Limits that a run is held to: the process's memory, and wall-clock where no training loop looks
at the time."""

from __future__ import annotations

import contextlib
import errno
import re
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

GIB = 1 << 30


class TimeLimit(RuntimeError):
    """The run has used its wall-clock limit.

    What takes nearly any error for a damaged file lets this one through: it is raised once.
    """


class MemoryLimit(MemoryError):
    """The run wanted more memory than its limit leaves it."""


IN_VAIN = ("can't allocate memory", "std::bad_alloc")
"""What torch says on a processor."""

IN_VAIN_WITHIN = ("could not create a primitive", "could not create a memory object")
"""What oneDNN says below torch, of memory and of much else: within a limit it is the memory."""

NOT_LOADED = re.compile("failed to map segment from shared object(?!: Operation not permitted)")
"""What the loader says of a library that is imported; without permission it is not the memory."""


def no_memory_left(error: BaseException) -> bool:
    """Whether an error is that the processor's memory was asked for in vain: by Python, by the
    system, or by torch."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or any(text in str(error) for text in IN_VAIN)


@contextlib.contextmanager
def memory_limit(gib: float | None) -> Iterator[None]:
    """Within the block an allocation that takes the process's data (heap and private mappings)
    beyond `gib` GiB fails.

    The kernel enforces it (RLIMIT_DATA), so that nothing is swapped out or killed first. Memory of
    a GPU does not count. The limit is the process's: what other threads allocate counts too.
    """
    if gib is None:
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    asked = int(gib * GIB)
    resource.setrlimit(
        resource.RLIMIT_DATA, (asked if most == resource.RLIM_INFINITY else min(asked, most), most)
    )
    try:
        yield
    except (MemoryError, OSError, RuntimeError, ImportError) as error:
        in_vain = any(text in str(error) for text in IN_VAIN_WITHIN)
        if not (no_memory_left(error) or in_vain or NOT_LOADED.search(str(error))):
            raise
        raise MemoryLimit(
            f"{str(error).partition(chr(10))[0] or 'no memory is left'} (memory_limit={gib:g} GiB"
            " of this process)"
        ) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


@contextlib.contextmanager
def alarm(seconds: float | None, error: Callable[[], Exception]) -> Iterator[None]:
    """Within the block `error()` is raised once the seconds have passed: for code that never looks
    at the time.

    A single call into a library is not broken off; the error comes when it returns. Only the main
    thread can have an alarm; in another one the block runs without.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise error()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
