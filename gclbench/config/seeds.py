"""Seeds as a command takes them: `10` is 0 to 9, `10-37` is 10 to 37, `[0,10-37]` is a list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gclbench.records import LARGEST_SEED

MOST_SEEDS = 10_000
"""Of one command: each is a run of its own, planned before the first one starts."""

A_NUMBER = (
    "must be a number of seeds, at least 1 (seeds=10 runs seeds 0 to 9), a range, seeds=3-7, or a"
    " list, seeds=[3,7]"
)

RANGE = re.compile(r"([0-9]{1,19})-([0-9]{1,19})")

LEAST_OF_A_RANGE = 3
"""Seeds in a row that are written as a range."""


def seeds_of(value: Any, errors: list[str]) -> tuple[int, ...]:
    """The seeds that a value stands for; what is wrong with it goes to `errors`."""
    listed = isinstance(value, list)
    items = [_item(item) for item in (value if listed else [value])]
    text = f"seeds=[{','.join(map(str, value))}]" if listed else f"seeds={value}"
    bounds = [bound for item in items if item for bound in item]
    if bounds and max(bounds) > LARGEST_SEED:
        errors.append(f"{text}: the largest seed is {LARGEST_SEED} (2^63 - 1)")
        return ()
    if not listed and not isinstance(value, str):
        return _counted(value, errors)
    if not listed and None in items:
        errors.append(f"{text} {A_NUMBER}")
        return ()
    if any(item and item[0] > item[1] for item in items):
        errors.append(f"{text}: a range goes up, for example seeds=3-7, or seeds=[0,3-7]")
        return ()
    many = sum(item[1] - item[0] + 1 for item in items if item)
    if many > MOST_SEEDS:
        errors.append(f"{text} are {many:,} seeds, and a command takes at most {MOST_SEEDS:,}")
        return ()
    found = [seed for item in items if item for seed in range(item[0], item[1] + 1)]
    if not items or None in items or min(found) < 0 or len(set(found)) != len(found):
        errors.append(
            f"{text} must be different whole numbers from 0, for example seeds=[3,7], or ranges of"
            " such, seeds=[0,3-7]"
        )
        return ()
    return tuple(found)


def spelled(seeds: Iterable[int]) -> str:
    """Seeds as `seeds_of` reads them: `10`, `3-7`, `[0,1,3-7]`."""
    found = sorted(seeds)
    if found == list(range(len(found))) and found:
        return str(len(found))
    runs: list[list[int]] = []
    for seed in found:
        if runs and runs[-1][-1] == seed - 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    words = [
        word
        for run in runs
        for word in (
            [f"{run[0]}-{run[-1]}"] if len(run) >= LEAST_OF_A_RANGE else [str(seed) for seed in run]
        )
    ]
    alone = len(words) == 1 and "-" in words[0]
    return words[0] if alone else f"[{','.join(words)}]"


def _counted(value: Any, errors: list[str]) -> tuple[int, ...]:
    """`10`, a number of seeds."""
    if _item(value) is None or value < 1:
        errors.append(f"seeds={value} {A_NUMBER}")
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
    if isinstance(item, int) and not isinstance(item, bool):
        return item, item
    found = RANGE.fullmatch(item) if isinstance(item, str) else None
    return (int(found[1]), int(found[2])) if found else None
