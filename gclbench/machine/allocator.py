"""Keeps the memory that a training frees, since it asks for the same sizes in every step.

glibc hands freed memory back to the kernel when there is more than a little at the top of the heap,
and the kernel hands it out again a page at a time, each set to zero. A tile of some megabytes then
costs more in pages than in arithmetic. A large array is worse: glibc maps it by itself, and every
new one starts with fresh pages. Within a training all arrays therefore come from the heap. Numbers
do not depend on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gclbench.contrast.heap import glibc, hand_back

KEPT = 256 << 20
"""Bytes of freed memory that stay with the process."""

USUAL = 128 << 10
"""glibc's own size for what is kept, and for an array that is mapped by itself. It lets both grow
while neither has been set, and not afterwards."""

USUAL_MAPPED = 65_536
"""glibc's own limit for the number of arrays that are mapped by themselves."""

# Of malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4


@contextlib.contextmanager
def reusing_memory() -> Iterator[None]:
    """Within the block freed memory is kept for the next array: all that lies between arrays in
    use, and up to `KEPT` bytes beyond the last of them. At its end it is handed back. Does nothing
    where the C library is not glibc."""
    library = glibc()
    if library is None:
        yield
        return
    library.mallopt(_TRIM_THRESHOLD, KEPT)
    library.mallopt(_MMAP_MAX, 0)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, USUAL)
        library.mallopt(_MMAP_THRESHOLD, USUAL)
        library.mallopt(_MMAP_MAX, USUAL_MAPPED)
        hand_back()
