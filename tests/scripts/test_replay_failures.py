"""The list of what failed for new users: every failure has tests that are there."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def script() -> dict[str, object]:
    return runpy.run_path(str(ROOT / "scripts" / "replay_failures.py"))


def test_every_failure_is_held_by_tests_that_are_there(script) -> None:
    assert [*script["FAILURES"]] == [*range(1, 12)]
    for failure in script["FAILURES"].values():
        assert failure.tests
        for test in failure.tests:
            file, _, name = test.partition("::")
            tree = ast.parse((ROOT / "tests" / file).read_text())
            names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
            assert name in names if name else any(each.startswith("test_") for each in names)


def test_a_failure_that_comes_back_is_told(script, monkeypatch, capsys) -> None:
    asked: list[tuple[str, ...]] = []

    def passes(tests: tuple[str, ...]) -> bool:
        asked.append(tests)
        return "cli/test_seeds.py" not in tests

    monkeypatch.setitem(script["main"].__globals__, "passes", passes)
    assert script["main"](["5", "9"]) == 1
    assert [line.split("  ")[1].strip() for line in capsys.readouterr().out.splitlines()] == [
        "CAME BACK",
        "mended",
    ]
    assert script["main"](["9"]) == 0 and len(asked) == 3
    with pytest.raises(SystemExit):
        script["main"](["12"])
    assert "there is no failure 12" in capsys.readouterr().err
