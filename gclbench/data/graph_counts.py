"""Counts of a graph: what `gclbench show dataset=NAME` prints of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gclbench.graph import Graph, is_sparse


def degree(graph: Graph) -> Tensor:
    """Number of edges at each node (N), int64; parallel edges count each."""
    return torch.bincount(graph.edge_index[0], minlength=graph.num_nodes)


def distinct_pairs(graph: Graph) -> int:
    """Number of unordered pairs of nodes with an edge."""
    entries = graph.edge_index
    # Entries are sorted, so equal ones stand side by side.
    return (entries.shape[1] - int((entries[:, 1:] == entries[:, :-1]).all(dim=0).sum())) // 2


def describe_graph(graph: Graph) -> dict[str, Any]:
    """Counts of a graph as plain values.

    `graphs` (of a collection; absent for a single graph), `nodes`, `edges`, `pairs` (of nodes that
    the edges join; absent where no edges are parallel), `features`, `entries` (of features that
    are stored sparse; absent where they are dense), `classes` (0 without labels), `class_sizes`
    (items of each class, a list), `unlabelled` (items without a label), `isolated` (nodes without
    an edge), `mean_degree`, `max_degree`, `weights` (the least and the largest of an edge; absent
    where edges have none).
    """
    degrees, weight = degree(graph), graph.edge_weight
    labelled = graph.y[graph.y >= 0] if graph.y is not None else torch.empty(0, dtype=torch.long)
    edges, pairs = graph.edge_index.shape[1] // 2, distinct_pairs(graph)
    sizes = torch.bincount(labelled).tolist() if labelled.numel() else []
    return {
        **({"graphs": graph.items} if graph.item_kind == "graphs" else {}),
        "nodes": graph.num_nodes,
        "edges": edges,
        **({"pairs": pairs} if pairs < edges else {}),
        "features": graph.x.shape[1],
        **({"entries": len(graph.x.values())} if is_sparse(graph.x) else {}),
        "classes": len(sizes),
        "class_sizes": sizes,
        "unlabelled": graph.items - labelled.numel(),
        "isolated": int((degrees == 0).sum()),
        "mean_degree": float(degrees.double().mean()),
        "max_degree": int(degrees.max()),
        **({} if weight is None else {"weights": [float(weight.min()), float(weight.max())]}),
    }
