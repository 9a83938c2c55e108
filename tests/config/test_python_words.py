"""What the command says, in the words of Python."""

from __future__ import annotations

import pytest

from gclbench.config.spelling import in_python


@pytest.mark.parametrize(
    "told,worded",
    [
        (
            "seeds=7-3: a range goes up, as seeds=3-7",
            'seeds="7-3": a range goes up, as seeds="3-7"',
        ),
        ("for example seeds=[0,3-7]", 'for example seeds=[0,"3-7"]'),
        ("seeds=[3,7] and 2026-11-26", "seeds=[3,7] and 2026-11-26"),
    ],
)
def test_a_range_of_seeds_is_text_in_python(told: str, worded: str) -> None:
    assert in_python(told) == worded
