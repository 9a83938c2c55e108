"""What every test may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from gclbench.component.registry import METHODS, Entry
from gclbench.machine import threads

MIRROR = os.environ.get("GCLBENCH_MIRROR")
"""As it was at the start: fixtures of some folders clear the variable for every test."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tests run next to long computations, and the order of sums must not depend on the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep in a test stays in the test's process, where its methods are registered."""
    monkeypatch.setattr(threads, "cores", lambda: 1)


@pytest.fixture
def mirror() -> Path:
    """The folder of original dataset files, from the environment variable GCLBENCH_MIRROR."""
    if not MIRROR:
        pytest.skip("GCLBENCH_MIRROR is not set; it names a folder with the original dataset files")
    if not Path(MIRROR).is_dir():
        pytest.skip(f"GCLBENCH_MIRROR={MIRROR} is not a folder")
    return Path(MIRROR)


@pytest.fixture
def register_method(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, type], None]:
    """Makes a dataclass of a test the method called `name`, as if another package brought it."""

    def register(name: str, cls: type) -> None:
        monkeypatch.setitem(
            METHODS.entries,
            name,
            Entry(
                name, "a test's method", f"{cls.__module__}:{cls.__name__}", "a test", builtin=False
            ),
        )
        monkeypatch.setitem(METHODS._classes, name, cls)

    return register
