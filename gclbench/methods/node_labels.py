"""Discrete labels of nodes, for methods that compare graphs by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gclbench.graph.carrier import Data


def node_labels(graph: Data) -> np.ndarray:
    """The label of each node (N): the column of its one-hot features; 0 for all nodes where
    features are no labels."""
    x = graph.x
    one_hot = bool(((x == 0) | (x == 1)).all()) and bool((x.sum(dim=1) == 1).all())
    labels: np.ndarray = x.argmax(dim=1).cpu().numpy()
    return labels if one_hot else np.zeros_like(labels)


def edges_by_labels(graph: Data, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The graph of each undirected edge (E), and the labels at its ends as one number (E)."""
    rows, columns = graph.edge_index.cpu().numpy()
    once = rows < columns
    ends = np.sort(labels[np.stack([rows[once], columns[once]])], axis=0)
    kinds = int(labels.max()) + 1
    return graph.graph_of.cpu().numpy()[rows[once]], ends[0] * kinds + ends[1]


def labelled_graphs(graph: Data, vectors: bool = False) -> list[Any]:
    """The graphs of a collection as GraKeL takes them: `[{(0, 1), (1, 0)}, {0: 5, 1: 2}]`.

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
        pairs = set(zip(*own.tolist(), strict=True))
        found.append([pairs, dict(enumerate(labels[first:last]))])
    return found
