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
LARGE = 320 << 20
VARIABLE = "THP_MEM_ALLOC_ENABLE"

glibc = pytest.mark.skipif(c_library() is None, reason="the C library is not glibc")


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def in_a_process(program: str, *arguments: str) -> str:
    """What the program prints, in a process of its own: in this one, the holes that other tests
    left in the heap count towards what is kept, and take the small arrays."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


AGAIN = """
import os, sys
from test_allocator import faults
from gclbench.machine.allocator import USUAL, reusing_memory
size = int(sys.argv[1])
with reusing_memory():
    first = b"x" * size
    behind = b"x" * USUAL
    del first
    before = faults()
    for _ in range(20):
        again = b"x" * size
        del again
    print((faults() - before) / (size // os.sysconf("SC_PAGESIZE")))
"""


@glibc
@pytest.mark.parametrize("size", [SIZE, LARGE])
def test_an_array_takes_the_memory_of_the_one_before(size: int):
    """Also one that is larger than what is kept beyond the last array in use, and than all that
    glibc can be told to take from the heap by its threshold."""
    assert float(in_a_process(AGAIN, str(size))) < 1, "one array's pages in twenty arrays"


@pytest.mark.slow
@glibc
def test_memory_that_is_not_kept_is_taken_anew_each_time():
    """The control of the test above: the same arrays without `reusing_memory`."""
    usual = AGAIN.replace("with reusing_memory():", "if True:")
    assert float(in_a_process(usual, str(LARGE))) > 10


@glibc
def test_large_arrays_are_mapped_by_themselves_afterwards():
    with reusing_memory():
        pass
    array = b"x" * LARGE
    held = resident()
    del array
    assert held - resident() > LARGE // 2


def test_large_pages_are_asked_for_unless_something_else_is_said():
    asked = "import gclbench, os; print(os.environ['THP_MEM_ALLOC_ENABLE'])"
    for said, expected in ((None, "1"), ("0", "0")):
        variables = {key: value for key, value in os.environ.items() if key != VARIABLE}
        done = subprocess.run(
            [sys.executable, "-c", asked],
            env=variables if said is None else {**variables, VARIABLE: said},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


HANDED_BACK = """
from test_allocator import SIZE, resident
from gclbench.machine.allocator import reusing_memory
with reusing_memory():
    arrays = [b"x" * SIZE for _ in range(16)]
    del arrays
    kept = resident()
print((kept - resident()) / SIZE)
"""


@glibc
def test_the_memory_is_handed_back_at_the_end():
    assert float(in_a_process(HANDED_BACK)) > 8


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
    assert int(in_a_process(AFTERWARDS)) < 20, "MiB of 100"
