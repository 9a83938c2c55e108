"""Keeps the memory that a training frees, since it asks for the same sizes in every step.

glibc hands freed memory back to the kernel when there is more than a little at the top of the heap,
and the kernel hands it out again a page at a time, each set to zero. A tile of some megabytes then
costs more in pages than in arithmetic. Numbers do not depend on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gclbench.contrast.heap import glibc, hand_back

KEPT = 256 << 20
"""Bytes of freed memory that stay with the process."""

OF_ITS_OWN = 32 << 20
"""An array from this size on is mapped by itself and handed back when it is freed: glibc's most."""

USUAL = 128 << 10
"""glibc's own size for both. It lets them grow while none has been set, and not afterwards."""

# Of malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


@contextlib.contextmanager
def reusing_memory() -> Iterator[None]:
    """Within the block freed memory is kept for the next array, up to `KEPT` bytes; at its end it
    is handed back. Does nothing where the C library is not glibc."""
    library = glibc()
    if library is None:
        yield
        return
    library.mallopt(_TRIM_THRESHOLD, KEPT)
    library.mallopt(_MMAP_THRESHOLD, OF_ITS_OWN)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, USUAL)
        library.mallopt(_MMAP_THRESHOLD, USUAL)
        hand_back()
