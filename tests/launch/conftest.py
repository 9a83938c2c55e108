"""What tests of launching share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gclbench.run import datasets


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The test runs in a folder and with a cache of its own, and has nothing loaded before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    datasets.load.cache_clear()
    yield tmp_path
    datasets.load.cache_clear()
