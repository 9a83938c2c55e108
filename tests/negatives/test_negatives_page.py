"""The page on strategies names every setting with its range."""

from __future__ import annotations

import re
import typing
from pathlib import Path

import pytest

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import schema

PAGE = Path(__file__).parents[2] / "docs" / "negatives.md"


def rows() -> dict[str, dict[str, str]]:
    """Strategy to setting to its values, as the page has them; an empty first cell is the strategy
    above."""
    found: dict[str, dict[str, str]] = {}
    names: list[str] = []
    for line in (
        PAGE.read_text(encoding="utf-8")
        .partition("## Settings")[2]
        .partition("## Unusual")[0]
        .splitlines()
    ):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[1].startswith("`"):
            names = re.findall(r"`(\w+)`", cells[0]) or names
            for name in names:
                found.setdefault(name, {})[cells[1].strip("`")] = cells[2]
    return found


def allowed(kind: typing.Any) -> str:
    if kind is bool:
        return "true, false"
    return str(next(rule for rule in typing.get_args(kind)[1:]))


@pytest.mark.parametrize("name", [name for name in NEGATIVES.names() if name != "uniform"])
def test_the_page_has_every_setting_with_its_range(name: str) -> None:
    assert rows()[name] == {
        setting: allowed(kind) for setting, kind in schema(NEGATIVES.load(name)).items()
    }
