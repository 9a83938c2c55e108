"""Unordered node pairs as whole numbers, so that pairs can be drawn and looked up as numbers.

Pair {u, v} with u < v has the number v·(v−1)/2 + u: the pairs of the first n nodes are 0 …
n·(n−1)/2 − 1.
"""

from __future__ import annotations

import numpy as np


def number_of_pairs(nodes: int) -> int:
    """How many unordered pairs `nodes` nodes have."""
    return nodes * (nodes - 1) // 2


def pair_number(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The numbers of the pairs {u, v} (arrays of one shape, int64, u ≠ v)."""
    low, high = np.minimum(u, v), np.maximum(u, v)
    return high * (high - 1) // 2 + low


def pair_of(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (u, v), u < v, with the given numbers (int64); exact for numbers below 2⁶¹."""
    number = np.asarray(number, dtype=np.int64)
    high = ((1.0 + np.sqrt(1.0 + 8.0 * number.astype(np.float64))) / 2.0).astype(np.int64)
    # The square root may be off by one in the last place.
    high -= high * (high - 1) // 2 > number
    high += (high + 1) * high // 2 <= number
    return number - high * (high - 1) // 2, high


def draw_distinct(rng: np.random.Generator, population: int, size: int) -> np.ndarray:
    """`size` different numbers out of 0 … population−1, uniform and in random order (int64)."""
    return rng.choice(population, size=size, replace=False).astype(np.int64, copy=False)


class NonEdges:
    """The pairs of different nodes that are no edges of a graph, to draw from.

    Args:
        edge_index: edges in one direction or both (2×E), without self-loops; parallel ones are one
            pair. nodes: N.

    Attributes:
        edges: the numbers of the pairs that are edges, ascending. count: how many pairs are none.
    """

    def __init__(self, edge_index: np.ndarray, nodes: int):
        edges = np.asarray(edge_index, dtype=np.int64)
        self.edges = np.unique(pair_number(edges[0], edges[1]))
        self.count = number_of_pairs(nodes) - self.edges.size

    def numbers(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """The numbers of `size` different ones, uniform and in random order (int64)."""
        # The r-th non-edge has number r + (how many edges come before it); edge i has edges[i] − i
        # non-edges before it.
        rank = draw_distinct(rng, self.count, size)
        before = self.edges - np.arange(self.edges.size)
        return rank + np.searchsorted(before, rank, side="right")

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """`size` different ones (2×size), the smaller id first."""
        return np.stack(pair_of(self.numbers(rng, size)))
