"""Discrete labels of nodes, for methods that compare graphs by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gclbench.graph.carrier import Data


def node_labels(graph: Data) -> np.ndarray:
    """The label of each node (N): equal rows of features have equal labels, others have others.

    Features are labels where all entries are 0 or 1 and all rows have the same number of
    ones, not none: one-hot labels, several of them side by side, or labels beside one-hot degrees.
    The label of a one-hot row is its column. Any other features are no labels, and all nodes have
    label 0: real numbers, counts, bags of words of different lengths, rows of zeros.
    """
    x = graph.x
    ones = x.sum(dim=1)
    alike = bool(((x == 0) | (x == 1)).all()) and bool((ones == ones[0]).all())
    each = int(ones[0]) if alike else 0
    if each == 0:
        return np.zeros(len(x), dtype=np.int64)
    # The columns of its ones tell a row.
    columns = x.nonzero()[:, 1].reshape(-1, each).cpu().numpy()
    if each == 1:
        return columns[:, 0]
    labels: np.ndarray = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)
    return labels


def edges_by_labels(graph: Data, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The graph of each undirected edge (E), and the labels at its ends as one number (E)."""
    rows, columns = graph.edge_index.cpu().numpy()
    once = rows < columns
    ends = np.sort(labels[np.stack([rows[once], columns[once]])], axis=0)
    kinds = int(labels.max()) + 1
    return graph.graph_of.cpu().numpy()[rows[once]], ends[0] * kinds + ends[1]


def labelled_graphs(graph: Data, vectors: bool = False) -> list[Any]:
    """The graphs of a collection as GraKeL takes them: neighbours and labels of each node, `[{0:
    {1: 1.0}, 1: {0: 1.0}}, {0: 5, 1: 2}]`.

    Args:
        vectors: node labels are the features themselves, as lists of numbers.
    """
    member, edges = graph.graph_of.cpu().numpy(), graph.edge_index.cpu().numpy()
    nodes = np.searchsorted(member, np.arange(graph.items + 1))
    entries = np.searchsorted(edges[0], nodes)
    labels = graph.x.tolist() if vectors else node_labels(graph).tolist()
    found = []
    for number in range(graph.items):
        first, last = nodes[number : number + 2]
        own = edges[:, entries[number] : entries[number + 1]] - first
        links: dict[int, dict[int, float]] = {node: {} for node in range(last - first)}
        for node, neighbour in zip(*own.tolist(), strict=True):
            links[node][neighbour] = 1.0
        found.append([links, dict(enumerate(labels[first:last]))])
    return found
