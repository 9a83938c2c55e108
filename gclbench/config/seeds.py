"""Seeds as a command takes them: `10` is 0 to 9, `10-37` is 10 to 37, `[0,10-37]` is a list."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from gclbench.records import LARGEST_SEED

MOST_SEEDS = 10_000
"""Of one command: each is a run of its own, planned before the first one starts."""

A_NUMBER = (
    "must be a number of seeds, at least 1 (seeds=10 runs seeds 0 to 9), a range, seeds=3-7, or a"
    " list, seeds=[3,7]"
)

WHOLE = re.compile(r"[0-9]{1,4000}", re.ASCII)
RANGE = re.compile(r"([0-9]{1,2000})-([0-9]{1,2000})", re.ASCII)

LEAST_OF_A_RANGE = 3
"""Seeds in a row that are written as a range."""


def seeds_of(value: Any, errors: list[str]) -> tuple[int, ...]:
    """The seeds that a value stands for; what is wrong with it goes to `errors`.

    Args:
        value: an int, a range as text, or a list of both. A number or list may be text too.
    """
    if isinstance(value, str) and re.fullmatch(r"\[.*\]", value):
        value = [item.strip() for item in value[1:-1].split(",")]
    if not isinstance(value, list):
        value = int(value) if isinstance(value, str) and WHOLE.fullmatch(value) else value
        if not isinstance(value, str):
            return _counted(value, errors)
    listed = isinstance(value, list)
    items = [_item(item) for item in (value if listed else [value])]
    text = f"seeds=[{','.join(map(str, value))}]" if listed else f"seeds={value}"
    bounds = [bound for item in items if item for bound in item]
    if bounds and max(bounds) > LARGEST_SEED:
        errors.append(f"{text}: the largest seed is {LARGEST_SEED} (2^63 - 1)")
        return ()
    if not listed and None in items:
        errors.append(f"{text} {A_NUMBER}")
        return ()
    if any(item and item[0] > item[1] for item in items):
        errors.append(f"{text}: a range goes up, for example seeds=3-7, or seeds=[0,3-7]")
        return ()
    many = sum(item[1] - item[0] + 1 for item in items if item)
    if many > MOST_SEEDS:
        shown = text if len(text) < 80 else f"{text[:70]}…"
        errors.append(f"{shown} are {many:,} seeds, and a command takes at most {MOST_SEEDS:,}")
        return ()
    found = [seed for item in items if item for seed in range(item[0], item[1] + 1)]
    if not items or None in items or min(found) < 0:
        errors.append(
            f"{text} must be different whole numbers from 0, for example seeds=[3,7], or ranges of"
            " such, seeds=[0,3-7]"
        )
        return ()
    twice = sorted(seed for seed, times in Counter(found).items() if times > 1)
    if twice:
        errors.append(f"{text} has {spelled_list(twice)} twice; each seed is run once")
        return ()
    return tuple(found)


def seeds_in(value: Any) -> Callable[[int], bool]:
    """Whether a seed is among those that a filter names: `"3-7"`, `[0, "3-7"]`; a number is that
    one seed.

    Raises:
        ValueError: for what names none.
    """
    values = value if isinstance(value, (list, tuple, set)) else [value]
    ranges = []
    for each in values:
        found = _item(each)
        if found is None or found[0] > found[1]:
            raise ValueError(f'seed={value!r} names no seeds; one is 3, a range is "3-7"')
        ranges.append(found)
    return lambda seed: any(first <= seed <= last for first, last in ranges)


def spelled(seeds: Iterable[int]) -> str:
    """Seeds as `seeds_of` reads them: `10`, `3-7`, `[0,1,3-7]`."""
    found = sorted(seeds)
    if found == list(range(len(found))) and found:
        return str(len(found))
    words = spelled_list(found)
    return words if "-" in words and "," not in words else f"[{words}]"


def spelled_list(seeds: Iterable[int]) -> str:
    """`0,1,3-7`."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and runs[-1][-1] == seed - 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) >= LEAST_OF_A_RANGE else ",".join(map(str, run))
        for run in runs
    )


def _counted(value: Any, errors: list[str]) -> tuple[int, ...]:
    """`10`, a number of seeds."""
    if _item(value) is None or value < 1:
        errors.append(f"seeds={value} {A_NUMBER}")
        return ()
    if value > LARGEST_SEED:
        errors.append(f"seeds={value}: the largest seed is {LARGEST_SEED} (2^63 - 1)")
        return ()
    if value > MOST_SEEDS:
        errors.append(
            f"seeds={value} is a number of seeds, 0 to {value - 1}, and a command takes at most"
            f" {MOST_SEEDS:,}; the one seed {value} is seeds=[{value}]"
        )
        return ()
    return tuple(range(value))


def _item(item: Any) -> tuple[int, int] | None:
    """First and last of `3-7`, or of a whole number; None for anything else."""
    if isinstance(item, numbers.Integral) and not isinstance(item, bool):
        return int(item), int(item)
    if not isinstance(item, str):
        return None
    if WHOLE.fullmatch(item):
        return int(item), int(item)
    found = RANGE.fullmatch(item)
    return (int(found[1]), int(found[2])) if found else None
