"""Shares in mixtures: against plain loops, in blocks, for nodes without candidates."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.negatives.shares import AmongAll, AmongNeighbours, Neighbourhoods

NODES = 7
# Node 6 has no neighbour.
EDGES = torch.tensor([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5)]).T
EDGE_INDEX = torch.cat([EDGES, EDGES.flip(0)], dim=1)
NEIGHBOURS = {i: sorted(int(b) for a, b in EDGE_INDEX.T if int(a) == i) for i in range(NODES)}


def unit(seed: int, count: int = NODES, width: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(count, width, generator=generator, dtype=torch.float64), dim=1)


def plain_shares(
    scores: Tensor, candidates: dict[int, list[int]], own: float | None, best_only: bool
) -> Tensor:
    """λ by loops; `candidates` are each anchor's without itself."""
    rows = torch.zeros(NODES, NODES, dtype=torch.float64)
    for i in range(NODES):
        chosen = candidates[i]
        if best_only and chosen:
            chosen = [max(chosen, key=lambda j: (float(scores[i, j]), -j))]
        if own is None:
            chosen = sorted([*chosen, i])
        total = sum(math.exp(scores[i, j]) for j in chosen)
        for j in chosen:
            rows[i, j] = math.exp(scores[i, j]) / total * (1 if own is None else 1 - own)
        if own is not None:
            rows[i, i] = own if chosen else 1.0
    return rows


CASES = [(None, False), (0.2, False), (0.0, False), (0.5, True)]


@pytest.mark.parametrize("own,best_only", CASES)
def test_shares_among_neighbours(own: float | None, best_only: bool) -> None:
    scores = unit(0) @ unit(1).T
    near = Neighbourhoods(EDGE_INDEX, NODES)
    shares = AmongNeighbours(
        near, lambda chosen: scores[near.anchor[chosen], near.other[chosen]], own, best_only
    )
    expected = plain_shares(scores, NEIGHBOURS, own, best_only)
    assert torch.allclose(shares.rows(0, NODES), expected, rtol=0, atol=1e-12)
    assert torch.allclose(shares.rows(2, 5), expected[2:5], rtol=0, atol=1e-12)
    z = unit(2)
    for block in (None, 1, 3, NODES):
        assert torch.allclose(shares.mixture(z, block), expected @ z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("own,best_only", CASES)
@pytest.mark.parametrize("threshold", [None, 0.3, 0.999])
def test_shares_among_all(own: float | None, best_only: bool, threshold: float | None) -> None:
    scores = unit(0) @ unit(1).T
    allowed: Callable[[int, int], Tensor] | None = None
    candidates = {i: [j for j in range(NODES) if j != i] for i in range(NODES)}
    if threshold is not None:
        limit = threshold
        allowed = lambda start, stop: scores[start:stop] >= limit  # noqa: E731
        candidates = {
            i: [j for j in others if scores[i, j] >= limit] for i, others in candidates.items()
        }
        assert threshold < 0.9 or any(not others for others in candidates.values())
    shares = AmongAll(NODES, lambda start, stop: scores[start:stop], own, allowed, best_only)
    expected = plain_shares(scores, candidates, own, best_only)
    assert torch.allclose(shares.rows(0, NODES), expected, rtol=0, atol=1e-12)
    z = unit(2)
    for block in (None, 1, 3, NODES):
        assert torch.allclose(shares.mixture(z, block), expected @ z, rtol=0, atol=1e-12)


def test_equal_scores_mix_the_lowest_number_alone() -> None:
    same = torch.zeros(NODES, NODES, dtype=torch.float64)
    near = Neighbourhoods(EDGE_INDEX, NODES)
    sparse = AmongNeighbours(
        near, lambda chosen: same[0, 0].expand(len(near))[chosen], 0.5, best_only=True
    ).rows(0, NODES)
    dense = AmongAll(NODES, lambda start, stop: same[start:stop], 0.5, best_only=True).rows(
        0, NODES
    )
    assert sparse[2].tolist() == [0.5, 0, 0.5, 0, 0, 0, 0]
    assert dense[2].tolist() == [0.5, 0, 0.5, 0, 0, 0, 0]


@pytest.mark.parametrize("block", [None, 2])
def test_gradients_reach_the_embeddings_and_the_scores(block: int | None) -> None:
    near = Neighbourhoods(EDGE_INDEX, NODES)

    def sparse(z: Tensor, q: Tensor) -> Tensor:
        return AmongNeighbours(
            near, lambda chosen: (q[near.anchor[chosen]] * z[near.other[chosen]]).sum(dim=1), 0.2
        ).mixture(z, block)

    def dense(z: Tensor, q: Tensor) -> Tensor:
        return AmongAll(NODES, lambda start, stop: q[start:stop] @ z.T, 0.2).mixture(z, block)

    z, q = unit(3).requires_grad_(), unit(4).requires_grad_()
    assert torch.autograd.gradcheck(sparse, (z, q))
    assert torch.autograd.gradcheck(dense, (z, q))
