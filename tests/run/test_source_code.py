"""Which code a training's checkpoint is of."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from gclbench.machine import environment
from gclbench.machine.environment import CHANGED
from gclbench.methods.grace import Grace
from gclbench.run import source_code
from gclbench.run.source_code import code_of


@pytest.fixture(autouse=True)
def committed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "versions", lambda: {"commit": "abc"})
    source_code._of_the_package.cache_clear()


def test_a_file_of_ones_own_and_that_of_its_base_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "base_of_mine.py").write_text("class Base: pass\n")
    (tmp_path / "code_of_mine.py").write_text(
        "from base_of_mine import Base\nclass Mine(Base): pass\n"
    )
    mine = importlib.import_module("code_of_mine").Mine()
    found = [code_of([mine])]
    for name in ("base_of_mine", "code_of_mine"):
        path = tmp_path / f"{name}.py"
        path.write_text(path.read_text() + "# changed\n")
        found.append(code_of([mine]))
    assert len({*found}) == 3 and code_of([mine]) == found[-1]
    for name in ("base_of_mine", "code_of_mine"):
        del sys.modules[name]


def test_our_own_files_count_where_the_commit_does_not_hold_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clean = code_of([Grace()])
    monkeypatch.setattr(environment, "versions", lambda: {"commit": f"abc{CHANGED}"})
    found = []
    for text in ("one", "two"):
        (tmp_path / "part.py").write_text(text)
        monkeypatch.setattr(source_code, "PACKAGE", tmp_path)
        source_code._of_the_package.cache_clear()
        found.append(source_code._of_the_package())
    assert len({clean, *found}) == 3 and source_code._of_the_package() == found[-1]
    source_code._of_the_package.cache_clear()
