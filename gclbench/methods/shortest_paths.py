"""Shortest paths of a collection's graphs, counted by their ends and lengths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import shortest_path

from gclbench.graph.carrier import Data
from gclbench.methods.node_labels import node_labels

ENTRIES = 2**22
"""Pairs of nodes whose paths are found at once: 32 MiB of lengths."""


def common_paths(graph: Data) -> np.ndarray:
    """The shortest path kernel (Borgwardt & Kriegel, ICDM 2005) of G graphs (G×G).

    A pair of shortest paths, one of either graph, counts where both have the same label at their
    start, the same at their end, and the same length in edges.
    """
    member = graph.graph_of.cpu().numpy()
    sizes = np.bincount(member, minlength=graph.items)
    labels = node_labels(graph)
    found = [
        _counted(adjacency, own, int(labels.max()) + 1, int(sizes.max()))
        for adjacency, own in _labelled(graph, labels, sizes)
    ]
    kinds, kind = np.unique(np.concatenate([kinds for kinds, _ in found]), return_inverse=True)
    rows = np.repeat(np.arange(graph.items), [len(kinds) for kinds, _ in found])
    counts = np.concatenate([counts for _, counts in found]).astype(float)
    paths = scipy.sparse.coo_matrix((counts, (rows, kind)), shape=(graph.items, len(kinds))).tocsr()
    product: np.ndarray = (paths @ paths.T).toarray()
    return product


def _labelled(
    graph: Data, labels: np.ndarray, sizes: np.ndarray
) -> Iterator[tuple[scipy.sparse.csr_matrix, np.ndarray]]:
    """The adjacency of each graph, and the labels of its nodes."""
    edges = graph.edge_index.cpu().numpy()
    nodes = np.concatenate([[0], sizes.cumsum()])
    entries = np.searchsorted(edges[0], nodes)
    for number, size in enumerate(sizes):
        first, last = nodes[number : number + 2]
        own = edges[:, entries[number] : entries[number + 1]] - first
        ones = np.ones(own.shape[1])
        yield scipy.sparse.csr_matrix((ones, tuple(own)), shape=(size, size)), labels[first:last]


def _counted(
    adjacency: scipy.sparse.csr_matrix, labels: np.ndarray, kinds: int, longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """The kinds of shortest paths of a graph, as numbers in ascending order, and how many it has of
    each.

    Args:
        kinds: above any label in any graph. longest: above the length of any path in any graph.
    """
    size = len(labels)
    rows = max(1, ENTRIES // size)
    kept = []
    for first in range(0, size, rows):
        starts = np.arange(first, min(first + rows, size))
        lengths = shortest_path(adjacency, method="D", unweighted=True, indices=starts)
        start, end = np.nonzero(np.isfinite(lengths) & (lengths > 0))
        ends = (labels[starts[start]] * kinds + labels[end]) * longest
        kept.append(np.unique(ends + lengths[start, end].astype(np.int64), return_counts=True))
    found, place = np.unique(np.concatenate([each for each, _ in kept]), return_inverse=True)
    counts = np.concatenate([counts for _, counts in kept])
    return found, np.bincount(place, counts, minlength=len(found)).astype(np.int64)
