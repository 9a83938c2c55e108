"""Shares in mixtures: against plain loops, in blocks, for nodes without candidates."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.blocks import by_blocks
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
        near, lambda chosen, *_: scores[near.anchor[chosen], near.other[chosen]], own, best_only
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
        near, lambda chosen, *_: same[0, 0].expand(len(near))[chosen], 0.5, best_only=True
    ).rows(0, NODES)
    dense = AmongAll(NODES, lambda start, stop: same[start:stop], 0.5, best_only=True).rows(
        0, NODES
    )
    assert sparse[2].tolist() == [0.5, 0, 0.5, 0, 0, 0, 0]
    assert dense[2].tolist() == [0.5, 0, 0.5, 0, 0, 0, 0]


@pytest.mark.parametrize("block", [None, 2])
def test_gradients_reach_the_embeddings_and_the_scores(block: int | None) -> None:
    near = Neighbourhoods(EDGE_INDEX, NODES)

    def products(_: slice, anchor: Tensor, other: Tensor, q: Tensor, z: Tensor) -> Tensor:
        return (q[anchor] * z[other]).sum(dim=1)

    def sparse(z: Tensor, q: Tensor) -> Tensor:
        return AmongNeighbours(near, products, 0.2, compared=(q, z)).mixture(z, block)

    def dense(z: Tensor, q: Tensor) -> Tensor:
        return AmongAll(NODES, lambda start, stop: q[start:stop] @ z.T, 0.2).mixture(z, block)

    z, q = unit(3).requires_grad_(), unit(4).requires_grad_()
    assert torch.autograd.gradcheck(sparse, (z, q))
    assert torch.autograd.gradcheck(dense, (z, q))


@pytest.mark.parametrize("size", [1, 2, 3, NODES, NODES + 1])
def test_windows_cover_what_their_anchors_read(size: int) -> None:
    windows = Neighbourhoods(EDGE_INDEX, NODES).windows(size)
    assert [row for window in windows for row in range(window.start, window.stop)] == list(
        range(NODES)
    )
    for start, stop, low, high in windows:
        read = {j for i in range(start, stop) for j in [i, *NEIGHBOURS[i]]}
        exact = size < NODES
        assert (low, high) == ((min(read), max(read) + 1) if exact else (0, NODES))


def test_gradients_in_windows_are_those_in_blocks_to_the_last_bit() -> None:
    """Also that of what the scores compare, where a term behind the mixture reads it too."""
    rng = torch.Generator().manual_seed(5)
    nodes = 400
    ends = torch.randint(nodes, (2, 1500), generator=rng)
    ends = torch.stack([ends[0], (ends[0] + ends[1] % 40).clamp(max=nodes - 1)])
    ends = ends[:, ends[0] != ends[1]]
    near = Neighbourhoods(torch.cat([ends, ends.flip(0)], dim=1), nodes)
    rows = [torch.randn(nodes, 8, generator=rng).requires_grad_() for _ in range(3)]
    pull = torch.randn(nodes, 8, generator=rng)

    def products(_: slice, anchor: Tensor, other: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (q.index_select(0, anchor) * k.index_select(0, other)).sum(dim=1)

    def in_windows(z: Tensor, q: Tensor, k: Tensor) -> Tensor:
        shares = AmongNeighbours(near, products, None, compared=(q, k))
        mixed, (q, k) = shares.mixture_and_compared(z, 37)
        return (mixed * pull).sum() + (q * k).square().sum()

    def in_blocks(z: Tensor, q: Tensor, k: Tensor) -> Tensor:
        shares = AmongNeighbours(near, products, None, compared=(q, k))

        def mixed(start: int, stop: int) -> Tensor:
            anchor, other, share = shares.entries(start, stop)
            return z.new_zeros(stop - start, z.shape[1]).index_add(
                0, anchor, share[:, None] * z.index_select(0, other)
            )

        return (by_blocks(mixed, nodes, 37) * pull).sum() + (q * k).square().sum()

    for given in (rows, [rows[0]] * 3, [rows[0], rows[1].detach(), rows[2]]):
        asked = list({id(one): one for one in given if one.requires_grad}.values())
        found, expected = (
            torch.autograd.grad(function(*given), asked) for function in (in_windows, in_blocks)
        )
        assert all(map(torch.equal, found, expected))
