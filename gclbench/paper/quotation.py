"""References to records in prose: `nml/1; cora; nml_gcl; accuracy` is computed, never typed.

docs/tables.md has the grammar. Fields are separated by `;`, because a `|` ends a cell of a Markdown
table even inside a comment.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gclbench.paper.measure import GIB
from gclbench.paper.place import FORMS, BadReference, Place, Places, kind_of

OF_CELLS = ("mean", "±", "n", "min", "max", "seed K")
OF_TABLES = ("printed", "printed ±", "difference", "verdict")
"""What can be asked of cells and runs, and of a table's cells alone; a comparison has a verdict
too."""

UNITS = {
    "minutes": ("seconds", 1 / 60),
    "hours": ("seconds", 1 / 3600),
    "ms": ("seconds", 1000),
    "GiB": ("number", 1 / GIB),
    "percent": ("number", 100),
}
"""Unit to what it is made of and the factor."""

MINUS = " minus "


@dataclass(frozen=True)
class How:
    """What of a place is shown: one of OF_CELLS or OF_TABLES, in a unit, with decimals."""

    what: str = "mean"
    unit: str = ""
    decimals: int | None = None


def quoted(reference: str, places: Places) -> str:
    """What stands in prose: `73.5`, `73.5 ± 1.2`, `−0.4`, `1,000` or a verdict's word.

    Raises:
        BadReference: with what is wrong and what exists.
    """
    if "|" in reference:
        raise BadReference(
            "fields are separated by ';': a '|' ends a cell of a Markdown table, even in a comment"
        )
    left, minus, right = reference.partition(MINUS)
    names = _fields(left)
    place, how = _read(names, places)
    if minus:
        others = _fields(right)
        if places.is_column(names, others[0]):
            others = [*names[:2], others[0], names[3], *others[1:]]
        if how != How():
            raise BadReference(f"what is shown stands last, behind{MINUS}…")
        other, how = _read(others, places)
        place = _gain(place, other)
    return _shown(place, how)


def _read(names: Sequence[str], places: Places) -> tuple[Place, How]:
    """The numbers of a reference without `minus`, and what of them is shown."""
    kind = kind_of(names[0])
    length = FORMS[kind].count(";") + 1
    if len(names) < length:
        raise BadReference(f"'{'; '.join(names)}' is too short for {FORMS[kind]}")
    return places.find(kind, names[:length]), _how(names[length:])


def _fields(text: str) -> list[str]:
    return [" ".join(field.split()) for field in text.split(";")]


def _how(words: Sequence[str]) -> How:
    """Each of what, unit and decimals at most once, in any order."""
    found: dict[str, Any] = {}
    for word in words:
        unit, decimals = re.fullmatch(r"in (.+)", word), re.fullmatch(r"([0-9]) decimals?", word)
        one: tuple[str, Any] = ("what", word)
        if unit and unit[1] in UNITS:
            one = ("unit", unit[1])
        elif decimals:
            one = ("decimals", int(decimals[1]))
        elif word not in OF_CELLS[:-1] + OF_TABLES and not re.fullmatch(r"seed \d+", word):
            exist = (*OF_CELLS, *OF_TABLES, *(f"in {name}" for name in UNITS), "K decimals")
            raise BadReference(f"'{word}' is nothing to show. There are {', '.join(exist)}")
        if one[0] in found:
            raise BadReference(f"'{word}' is the second of its kind; one is shown")
        found[one[0]] = one[1]
    return How(**found)


def _gain(one: Place, other: Place) -> Place:
    """One minus the other, seed by seed."""
    if one.alone or other.alone or one.unit != other.unit:
        raise BadReference("minus stands between two cells or runs of one unit")
    seeds = [seed for seed in one.values if seed in other.values]
    if not seeds:
        raise BadReference(
            f"no seed is on both sides: {_seeds(one.values)} and {_seeds(other.values)}"
        )
    return Place({seed: one.values[seed] - other.values[seed] for seed in seeds}, one.unit)


def _seeds(values: Iterable[int]) -> str:
    return ", ".join(map(str, values)) or "none"


def _shown(place: Place, how: How) -> str:
    """The text of what is asked of a place."""
    if place.alone and how.what != "mean" and not (how.what == "verdict" and place.verdict):
        raise BadReference(f"'{how.what}' is for a cell or runs; this is one number")
    if how.what in OF_TABLES:
        return _of_entry(place, how)
    numbers = list(place.values.values())
    if how.what == "n":
        return f"{len(numbers):,}"
    if not numbers:
        raise BadReference(place.said if place.alone else f"there is no number: {place.said}")
    if how.what.startswith("seed "):
        seed = int(how.what.removeprefix("seed "))
        if seed not in place.values:
            raise BadReference(f"seed {seed} has no value; seeds with one: {_seeds(place.values)}")
        numbers = [place.values[seed]]
    if how.what == "±" and len(numbers) < 2:
        raise BadReference("one run has no standard deviation")
    unit, factor = _unit(place, how)
    pick = {"min": min, "max": max}.get(how.what, statistics.fmean)
    std = factor * statistics.stdev(numbers) if how.what == "±" else None
    return _number(factor * pick(numbers), std, unit, how.decimals)


def _unit(place: Place, how: How) -> tuple[str, float]:
    if not how.unit:
        return place.unit, 1
    made_of, factor = UNITS[how.unit]
    if made_of != place.unit:
        raise BadReference(f"'in {how.unit}' is for a value in {made_of}; this is in {place.unit}")
    return how.unit, factor


def _of_entry(place: Place, how: How) -> str:
    """What runs do not have: a printed number, a verdict."""
    entry = place.entry
    if how.what == "verdict" and place.verdict:
        return place.verdict
    if entry is None:
        others = f" and {FORMS['compare']}" if how.what == "verdict" else ""
        raise BadReference(f"'{how.what}' is for {FORMS['table']}{others}")
    if how.what == "verdict":
        raise BadReference("this cell has no verdict")
    unit, factor = _unit(place, how)
    factor *= entry.factor
    printed = entry.printed
    if printed is None or printed.mean is None:
        said = entry.show_printed() or "nothing"
        raise BadReference(f"the paper prints no number here, but {said}")
    if how.what == "difference":
        if entry.difference is None:
            raise BadReference("ours and the printed number cannot be subtracted")
        text = _number(factor * entry.difference, None, unit, how.decimals)
        return text if text.startswith("−") else f"+{text}"
    if how.what == "printed ±" and printed.std is None:
        raise BadReference("the paper prints no spread here")
    std = factor * printed.std if how.what == "printed ±" and printed.std is not None else None
    return _number(factor * printed.mean, std, unit, how.decimals)


def _number(value: float, std: float | None, unit: str, decimals: int | None) -> str:
    """Percent with one decimal; whole numbers as they are; others with three digits."""
    if decimals is None:
        size = math.floor(math.log10(abs(value))) if value else 0
        whole = value.is_integer() and std is None
        decimals = 1 if unit == "percent" else 0 if whole else max(0, 2 - size)
    shown = [f"{part:,.{decimals}f}" for part in (value, std) if part is not None]
    if not any(digit in shown[0] for digit in "123456789"):
        shown[0] = shown[0].removeprefix("-")
    return " ± ".join(shown).replace("-", "−")
