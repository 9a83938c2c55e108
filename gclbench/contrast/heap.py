"""Freed memory that the heap keeps, handed back to the system."""

from __future__ import annotations

import ctypes
import sys


def glibc() -> ctypes.CDLL | None:
    """The C library of this process, where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    known = hasattr(library, "mallopt") and hasattr(library, "malloc_trim")
    return library if known else None


def hand_back() -> None:
    """Hands all pages that hold nothing back to the system, also those between others. Does nothing
    where the C library is not glibc."""
    library = glibc()
    if library is not None:
        library.malloc_trim(0)
