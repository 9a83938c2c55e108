"""Freed memory is kept for the next array, and handed back at the end."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gclbench.contrast.heap import glibc as c_library
from gclbench.machine.allocator import reusing_memory

SIZE = 8 << 20
PAGES = SIZE // os.sysconf("SC_PAGESIZE")

glibc = pytest.mark.skipif(c_library() is None, reason="the C library is not glibc")


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@glibc
def test_an_array_takes_the_memory_of_the_one_before():
    with reusing_memory():
        first = b"x" * SIZE
        del first
        before = faults()
        for _ in range(20):
            again = b"x" * SIZE
            del again
        assert faults() - before < PAGES, "not even one array's pages in twenty arrays"


HANDED_BACK = """
from test_allocator import SIZE, resident
from gclbench.machine.allocator import reusing_memory
with reusing_memory():
    arrays = [b"x" * SIZE for _ in range(16)]
    del arrays
    kept = resident()
print((kept - resident()) / SIZE)
"""
"""In a process of its own: what another one has freed before counts towards what is kept."""


@glibc
def test_the_memory_is_handed_back_at_the_end():
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", HANDED_BACK], cwd=folder, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) > 8


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with reusing_memory():
        assert c_library() is None


AFTERWARDS = """
from test_allocator import resident
from gclbench.machine.allocator import reusing_memory
with reusing_memory():
    pass
before = resident()
arrays = [b"x" * (256 << 10) for _ in range(400)]
del arrays
print((resident() - before) >> 20)
"""


@glibc
def test_memory_that_is_freed_afterwards_is_not_kept():
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], cwd=folder, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 20, "MiB of 100"
