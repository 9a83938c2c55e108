"""A folder with a file of components, which no other test sees."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_component import SOURCE

from gclbench.component.own_components import forget
from gclbench.component.own_files import VARIABLE
from gclbench.component.registry import GROUPS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file of components, which no other test sees."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "scale_of_mine.py").write_text("SCALE = 2.0\n")
    yield tmp_path
    for registry in GROUPS.values():
        for name in ("mine", "other"):
            registry._classes.pop(name, None)
            registry.redefined += 1
    forget(tmp_path.rglob("*.py"))
