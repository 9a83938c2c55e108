"""Exact two-means in one dimension, and the affinity groups made of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.negatives.two_means import NORMAL_RATIO, affinity_groups, two_means


def best_split(row: list[float]) -> tuple[float, float]:
    """(sum of squares within, of the best split; total) over all splits of the sorted numbers."""
    ordered = np.sort(np.array(row))
    spread = lambda part: float(((part - part.mean()) ** 2).sum())  # noqa: E731
    return min(spread(ordered[:k]) + spread(ordered[k:]) for k in range(1, len(row))), spread(
        ordered
    )


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_the_split_is_the_best_of_all(shift: float) -> None:
    rows = (
        torch.randn(20, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + shift
    )
    found = two_means(rows)
    for row, threshold, ratio in zip(rows.tolist(), found.threshold.tolist(), found.ratio.tolist()):
        lower, upper = [x for x in row if x <= threshold], [x for x in row if x > threshold]
        within = sum((x - np.mean(part)) ** 2 for part in (lower, upper) for x in part)
        best, total = best_split(row)
        assert within == pytest.approx(best, rel=1e-6)
        assert ratio == pytest.approx(best / (total - best), rel=1e-6)


def test_it_is_at_least_as_good_as_k_means_with_restarts() -> None:
    rows = torch.rand(5, 60, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = two_means(rows)
    for row, threshold in zip(rows, found.threshold):
        upper = row > threshold
        inertia = float(
            ((row - torch.where(upper, row[upper].mean(), row[~upper].mean())) ** 2).sum()
        )
        assert inertia <= KMeans(2, n_init=10, random_state=0).fit(
            row[:, None].numpy()
        ).inertia_ * (1 + 1e-9)


def test_equal_values_stay_together_and_a_constant_row_is_one_group() -> None:
    found = two_means(
        torch.tensor([[0.0, 1.0, 1.0, 1.0, 1.0], [2.0] * 5, [0.0, 0.0, 0.0, 1.0, 1.0]])
    )
    assert found.threshold.tolist() == [0.5, math.inf, 0.5]
    assert found.ratio.tolist() == pytest.approx([0.0, math.inf, 0.0], abs=1e-12)


def test_a_bell_has_the_normal_ratio_and_two_peaks_a_smaller_one() -> None:
    bell = torch.randn(1, 200_000, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert float(two_means(bell).ratio) == pytest.approx(NORMAL_RATIO, rel=0.01)
    two = bell + 6 * (torch.arange(200_000) % 2)
    assert float(two_means(two).ratio) < 0.2


def row(values: list[float]) -> Tensor:
    """Unit rows whose cosine with (1, 0) is as given."""
    cosines = torch.tensor(values, dtype=torch.float64)
    return torch.stack([cosines, (1 - cosines.square()).sqrt()], dim=1)


def test_the_positives_group_is_group_one_wherever_it_is() -> None:
    candidates = row([0.9, 0.8, 0.1, 0.0, -0.1])
    anchors = torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(5, 2)
    groups = affinity_groups(anchors, candidates)
    assert groups.upper.tolist() == [True, True, False, False, False]
    similarities = anchors @ candidates.T
    assert groups.other(slice(0, 5), similarities)[0].tolist() == [False, False, True, True, True]
    assert groups.other(slice(0, 5), similarities)[4].tolist() == [True, True, False, False, False]
    chosen = torch.tensor([0, 4])
    assert groups.other(chosen, similarities[chosen, torch.tensor([2, 2])]).tolist() == [
        True,
        False,
    ]


def test_an_anchor_with_equal_similarities_has_no_other_group() -> None:
    candidates = row([0.5, 0.5, 0.5])
    anchors = torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(3, 2)
    groups = affinity_groups(anchors, candidates)
    assert not groups.other(slice(0, 3), anchors @ candidates.T).any()
    assert torch.isinf(groups.ratio).all()


def test_groups_do_not_depend_on_the_block() -> None:
    u, v = (
        normalize(
            torch.randn(11, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64),
            dim=1,
        )
        for seed in (0, 1)
    )
    whole, parts = affinity_groups(u, v), affinity_groups(u, v, block=4)
    assert torch.allclose(whole.threshold, parts.threshold) and torch.equal(
        whole.upper, parts.upper
    )
