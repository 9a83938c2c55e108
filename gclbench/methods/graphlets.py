"""Graphlets of a collection's graphs, drawn at random and counted by their shape."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from gclbench.graph.carrier import Data

SMALLEST = 3
"""Nodes of the smallest graphlets; a graph of fewer nodes is its own."""


def common_graphlets(graph: Data, largest: int, samples: int, seed: int) -> np.ndarray:
    """The graphlet kernel (Shervashidze et al., AISTATS 2009) of G graphs (G×G), from samples.

    A sample is a number of nodes, 3 to `largest`, all as likely, and then so many nodes of the
    graph, all sets as likely. It counts for the shape of the sub-graph among them, connected or
    not; labels are not read. Draws and counts are those of GraKeL, to the bit.

    Args:
        samples: of each graph.
    """
    rng = np.random.RandomState(seed)
    shapes = _shapes(largest)
    counts = np.zeros((graph.items, (largest + 1) * (int(shapes.max()) + 1)))
    for number, adjacency in enumerate(_adjacencies(graph)):
        chosen, sizes = _drawn(len(adjacency) - 1, largest, samples, rng)
        kinds = sizes * (int(shapes.max()) + 1) + shapes[_codes(adjacency, chosen)]
        counts[number] = np.bincount(kinds, minlength=counts.shape[1])
    # GraKeL counts a shape once too often in a graph that is not the first to have it.
    found = counts > 0
    counts += found & (found.cumsum(axis=0) > 1)
    product: np.ndarray = counts @ counts.T
    return product


def _adjacencies(graph: Data) -> Iterator[np.ndarray]:
    """The adjacency of each graph ((n+1)×(n+1)), the last node isolated."""
    member, edges = graph.graph_of.cpu().numpy(), graph.edge_index.cpu().numpy()
    nodes = np.searchsorted(member, np.arange(graph.items + 1))
    entries = np.searchsorted(edges[0], nodes)
    for number in range(graph.items):
        first, last = nodes[number : number + 2]
        adjacency = np.zeros((last - first + 1, last - first + 1), dtype=bool)
        adjacency[tuple(edges[:, entries[number] : entries[number + 1]] - first)] = True
        yield adjacency


def _drawn(
    nodes: int, largest: int, samples: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of each sample (samples×largest), filled up with the isolated node, and how many
    there are (samples)."""
    least, most = min(SMALLEST, nodes), min(largest, nodes)
    chosen = np.full((samples, largest), nodes)
    sizes = np.full(samples, most)
    for row in range(samples):
        if least < most:
            sizes[row] = rng.randint(least, most + 1)
        chosen[row, : sizes[row]] = rng.permutation(nodes)[: sizes[row]]
    return chosen, sizes


def _codes(adjacency: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The sub-graphs among chosen nodes as numbers: a bit for each pair, set where it is joined."""
    codes = np.zeros(len(chosen), dtype=np.int64)
    for bit, (u, v) in enumerate(itertools.combinations(range(chosen.shape[1]), 2)):
        codes |= adjacency[chosen[:, u], chosen[:, v]].astype(np.int64) << bit
    return codes


def _shapes(nodes: int) -> np.ndarray:
    """The shape of every graph of so many nodes, by its code: numbers that are the same for graphs
    that a renumbering of their nodes takes into one another."""
    pairs = list(itertools.combinations(range(nodes), 2))
    codes = np.arange(1 << len(pairs))
    least = codes.copy()
    for order in itertools.permutations(range(nodes)):
        moved = np.zeros_like(codes)
        for bit, (u, v) in enumerate(pairs):
            to = pairs.index((min(order[u], order[v]), max(order[u], order[v])))
            moved |= (codes >> bit & 1) << to
        np.minimum(least, moved, out=least)
    shapes: np.ndarray = np.unique(least, return_inverse=True)[1]
    return shapes
