"""What the command line's tests share: an empty working folder and no outside data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gclbench.run import datasets

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; cache under it, no mirror, no sockets."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("GCLBENCH_MIRROR", raising=False)
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    datasets.load.cache_clear()
    return folder


@pytest.fixture
def shell() -> Shell:
    """Runs `python …` in the working folder; output as text."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=120
        )

    return run
