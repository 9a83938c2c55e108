"""Seeds of a command: a number of them, ranges, lists, and what is none of these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from told_errors import errors_of

from gclbench.config.seeds import seeds_of, spelled
from gclbench.config.validation import experiment_of


@pytest.mark.parametrize(
    "text,seeds",
    [
        ("seeds=1", (0,)),
        ("seeds=3", (0, 1, 2)),
        ("seeds=[3,7]", (3, 7)),
        ("seeds=[0]", (0,)),
        ("seeds=3-6", (3, 4, 5, 6)),
        ("seeds=0-2", (0, 1, 2)),
        ("seeds=[9,3-5,0-1]", (9, 3, 4, 5, 0, 1)),
    ],
)
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert experiment_of([text]).seeds == seeds


@pytest.mark.parametrize("value", ["0", "-1", "a", "1.5", "true", "null"])
def test_seeds_must_be_a_number_of_seeds(value: str) -> None:
    (error,) = errors_of(f"seeds={value}")
    assert re.fullmatch(
        r"seeds=.* must be a number of seeds, at least 1 \(seeds=10 runs seeds 0 to 9\), a range,"
        r" seeds=3-7, or a list, seeds=\[3,7\]",
        error,
    )


@pytest.mark.parametrize(
    "value,typed",
    [
        *((value, value) for value in ("[]", "[-1]", "[1.5]", "[a]", "[3-]", "[-1-3]")),
        ("[true]", "[True]"),
    ],
)
def test_listed_seeds_must_be_different_whole_numbers(value: str, typed: str) -> None:
    (error,) = errors_of(f"seeds={value}")
    assert error == (
        f"seeds={typed} must be different whole numbers from 0, for example seeds=[3,7], or ranges"
        " of such, seeds=[0,3-7]"
    )


@pytest.mark.parametrize(
    "value,twice", [("[1,1]", "1"), ("[0-2,1]", "1"), ("[0-9,2-4,7,8]", "2-4,7,8")]
)
def test_a_seed_is_named_once(value: str, twice: str) -> None:
    assert errors_of(f"seeds={value}") == [
        f"seeds={value} has {twice} twice; each seed is run once"
    ]


@pytest.mark.parametrize(
    "value,seeds",
    [
        ("3", (0, 1, 2)),
        ("3-5", (3, 4, 5)),
        (["3", 5], (3, 5)),
        (["0-1", 5], (0, 1, 5)),
        ("[0, 3-4]", (0, 3, 4)),
    ],
)
def test_seeds_may_be_text(value: Any, seeds: tuple[int, ...]) -> None:
    """As YAML and Python give them: quoted."""
    errors: list[str] = []
    assert seeds_of(value, errors) == seeds and not errors


@pytest.mark.parametrize(
    "typed,told",
    [
        ("seeds=3–5", "did you mean seeds=3-5?"),
        ("seeds=[0,3–5]", "did you mean seeds=[0,3-5]?"),
        ("seeds=3‑5", "did you mean seeds=3-5?"),
        ("method.tau=−0.5", "did you mean method.tau=-0.5?"),
        ("seeds=3-5,7", "a list: seeds=[3-5,7]"),
        ("seeds=[3-5],[9]", "a list: seeds=[3-5,9]"),
        ("seeds=range(3,5)", "a list: such as seeds=[3,7-9]"),
        ("seeds=3-,7-3", "a list: such as seeds=[3,7-9]"),
    ],
)
def test_advice_on_seeds_can_be_typed(typed: str, told: str) -> None:
    (error,) = errors_of(typed)
    assert error.endswith(told)


@pytest.mark.parametrize("value", ["7-3", "[0,7-3]"])
def test_a_range_of_seeds_goes_up(value: str) -> None:
    assert errors_of(f"seeds={value}") == [
        f"seeds={value}: a range goes up, for example seeds=3-7, or seeds=[0,3-7]"
    ]


def test_a_range_has_no_more_seeds_than_a_command_takes() -> None:
    """Those of a list are counted together, and no list of a billion is made to count them."""
    assert errors_of("seeds=[1-9000,20000-22000]") == [
        "seeds=[1-9000,20000-22000] are 11,001 seeds, and a command takes at most 10,000"
    ]
    assert len(errors_of("seeds=1-1000000000000")) == 1
    assert errors_of(f"seeds=1-{2**63}") == [
        f"seeds=1-{2**63}: the largest seed is {2**63 - 1} (2^63 - 1)"
    ]


@pytest.mark.parametrize(
    "seeds", [[0], [3], [3, 4], [0, 1, 2], [3, 4, 5], [0, 1, 3, 7, 8, 9, 11], range(40, 90)]
)
def test_seeds_are_spelled_as_they_are_read(seeds: Sequence[int]) -> None:
    assert experiment_of([f"seeds={spelled(seeds)}"]).seeds == tuple(seeds)


def test_seeds_in_a_row_are_spelled_as_a_range() -> None:
    assert spelled([0, 1, 2]) == "3" and spelled([5, 4, 3]) == "3-5"
    assert spelled([3, 4]) == "[3,4]" and spelled([0, 3, 4, 5, 9]) == "[0,3-5,9]"


def test_another_setting_has_no_range() -> None:
    (error,) = errors_of("dataset.nodes=3–5")
    assert "did you mean" not in error and "is quoted twice" in error
