"""Which columns a masked view loses."""

from __future__ import annotations

import pytest
import torch

from gclbench.component.registry import NEGATIVES
from gclbench.contrast.views import dropped_columns
from gclbench.negatives.uniform import Uniform


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("width", "fraction", "count"),
    [
        (10, 0.0, 0),
        (10, 0.2, 2),
        (10, 0.26, 3),
        (10, 0.6, 6),
        (10, 0.99, 9),
        (1, 0.9, 0),
        (2, 0.9, 1),
        (1433, 0.08, 115),
    ],
)
def test_exactly_the_asked_fraction_but_never_all(width, fraction, count):
    columns = dropped_columns(width, fraction, stream())
    assert len(columns) == count
    assert columns.dtype == torch.int64
    assert columns.tolist() == sorted(set(columns.tolist()))
    assert all(0 <= column < width for column in columns.tolist())


def test_draws_follow_the_generator():
    generator = stream()
    first, second = dropped_columns(50, 0.5, generator), dropped_columns(50, 0.5, generator)
    assert not torch.equal(first, second), "a fresh draw per view"
    assert torch.equal(first, dropped_columns(50, 0.5, stream()))


def test_every_column_is_as_likely():
    generator = stream(3)
    counts = torch.zeros(10)
    for _ in range(2000):
        counts[dropped_columns(10, 0.3, generator)] += 1
    assert float(counts.sum()) == 6000
    # 600 ± 6 standard deviations of √(2000·0.3·0.7) = 20.5.
    assert bool(((counts - 600).abs() < 123).all())


def test_uniform_negatives_are_registered():
    assert NEGATIVES.load("uniform") is Uniform
