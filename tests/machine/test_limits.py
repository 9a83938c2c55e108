"""Limits of memory and time that hold also where nobody looks."""

from __future__ import annotations

import errno
import re
import resource
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from gclbench.machine.limits import MemoryLimit, alarm, memory_limit, no_memory_left


def data_of_this_process() -> float:
    """GiB that count against the limit."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) / (1 << 20)
    pytest.skip("this system does not tell a process's memory")


@pytest.mark.parametrize(
    "take",
    [
        lambda: np.ones(1 << 28),
        lambda: torch.ones(1 << 28),
        lambda: bytearray(1 << 31),
        lambda: [torch.ones(1 << 22) for _ in range(128)],
    ],
    ids=["numpy", "torch", "python", "little by little"],
)
def test_more_than_the_limit_is_refused_and_afterwards_there_is_none(take) -> None:
    limit = data_of_this_process() + 0.5
    with (
        pytest.raises(MemoryLimit, match=rf"\(memory_limit={limit:g} GiB of this process\)"),
        memory_limit(limit),
    ):
        take()
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY
    assert len(np.empty(1 << 27)) == 1 << 27, "a gigabyte is to be had again"


def test_less_than_the_limit_is_not() -> None:
    with memory_limit(data_of_this_process() + 1):
        assert torch.ones(1 << 22).sum() == 1 << 22
    with memory_limit(None):
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_the_systems_own_refusal_names_the_limit() -> None:
    limit = data_of_this_process() + 1
    with pytest.raises(MemoryLimit, match="Cannot allocate memory"), memory_limit(limit):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")


@pytest.mark.parametrize(
    "said",
    [
        RuntimeError("could not create a primitive"),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_within_a_limit_what_libraries_say_is_the_memory(said: Exception) -> None:
    limit = data_of_this_process() + 1
    told = rf"{re.escape(str(said))} \(memory_limit="
    with pytest.raises(MemoryLimit, match=told), memory_limit(limit):
        raise said
    assert not no_memory_left(said), "it says so of much else"


def test_other_errors_pass_through() -> None:
    with pytest.raises(FileNotFoundError), memory_limit(data_of_this_process() + 1):
        Path("nowhere").read_text()
    for said in ("no module", "failed to map segment from shared object: Operation not permitted"):
        with (
            pytest.raises(ImportError, match=f"^{said}$"),
            memory_limit(data_of_this_process() + 1),
        ):
            raise ImportError(said)
    with pytest.raises(RuntimeError, match="^it broke$"), memory_limit(data_of_this_process() + 1):
        raise RuntimeError("it broke")


def test_the_alarm_rings_and_is_taken_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    started = time.monotonic()
    with (
        pytest.raises(TimeoutError, match="too late"),
        alarm(0.05, lambda: TimeoutError("too late")),
    ):
        time.sleep(30)
    assert time.monotonic() - started < 20
    with alarm(30, lambda: TimeoutError("too late")):
        pass
    assert (
        signal.getitimer(signal.ITIMER_REAL)[0] == 0 and signal.getsignal(signal.SIGALRM) == before
    )


def test_another_thread_and_no_limit_have_no_alarm() -> None:
    ended: list[bool] = []

    def work() -> None:
        with alarm(0.001, lambda: TimeoutError("too late")):
            time.sleep(0.05)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with alarm(None, lambda: TimeoutError("too late")):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert ended == [True]
