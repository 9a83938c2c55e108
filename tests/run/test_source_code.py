"""Which code a training's checkpoint is of."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gclbench.machine import environment
from gclbench.machine.environment import CHANGED
from gclbench.methods.grace import Grace
from gclbench.run import source_code
from gclbench.run.source_code import code_of, outside_code


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
    names = ("base_of_mine", "code_of_mine")

    def code() -> str:
        for name in names:
            sys.modules.pop(name, None)
        return code_of([importlib.import_module("code_of_mine").Mine()])

    found = [code()]
    for name in names:
        path = tmp_path / f"{name}.py"
        mine = importlib.import_module("code_of_mine").Mine()
        assert code_of([mine]) == found[-1]
        path.write_text(path.read_text() + "# changed\n")
        assert code_of([mine]) == found[-1], "what runs is what was imported"
        found.append(code())
    assert len({*found}) == 3 and code() == found[-1]
    for name in names:
        del sys.modules[name]


def test_of_a_class_in_a_notebook_its_own_lines_count() -> None:
    def code(body: str, rest: str = "") -> str:
        space = {"__name__": "__main__"}
        exec(f"class Mine:\n    width = 3\n{body}\n{rest}", space)
        return outside_code([space["Mine"]()])

    body = "    def fit(self, x):\n        return [each + 1 for each in x]"
    found = [
        code(body),
        code(body.replace("+ 1", "+ 2")),
        code(body.replace("+", "-")),
        code(body.replace("each", "one")),
        code(body + "\n    width = 4"),
        code(body + "\n    @property\n    def a(self): return 1"),
        code(body + "\n    @property\n    def a(self): return 2"),
        code(body + "\n    @staticmethod\n    def b(): return 1"),
        code(body + "\n    @staticmethod\n    def b(): return 2"),
        code(body + "\n    def c(self, x=1): return x"),
        code(body + "\n    def c(self, x=2): return x"),
    ]
    assert len({*found}) == len(found) and code(body, "y = 3") == found[0]
    assert outside_code([Grace()]) == ""


def test_the_digits_of_a_set_do_not_depend_on_the_process() -> None:
    text = (
        "from gclbench.run.source_code import outside_code\n"
        "class Mine:\n    def fit(self, x): return x in {'one', 'two', 'three', 'four'}\n"
        "print(outside_code([Mine()]))\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", text],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1


def test_of_a_script_all_lines_count(tmp_path: Path) -> None:
    def code(helper: int) -> str:
        path = tmp_path / "script.py"
        path.write_text(
            "from gclbench.run.source_code import outside_code\n"
            f"class Helper:\n    x = {helper}\n"
            "class Mine:\n    def fit(self, x): return Helper.x\n"
            "print(outside_code([Mine()]))\n"
        )
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
        return done.stdout

    assert code(1) == code(1) != code(2)


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
