"""The most and the least similar of all N² pairs of rows, without an N×N matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

TILE_ENTRIES = 1 << 22
"""Cosines held at a time: 16 MiB in float32."""

CACHED_ENTRIES = 1 << 16
"""Entries of rows a CPU multiplies at a time: 256 KiB in float32, so that the products never leave
its cache."""

HALF = 1 << 16

ROUNDING = 1e-6
"""Two ways of computing the same cosine in float32 may differ by so much, and in long rows by
more."""

EMPTY = 8
"""Draws in a row without a pair at most as similar as the threshold, after which twice the rounding
is allowed."""


@dataclass(frozen=True)
class Ranked:
    """The ends of the ranking.

    Attributes:
        most: ids i·N + j of the most similar ordered pairs, ascending; of pairs equal at the
            threshold, those with the lowest ids.
        threshold: the largest cosine among the least similar pairs.
    """

    most: Tensor
    threshold: float


def ranked(z: Tensor, most: int, least: int) -> Ranked:
    """The `most` most similar of the N² ordered pairs (i, j), i = j included, and the threshold of
    the `least` least similar ones.

    Exact: a first pass over all cosines counts the upper 16 bits of their ordered float32 patterns,
    a second one the lower 16 bits of those at the two thresholds, a third collects. O(N·(block +
    d)) memory.

    Args:
        z: N×d rows of length 1 (or 0). most, least: from 1 to N².
    """
    nodes = len(z)
    upper = torch.zeros(HALF, dtype=torch.int64, device=z.device)
    for _, keys in _tiles(z):
        upper += torch.bincount((keys >> 16) + HALF // 2, minlength=HALF)
    # The m-th largest is the (N² − m + 1)-th smallest.
    ranks = (nodes * nodes - most + 1, least)
    places = [_place(upper, rank) for rank in ranks]
    lower = torch.zeros(2, HALF, dtype=torch.int64, device=z.device)
    for _, keys in _tiles(z):
        high = (keys >> 16) + HALF // 2
        for index, (bucket, _) in enumerate(places):
            lower[index] += torch.bincount(keys[high == bucket] & (HALF - 1), minlength=HALF)
    ends = []
    for counts, (bucket, before), rank in zip(lower, places, ranks, strict=True):
        low, within = _place(counts, rank - before)
        ends.append((((bucket - HALF // 2) << 16) | low, before + within, int(counts[low])))
    (top, smaller, equal), (bottom, _, _) = ends
    ties = most - (nodes * nodes - smaller - equal)
    chosen = []
    for first, keys in _tiles(z):
        above = (keys > top).nonzero()[:, 0]
        at = (keys == top).nonzero()[:ties, 0] if ties else above[:0]
        ties -= len(at)
        chosen.append(first + torch.cat([above, at]).sort().values)
    return Ranked(
        torch.cat(chosen),
        float(_ordered(torch.tensor(bottom, dtype=torch.int32)).view(torch.float32)),
    )


def least_similar(z: Tensor, threshold: float, count: int, generator: torch.Generator) -> Tensor:
    """Ids of `count` pairs drawn uniformly, with replacement, from those whose cosine is at most
    the threshold.

    Pairs are drawn from all and rejected, so nothing is stored; as many as `ranked` was asked for
    are accepted on average.

    Args:
        z, threshold: as in `ranked`. generator: on the CPU.
    """
    nodes, kept, missing, slack, empty = len(z), [], count, ROUNDING, 0
    at_once = max(1, 4 * TILE_ENTRIES // max(1, z.shape[1]))
    while missing > 0:
        ids = torch.randint(
            nodes * nodes, (min(at_once, 2 * missing + 16),), generator=generator
        ).to(z.device)
        kept.append(ids[pair_products(z, ids // nodes, ids % nodes) <= threshold + slack][:missing])
        missing -= len(kept[-1])
        empty = 0 if len(kept[-1]) else empty + 1
        if empty == EMPTY:
            # All pairs are equally similar, and rounding puts the threshold below them: without
            # more slack this would never end.
            slack, empty = 2 * slack, 0
    return torch.cat(kept) if kept else torch.zeros(0, dtype=torch.int64, device=z.device)


def pair_products(z: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """z_i · z_j of listed pairs (P) of rows of z (N×d).

    Not differentiable. P×d entries are never held at once.
    """
    at_once = max(
        1, (CACHED_ENTRIES if z.device.type == "cpu" else 4 * TILE_ENTRIES) // max(1, z.shape[1])
    )
    products = z.new_empty(len(one))
    for left, right, out in zip(
        one.split(at_once), other.split(at_once), products.split(at_once), strict=True
    ):
        torch.sum(z.index_select(0, left).mul_(z.index_select(0, right)), dim=1, out=out)
    return products


def _tiles(z: Tensor) -> Iterator[tuple[int, Tensor]]:
    """For blocks of rows, the id of the first pair and the ordered patterns of all its cosines,
    flat."""
    rows = max(1, TILE_ENTRIES // len(z))
    columns = z.T
    for start in range(0, len(z), rows):
        yield (
            start * len(z),
            _ordered((z[start : start + rows] @ columns).reshape(-1).view(torch.int32)),
        )


def _ordered(bits: Tensor) -> Tensor:
    """float32 patterns as integers in the order of the numbers, and back: below zero, all bits but
    the sign are turned over."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


def _place(counts: Tensor, rank: int) -> tuple[int, int]:
    """The bucket that holds the rank-th smallest (from 1) and how many lie in buckets below it."""
    sums = counts.cumsum(dim=0)
    bucket = int(torch.searchsorted(sums, rank))
    return bucket, int(sums[bucket] - counts[bucket])
