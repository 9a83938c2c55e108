"""An empty working folder for every test, with the methods of `small_runs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_runs import JudgedSpy, LabelledSpy, Spy, Unruly

from gclbench.run import datasets


@pytest.fixture(autouse=True)
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register_method: Callable[[str, type], None]
) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    register_method("unruly", Unruly)
    register_method("spy", Spy)
    register_method("labelled_spy", LabelledSpy)
    register_method("judged_spy", JudgedSpy)
    Spy.seen.clear()
    datasets.load.cache_clear()
    yield tmp_path
    datasets.load.cache_clear()
