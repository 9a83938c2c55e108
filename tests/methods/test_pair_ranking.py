"""The ranking of pairs against a sorted N×N matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from gclbench.methods import pair_ranking
from gclbench.methods.pair_ranking import CACHED_ENTRIES, least_similar, pair_products, ranked


def rows(nodes: int, width: int) -> torch.Tensor:
    return normalize(
        torch.randn(nodes, width, generator=torch.Generator().manual_seed(nodes)), dim=1
    )


@pytest.mark.parametrize("tile", [1 << 22, 100])
@pytest.mark.parametrize("most,least", [(1, 1), (37, 400), (600, 1000), (1296, 1296)])
def test_both_ends_of_the_ranking(
    monkeypatch: pytest.MonkeyPatch, tile: int, most: int, least: int
) -> None:
    monkeypatch.setattr(pair_ranking, "TILE_ENTRIES", tile)
    z = rows(36, 5)  # cosines of both signs
    cosines = torch.cat([piece @ z.T for piece in z.split(max(1, tile // 36))]).flatten()
    found = ranked(z, most, least)
    assert len(found.most) == most == len(found.most.unique()) and bool(
        (found.most[1:] > found.most[:-1]).all()
    )
    in_order = cosines.sort().values
    assert torch.equal(cosines[found.most].sort().values, in_order[len(in_order) - most :])
    assert found.threshold == in_order[least - 1]


def test_equal_cosines_go_by_their_number() -> None:
    z = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).repeat(3, 1)  # 18 pairs of cosine 1, 18 of cosine 0
    assert ranked(z, 4, 18).most.tolist() == [0, 2, 4, 7]
    assert ranked(z, 4, 18).threshold == 0 and ranked(z, 4, 19).threshold == 1
    assert ranked(torch.zeros(6, 2), 3, 36).most.tolist() == [0, 1, 2]


def test_draws_are_uniform_over_the_least_similar_pairs() -> None:
    z = rows(12, 4)
    least = 60
    threshold = ranked(z, 1, least).threshold
    drawn = least_similar(z, threshold, 12_000, torch.Generator().manual_seed(0))
    counts = np.bincount(drawn.numpy(), minlength=144)
    allowed = ((z @ z.T) <= threshold + 1e-7).flatten().numpy()
    assert allowed.sum() == least and not counts[~allowed].any()
    assert counts[allowed].min() > 130 and counts[allowed].max() < 275  # 200 expected
    assert least_similar(z, threshold, 0, torch.Generator()).numel() == 0


def test_rows_without_direction_are_drawn_too() -> None:
    assert len(least_similar(torch.zeros(5, 3), 0.0, 9, torch.Generator().manual_seed(0))) == 9


def test_a_threshold_below_every_product_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def above(z: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        calls.append(len(one))
        return torch.full((len(one),), 1.0 + 5e-6)

    monkeypatch.setattr(pair_ranking, "pair_products", above)
    assert len(least_similar(rows(6, 2), 1.0, 9, torch.Generator().manual_seed(0))) == 9
    assert (
        len(calls) == 3 * pair_ranking.EMPTY + 1
    )  # slack of 1, 2 and 4 times the rounding were too little


def test_products_in_pieces_are_those_of_whole_rows() -> None:
    z = rows(50, 900)
    one, other = torch.randint(
        50, (2, 3 * (CACHED_ENTRIES // 900) + 7), generator=torch.Generator().manual_seed(1)
    )
    assert torch.equal(pair_products(z, one, other), (z[one] * z[other]).sum(dim=1))
    wide = torch.ones(2, CACHED_ENTRIES + 1)  # a piece is one pair where a row is larger than it
    assert (
        pair_products(wide, torch.tensor([0, 1]), torch.tensor([1, 1])).tolist()
        == [CACHED_ENTRIES + 1] * 2
    )
    assert pair_products(z, one[:0], other[:0]).shape == (0,)
