from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gclbench.paper.metrics import find_metric
from gclbench.paper.significance import BETTER, WITHIN, WORSE, holm, mark, welch


def test_welch_agrees_with_scipy_on_samples() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.7, 0.02, 7), rng.normal(0.72, 0.05, 10)
    expected = stats.ttest_ind(ours, theirs, equal_var=False).pvalue
    found = welch(ours.mean(), ours.std(ddof=1), 7, theirs.mean(), theirs.std(ddof=1), 10)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("std", "n", "other_std", "other_n"),
    [
        (None, 1, 0.1, 10),
        (0.1, 10, None, 10),
        (0.1, 10, 0.1, None),
        (0.0, 10, 0.0, 10),
        (0.1, 1, 0.1, 10),
    ],
)
def test_nothing_to_test_with(
    std: float | None, n: int, other_std: float | None, other_n: int | None
) -> None:
    assert welch(0.5, std, n, 0.6, other_std, other_n) is None


def test_a_deterministic_side_can_be_tested() -> None:
    p_value = welch(0.5, 0.01, 10, 0.6, 0.0, 10)
    assert p_value is not None and p_value < 1e-6


def test_holm_by_hand() -> None:
    # Sorted: 0.01·4, max(0.04, 0.02·3), max(0.06, 0.03·2), max(0.06, 0.5·1).
    assert holm([0.02, None, 0.5, 0.01, 0.03]) == pytest.approx([0.06, None, 0.5, 0.04, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None]) == [None]


@pytest.mark.parametrize(
    ("metric", "mean", "std", "p_value", "expected"),
    [
        ("acc", 0.69, 0.002, 0.0001, WITHIN),  # exactly one point below
        ("acc", 0.6899, 0.002, 0.0001, WORSE),
        ("acc", 0.6899, 0.002, 0.2, ""),
        ("acc", 0.6899, 0.002, None, ""),
        ("acc", 0.66, 0.05, 0.0001, WITHIN),  # the paper's std is the larger tolerance
        ("acc", 0.75, 0.002, 0.2, WITHIN),
        ("acc", 0.75, 0.002, 0.01, BETTER),
        ("acc", 0.75, None, None, WITHIN),
        ("conductance", 0.65, 0.002, 0.01, BETTER),
        ("conductance", 0.75, 0.002, 0.01, WORSE),
        ("conductance", 0.705, 0.002, 0.01, WITHIN),
    ],
)
def test_marks(
    metric: str, mean: float, std: float | None, p_value: float | None, expected: str
) -> None:
    assert mark(find_metric(metric), mean, 0.70, std, p_value) == expected
