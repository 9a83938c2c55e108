"""What the dataset tests share: an environment without the user's cache, mirrors or network."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_outside_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache, no mirrors, no sockets; a test that wants them sets them."""
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("GCLBENCH_MIRROR", raising=False)
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")


@pytest.fixture
def real_data(mirror: Path, no_outside_data: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real raw files, as the only mirror; skips where there is none."""
    monkeypatch.setenv("GCLBENCH_MIRROR", str(mirror))
    return mirror
