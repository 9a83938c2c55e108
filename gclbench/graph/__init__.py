"""The graph that every part of gclbench hands on, and how one is made.

A graph is a PyG `Data` with float32 features, an undirected, loop-free `edge_index`, labels, a
name, a content hash, and the sentences that say what was repaired while it was made. Its entries
are distinct, except in a multigraph, where an edge that counts k times has k entries each way.
`make_graph` is the only way to make one. Bad input is an error there, or a recorded repair.

What is embedded, split and labelled are the graph's items. They are its nodes; or, where
`graph_of` is set, the graphs of a collection. A collection is one block-diagonal graph, so that
filters and sparse products run on it unchanged. A set of images is a graph without edges.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from gclbench.graph.arrays import tensor_of, whole
from gclbench.graph.carrier import Data
from gclbench.graph.digest import digest_of
from gclbench.graph.edges import edges_of
from gclbench.graph.errors import GraphError, Unsupported
from gclbench.graph.features import bytes_of, checked, features_of, is_sparse, told_apart

__all__ = [
    "MASKS",
    "Graph",
    "GraphError",
    "Unsupported",
    "bytes_of",
    "is_sparse",
    "make_graph",
    "with_features",
    "without_labels",
    "without_weights",
]

MASKS = ("train_mask", "val_mask", "test_mask")


class Graph(Data):
    """A PyG `Data` that knows its items and its content hash.

    Attributes:
        x: features (N×F), float32; compressed rows (`torch.sparse_csr`) where a dense matrix would
            be out of proportion (`gclbench.graph.features`).
        edge_index: both directions of every edge (2×E), int64, sorted by row then column. Parallel
            edges are entries of their own, so the matrix that the entries add up to is the
            adjacency matrix: a node's degree is the number of its entries.
        edge_weight: the weight of each entry (E), float32, above 0, the same in both directions;
            absent where all are 1. A node's degree is then the sum of its entries' weights.
        graph_of: the graph that each node belongs to (N), int64, ascending 0…G−1; absent where the
            items are nodes.
        y: class of each item (n), int64, −1 where unknown; or None.
        name: the dataset's name.
        repairs: one sentence per thing that was changed to make the input a graph.
        classes: number of classes, 0 without labels. It is a fact of the dataset and stays where
            the labels are taken away.
        train_mask, val_mask, test_mask: the public split, bool (n) or (n×splits); absent without
            one.
        validation: how well an embedding does on what the task holds out for choices during the
            training (larger is better); only where a method declares that it reads it. No part of
            the content.
    """

    @property
    def item_kind(self) -> str:
        """`graphs` for a collection, else `nodes`."""
        return "graphs" if "graph_of" in self else "nodes"

    @property
    def edges(self) -> tuple[Tensor, ...]:
        """What a layer of torch_geometric is told of the edges: `edge_index`, and `edge_weight`
        where there is one."""
        weight = self.edge_weight
        return (self.edge_index,) if weight is None else (self.edge_index, weight)

    @property
    def items(self) -> int:
        """Number n of items: rows of an embedding, labels, and what a split divides."""
        return int(self.graph_of[-1]) + 1 if "graph_of" in self else int(self.num_nodes)

    @property
    def content_hash(self) -> str:
        """sha256 (hex) over shapes, types and bytes of x, edge_index, y, the masks, graph_of and
        edge_weight, those that there are; computed at first use. It does not depend on how x is
        stored."""
        tensors = [
            (key, getattr(self, key))
            for key in ("x", "edge_index", "y", *MASKS, "graph_of", "edge_weight")
            if isinstance(getattr(self, key, None), Tensor)
        ]
        # Kept only while the very same tensors are there, unchanged: replacing one or writing into
        # one asks for a new hash.
        state = tuple(
            (key, id(tensor), 0 if tensor.is_inference() else tensor._version)
            for key, tensor in tensors
        )
        known = self.__dict__.get("_content_hash")
        if known is None or known[0] != state:
            known = (state, digest_of([(key, told_apart(tensor)) for key, tensor in tensors]))
            self.__dict__["_content_hash"] = known
        return known[1]

    def __setattr__(self, key: str, value: Any) -> None:
        self.__dict__.pop("_content_hash", None)
        super().__setattr__(key, value)


def make_graph(
    x: Any,
    edge_index: Any,
    y: Any,
    name: str,
    *,
    graph_of: Any = None,
    masks: Mapping[str, Any] | None = None,
    repairs: Sequence[str] = (),
    undirected: bool = False,
    multiple: bool = False,
    edge_weight: Any = None,
    directed: str = "undirected",
) -> Graph:
    """A validated graph; the only constructor of one.

    Self-loops and repeated entries are dropped and edges stored in one direction get the other;
    what changed is counted in `repairs`. With `multiple` repeated pairs stay, as parallel edges.
    Isolated nodes are kept. Labels with gaps become 0…k−1 in the same order (recorded). float32
    features, and int64 edges that need no repair, are not copied.

    Args:
        x: features (N×F): tensor, sparse tensor, array or scipy sparse matrix of numbers.
        edge_index: node pairs (2×E) of whole numbers in 0…N−1.
        y: classes (n), whole numbers, −1 for an unlabelled item; or None.
        name: the dataset's name.
        graph_of: for a collection of G graphs, the graph of each node (N): whole numbers in
            ascending order, each of 0…G−1 at least once. The items are then the graphs (n = G);
            without it they are the nodes (n = N).
        masks: `train_mask`, `val_mask`, `test_mask`: bool (n) or (n×splits).
        repairs: sentences about repairs that the caller has already made.
        undirected: each pair given stands for both directions, so that one is not a repair.
        multiple: each pair given is an undirected edge of its own, whatever other pairs there are:
            (u, v) and (v, u), or (u, v) twice, are two parallel edges.
        edge_weight: of each pair (E), a positive number, 0 where it is no edge. Of different
            weights for one pair the largest counts (recorded).
        directed: what becomes of edges stored in one direction, or with another weight in the
            other: `undirected` makes them undirected (recorded), `refuse` is an error.

    Raises:
        GraphError: features not finite or not a matrix, edges out of range or of a wrong shape or
            type, weights that are negative or not finite, a `graph_of` that does not divide the
            nodes or an edge between two of its graphs, labels or masks of a wrong shape or type, a
            split whose parts overlap.
    """
    notes = list(repairs)
    features = features_of(x, name, notes, collection=graph_of is not None)
    count = features.shape[0]
    edges, weights = edges_of(
        edge_index, edge_weight, count, name, notes, undirected, multiple, directed
    )
    weighted = {} if weights is None else {"edge_weight": weights}
    kind, parts = "node", {}
    if graph_of is not None:
        kind, parts = "graph", {"graph_of": _graph_of(graph_of, edges, count, name)}
        count = int(parts["graph_of"][-1]) + 1
    labels = _labels(y, count, name, notes, kind)
    split = _masks(masks or {}, count, name, kind)
    classes = 0 if labels is None else int(labels.max()) + 1
    return Graph(
        x=features,
        edge_index=edges,
        y=labels,
        name=name,
        repairs=tuple(notes),
        classes=classes,
        **weighted,
        **parts,
        **split,
    )


def with_features(graph: Graph, x: Tensor) -> Graph:
    """A shallow copy of the graph with features `x` (N×F'); edges, labels and masks are shared.

    Raises:
        GraphError: when `x` has another number of rows or values that are not finite.
    """
    features = checked(x, graph.name)
    if features.shape[0] != graph.num_nodes:
        raise GraphError(
            f"graph '{graph.name}' has {graph.num_nodes} nodes; the new features have"
            f" {features.shape[0]} rows"
        )
    changed = copy.copy(graph)
    changed.x = features
    return changed


def without_weights(graph: Graph) -> Graph:
    """A shallow copy of the graph whose edges have no weights; the graph itself where they have
    none."""
    if graph.edge_weight is None:
        return graph
    bare = copy.copy(graph)
    del bare.edge_weight
    return bare


def without_labels(graph: Graph) -> Graph:
    """A shallow copy of the graph without labels and without the public split; it still says how
    many classes there are."""
    bare = copy.copy(graph)
    bare.y = None
    for mask in MASKS:
        if mask in bare:
            del bare[mask]
    return bare


def _graph_of(graph_of: Any, edges: Tensor, count: int, name: str) -> Tensor:
    numbers = whole(graph_of, "graph_of", name)
    if numbers.shape != (count,):
        raise GraphError(
            f"graph '{name}': graph_of must have shape ({count},), one for each node,"
            f" not {numbers.shape}"
        )
    steps = np.diff(numbers, prepend=0)
    wrong = (steps != 0) & (steps != 1)
    wrong[0] = numbers[0] != 0
    if wrong.any():
        node = int(wrong.argmax())
        raise GraphError(
            f"graph '{name}': graph_of must number the graphs 0, 1, 2, … in ascending order without"
            f" gaps; the first number that does not fit is graph_of[{node}] = {numbers[node]}. Sort"
            " the nodes by graph and number the graphs that have nodes from 0"
        )
    found = tensor_of(numbers)
    across = (found[edges[0]] != found[edges[1]]).nonzero()
    if len(across):
        u, v = edges[:, int(across[0])].tolist()
        raise GraphError(
            f"graph '{name}': {len(across) // 2} edge(s) join nodes of different graphs, the"
            f" first is ({u}, {v}) between graphs {numbers[u]} and {numbers[v]}; a collection has"
            " edges inside its graphs only"
        )
    return found


def _labels(y: Any, count: int, name: str, notes: list[str], kind: str) -> Tensor | None:
    if y is None:
        return None
    shape = tuple(y.shape) if isinstance(y, Tensor) else np.shape(y)
    if shape != (count,):
        hint = ""
        if len(shape) == 2 and shape[0] == count:
            column = shape[1] == 1
            hint = (
                "; give its column, y[:, 0]" if column else "; for one-hot rows give their argmax"
            )
        raise GraphError(
            f"graph '{name}': labels must have shape ({count},), one for each {kind},"
            f" not {shape}{hint}"
        )
    labels = whole(y, "labels", name)
    if labels.min() < -1:
        raise GraphError(
            f"graph '{name}': a label is {labels.min()}; classes are 0, 1, 2, … and −1 marks a"
            f" {kind} without a label"
        )
    classes = np.unique(labels[labels >= 0])
    if classes.size and classes[-1] != classes.size - 1:
        notes.append(f"Labels {_shown(classes)} renumbered 0…{classes.size - 1} in that order.")
        labels = np.where(labels >= 0, np.searchsorted(classes, labels), -1)
    return tensor_of(labels)


def _shown(values: np.ndarray) -> str:
    words = [str(value) for value in values]
    return ", ".join(words if len(words) <= 8 else [*words[:4], "…", *words[-2:]])


def _masks(masks: Mapping[str, Any], count: int, name: str, kind: str) -> dict[str, Tensor]:
    unknown = sorted(set(masks) - set(MASKS))
    if unknown:
        raise GraphError(
            f"graph '{name}': unknown mask(s) {', '.join(unknown)}; known are {', '.join(MASKS)}"
        )
    made: dict[str, Tensor] = {}
    for key, values in masks.items():
        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
        if array.ndim not in (1, 2) or array.shape[0] != count or array.size == 0:
            raise GraphError(
                f"graph '{name}': {key} must have shape ({count},) or ({count}, splits),"
                f" not {array.shape}"
            )
        if array.dtype.kind not in "biu" or not np.isin(array, (0, 1)).all():
            raise GraphError(
                f"graph '{name}': {key} must hold true and false (or 1 and 0), not other values of"
                f" type {array.dtype}"
            )
        made[key] = tensor_of(array.astype(bool))
    columns = {key: mask if mask.dim() == 2 else mask[:, None] for key, mask in made.items()}
    widths = {mask.shape[1] for mask in columns.values()} - {1}
    if len(widths) > 1:
        raise GraphError(
            f"graph '{name}': the masks hold different numbers of splits: {sorted(widths)}"
        )
    for first, second in itertools.combinations(columns, 2):
        shared = int((columns[first] & columns[second]).any(dim=1).sum())
        if shared:
            raise GraphError(
                f"graph '{name}': {shared} {kind}(s) are in both {first} and {second} of one split"
            )
    return made
