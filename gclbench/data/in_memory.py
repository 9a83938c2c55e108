"""A graph, or a collection of them, that is in memory already: of torch_geometric, of networkx, or
ours."""

from __future__ import annotations

import sys
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from torch import Tensor, as_tensor

from gclbench.data.file_format import WITHOUT
from gclbench.graph import MASKS, Graph, GraphError, make_graph, without_weights
from gclbench.graph.carrier import Data, batch_class, dataset_class

KINDS = (
    "a torch_geometric Data with x and edge_index, a list or dataset of them (a collection of"
    " graphs), a networkx graph whose nodes have an attribute 'x', or a graph of gclbench.load"
)


def is_collection(value: Any) -> bool:
    """Whether an object is several graphs: a list, a dataset or a `Batch` of torch_geometric's, a
    Data that says in `batch` which graph each node is of, or ours."""
    ours = getattr(value, "item_kind", "nodes") == "graphs"
    return ours or _is_list(value) or (isinstance(value, Data) and "batch" in value)


ARRAYS = ("x", "edge_index", "edge_attr", *MASKS)
"""What of a Data may be a NumPy array; labels and `edge_weight` may be so anyway."""


def _is_list(value: Any) -> bool:
    """Whether its graphs can be taken one by one."""
    return isinstance(value, (list, tuple, dataset_class(), batch_class()))


def graph_of(
    value: Any, name: str = "graph", weights: str = "use", direction: str = "undirected"
) -> Graph:
    """The graph of an object, checked and repaired as one of a file is.

    A networkx graph has its features in the node attribute `x` (numbers, or one) and its classes,
    where there are any, in `y`. Its nodes are numbered in the order in which it lists them. The
    weights of edges are its edge attribute `weight`, 1 where an edge has none; those of a Data are
    its `edge_weight`, or its `edge_attr` where that is one number for each edge. A list, a
    dataset or a `Batch` of Data is a collection, whose graphs have a class each in `y`.

    Args:
        value: a graph of torch_geometric, of networkx, or ours, which is returned as it is.
        name: of the graph.
        weights: whether to `use` the weights of edges or to `ignore` them.
        direction: whether directed edges are made `undirected`, which is told, or `refuse`d.

    Raises:
        GraphError: for anything else, and for a graph that cannot be used; the text says what was
            found and what is expected.
    """
    ignored = weights == "ignore"
    if isinstance(value, Graph):
        return without_weights(value) if ignored else value
    if _is_list(value):
        return _of_data(_batch(_several(value, name), name), name, ignored, direction)
    if isinstance(value, Data):
        return _of_data(value, name, ignored, direction)
    # Who has a graph of networkx has imported networkx.
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(value, networkx.Graph):
        return _of_networkx(value, name, ignored, direction)
    raise GraphError(f"graph is of type {type(value).__name__}; it must be {KINDS}")


OF_A_GRAPH = ("x", "edge_index", "edge_weight", "edge_attr", "y")
"""What is read of each graph of a collection."""


def _several(value: Any, name: str) -> list[Any]:
    """The graphs of a list, a dataset or a `Batch`."""
    if not isinstance(value, batch_class()):
        return list(value)
    try:
        found: list[Any] = value.to_data_list()
    except RuntimeError as error:
        raise GraphError(
            f"graph '{name}': the Batch does not know its graphs ({error}); give a list of Data, or"
            " a Batch of Batch.from_data_list"
        ) from error
    return found


def _batch(graphs: list[Any], name: str) -> Data:
    """One block-diagonal Data of several."""
    if not graphs:
        raise GraphError(f"graph '{name}': the list holds no graph")
    for place, graph in enumerate(graphs):
        if not isinstance(graph, Data) or isinstance(graph, batch_class()):
            raise GraphError(
                f"graph '{name}': item {place} of the list is of type {type(graph).__name__}; a"
                " collection is a list of torch_geometric's Data, each with x and edge_index"
            )
    graphs = [_with_tensors(graph, name) for graph in graphs]
    labels = graphs[0].get("y") if len(graphs) == 1 else None
    if isinstance(labels, Tensor) and labels.numel() == graphs[0].num_nodes > 1:
        raise GraphError(
            f"graph '{name}': this is a collection of one graph, whose y has a label for each of"
            f" its {labels.numel()} nodes; give the graph itself, as in graph=dataset[0]"
        )
    for place, graph in enumerate(graphs):
        x = graph.get("x")
        if not isinstance(x, Tensor) or x.dim() != 2 or not len(x):
            raise GraphError(
                f"graph '{name}': graph {place} of the collection has no x, a tensor of nodes ×"
                " features with a node or more; set its data.x, or leave the graph out"
            )
    for key in OF_A_GRAPH[1:]:
        without = [place for place, graph in enumerate(graphs) if graph.get(key) is None]
        if 0 < len(without) < len(graphs):
            hint = "; −1 stands for no label" if key == "y" else ""
            raise GraphError(
                f"graph '{name}': {len(without)} of {len(graphs)} graphs have no {key}, graph"
                f" {without[0]} the first; give it to all or to none{hint}"
            )
    parts = [
        Data(**{key: graph[key] for key in OF_A_GRAPH if graph.get(key) is not None})
        for graph in graphs
    ]
    try:
        found: Data = batch_class().from_data_list(parts)
    except (RuntimeError, KeyError, TypeError) as error:
        raise GraphError(
            f"graph '{name}': the {len(graphs)} graphs cannot be put into one collection ({error});"
            " each must have features and attributes of the same width"
        ) from error
    return found


def _of_data(data: Data, name: str, ignored: bool, direction: str) -> Graph:
    data = _with_tensors(data, name)
    for key, what in (("x", "features, nodes × features"), ("edge_index", "node pairs, 2 × edges")):
        if not (isinstance(data.get(key), Tensor) or (key == "x" and issparse(data.get(key)))):
            raise GraphError(f"graph '{name}': the Data has no {key} ({what}); set data.{key}")
    labels = data.get("y")
    if isinstance(labels, Tensor) and labels.dim() == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    masks = {key: data[key] for key in MASKS if isinstance(data.get(key), Tensor)}
    if masks and len(masks) < len(MASKS):
        raise GraphError(
            f"graph '{name}': the Data has {', '.join(masks)} only; give all of {', '.join(MASKS)}"
            " or none"
        )
    weight, notes = _weight_of(data)
    if weight is not None and ignored:
        weight, notes = None, [*notes, WITHOUT]
    return make_graph(
        data.x.detach().cpu() if isinstance(data.x, Tensor) else data.x,
        data.edge_index.detach().cpu(),
        labels,
        name,
        graph_of=data.get("batch"),
        masks=masks or None,
        repairs=notes,
        edge_weight=weight,
        directed=direction,
    )


def _with_tensors(data: Data, name: str) -> Data:
    """The same Data with tensors where it has NumPy arrays.

    Raises:
        GraphError: for an array that torch has no numbers for.
    """
    arrays = {key: data[key] for key in ARRAYS if isinstance(data.get(key), np.ndarray)}
    if not arrays:
        return data
    found = copy(data)
    for key, array in arrays.items():
        try:
            # Of a copy: torch shares no memory that may not be written, or that runs backwards.
            found[key] = as_tensor(array.copy())
        except (TypeError, ValueError) as error:
            raise GraphError(
                f"graph '{name}': {key} is an array of {array.dtype}, which torch has no numbers"
                f" for; set data.{key} to an array of float32 or int64"
            ) from error
    return found


def _weight_of(data: Data) -> tuple[Any, list[str]]:
    """The weight of each edge of a Data, None where it has none; and what is not used of it."""
    weight, attributes = data.get("edge_weight"), data.get("edge_attr")
    if weight is not None or attributes is None:
        return weight, [] if attributes is None else ["edge_attr is not used: edge_weight is."]
    if isinstance(attributes, Tensor) and attributes.numel() == data.edge_index.shape[1]:
        return attributes.reshape(-1), ["edge_attr is taken for the edges' weights."]
    shape = tuple(getattr(attributes, "shape", ()))
    return None, [f"edge_attr is not used: its shape is {shape}, and a weight is one number."]


def _of_networkx(graph: Any, name: str, ignored: bool, direction: str) -> Graph:
    places = {node: place for place, node in enumerate(graph.nodes)}
    rows = {node: values["x"] for node, values in graph.nodes(data=True) if "x" in values}
    lacking = [node for node in places if node not in rows]
    if lacking or not places:
        count = f"{len(lacking)} of {len(places)} nodes have"
        first = f", {lacking[0]!r} the first" if lacking else ""
        raise GraphError(
            f"graph '{name}': {count} no attribute 'x', their features{first};"
            " networkx.set_node_attributes(graph, {node: [0.5, 1.0], …}, 'x') sets them"
        )
    widths = {node: np.atleast_1d(np.asarray(row)).shape for node, row in rows.items()}
    usual = next(iter(widths.values()))
    odd = next((node for node, shape in widths.items() if shape != usual), None)
    if odd is not None or len(usual) != 1:
        node = next(iter(widths)) if odd is None else odd
        raise GraphError(
            f"graph '{name}': the features of node {node!r} have shape {widths[node]}; every node"
            f" must have as many numbers{'' if odd is None else f' as the first one, {usual[0]}'}"
        )
    features = np.stack([np.atleast_1d(np.asarray(row)) for row in rows.values()])
    classes = [values.get("y", -1) for _, values in graph.nodes(data=True)]
    pairs = [(places[u], places[v]) for u, v in graph.edges()]
    weighted = any("weight" in values for _, _, values in graph.edges(data=True))
    weights = [weight for _, _, weight in graph.edges(data="weight", default=1.0)]
    return make_graph(
        features,
        np.array(pairs, dtype=np.int64).reshape(-1, 2).T,
        np.array(classes) if any("y" in values for _, values in graph.nodes(data=True)) else None,
        name,
        undirected=not graph.is_directed(),
        repairs=[WITHOUT] if weighted and ignored else (),
        edge_weight=np.array(weights) if weighted and not ignored else None,
        directed=direction,
    )
