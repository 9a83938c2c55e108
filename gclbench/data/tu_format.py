"""The text format of TUDataset: a collection of graphs in a handful of tables.

| file | lines | what |
|---|---|---|
| `NAME_A.txt` | entries of edges | `i, j`: nodes from 1, within a graph; both directions |
| `NAME_graph_indicator.txt` | nodes | the node's graph, from 1, ascending |
| `NAME_graph_labels.txt` | graphs | its class, any whole number |
| `NAME_node_labels.txt` | nodes | optional: one or more whole numbers |
| `NAME_node_attributes.txt` | nodes | optional: real numbers |

Features are the node labels, one-hot; without them the attributes as they are; without either the
degree, one-hot, where degrees of `MOST_DEGREE` and more share the last column. Every method gets
the same (docs/choices.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from gclbench.graph import Graph, GraphError, make_graph

REQUIRED = ("A", "graph_indicator", "graph_labels")
OPTIONAL = ("node_labels", "node_attributes")

MOST_DEGREE = 64
"""Degrees from this one on share a column: 0.04 % of the nodes of IMDB-BINARY, 0.2 % of
REDDIT-BINARY, whose largest degree is 3062."""


def read_tu(
    name: str, files: Mapping[str, Path | IO[bytes]], known_as: str, repairs: tuple[str, ...] = ()
) -> Graph:
    """The collection of a set's text files; repeated pairs are merged.

    Args:
        name: of the set, as its files have it: `MUTAG`.
        files: by part, `A` and the like; a path may end in `.gz`.
        known_as: the dataset's name in gclbench.

    Raises:
        GraphError: a missing or damaged file, or files that do not fit together; it names the file
            and the line.
    """
    absent = [_file(name, part) for part in REQUIRED if part not in files]
    if absent:
        raise GraphError(
            f"'{name}' has no {' and no '.join(absent)}; a set of TUDataset has at least"
            f" {', '.join(_file(name, part) for part in REQUIRED)}"
        )
    graph_of = _graph_of(name, _column(name, "graph_indicator", files))
    nodes, graphs = len(graph_of), int(graph_of[-1]) + 1
    labels = _column(name, "graph_labels", files)
    if len(labels) < graphs:
        raise GraphError(
            f"{_file(name, 'graph_labels')} has {len(labels)} lines, and there are {graphs} graphs"
            f" in {_file(name, 'graph_indicator')}; each graph needs a label"
        )
    if len(labels) > graphs:
        raise GraphError(
            f"{_file(name, 'graph_labels')} has {len(labels)} lines, and only {graphs} graphs have"
            f" nodes in {_file(name, 'graph_indicator')}; graphs without nodes cannot be embedded:"
            " remove their labels"
        )
    classes, y = np.unique(labels, return_inverse=True)
    notes = list(repairs)
    if not np.array_equal(classes, np.arange(len(classes))):
        ends = f"{classes[0]}…{classes[-1]}"
        notes.append(f"{len(classes)} classes {ends} renumbered 0…{len(classes) - 1} in order.")
    pairs = _pairs(name, files, graph_of)
    graph = make_graph(
        np.ones((nodes, 1), dtype=np.float32),
        pairs,
        y.reshape(-1),
        known_as,
        graph_of=graph_of,
        repairs=notes,
    )
    degrees = np.bincount(graph.edge_index[0].numpy(), minlength=nodes)
    features = _features(name, files, degrees)
    isolated = int((degrees == 0).sum())
    if isolated:
        graph.repairs += (f"{isolated} isolated node(s) kept.",)
    return make_graph(
        features,
        graph.edge_index,
        graph.y,
        known_as,
        graph_of=graph.graph_of,
        repairs=graph.repairs,
    )


def _file(name: str, part: str) -> str:
    return f"{name}_{part}.txt"


def _table(name: str, part: str, files: Mapping[str, Path | IO[bytes]], dtype: type) -> np.ndarray:
    """The numbers of a file, a row for each line.

    Raises:
        GraphError: it is empty, or holds something else than as many numbers in each line.
    """
    import pandas as pd

    kind = "whole numbers" if dtype is np.int64 else "numbers"
    try:
        table = pd.read_csv(
            files[part],
            sep=",",
            header=None,
            skipinitialspace=True,
            dtype=dtype,
            engine="c",
        ).to_numpy()
    except (ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise GraphError(f"{_file(name, part)} is not a table of {kind}: {reason}") from error
    return table


def _column(name: str, part: str, files: Mapping[str, Path | IO[bytes]]) -> np.ndarray:
    table = _table(name, part, files, np.int64)
    if table.shape[1] != 1:
        raise GraphError(
            f"{_file(name, part)} has {table.shape[1]} numbers in a line, and should have one"
        )
    return table[:, 0]


def _graph_of(name: str, indicator: np.ndarray) -> np.ndarray:
    """The graph of each node, from 0.

    Raises:
        GraphError: not ascending from 1 in steps of one.
    """
    steps = np.diff(indicator, prepend=1)
    wrong = (steps != 0) & (steps != 1)
    wrong[0] = indicator[0] != 1
    if wrong.any():
        line = int(wrong.argmax())
        before = f"after {indicator[line - 1]}" if line else "in the first line"
        gap = line > 0 and steps[line] > 1
        why = f"graph {indicator[line - 1] + 1} has no nodes" if gap else "it should ascend from 1"
        raise GraphError(
            f"{_file(name, 'graph_indicator')}, line {line + 1}: graph {indicator[line]} stands"
            f" {before}; {why}. Number the graphs that have nodes 1, 2, 3, … and sort the nodes by"
            " graph"
        )
    return indicator - 1


def _pairs(name: str, files: Mapping[str, Path | IO[bytes]], graph_of: np.ndarray) -> np.ndarray:
    """The entries of edges (2×E), nodes from 0.

    Raises:
        GraphError: nodes that do not exist, or an edge between two graphs.
    """
    pairs = _table(name, "A", files, np.int64)
    if pairs.shape[1] != 2:
        raise GraphError(
            f"{_file(name, 'A')} has {pairs.shape[1]} number(s) in a line, and should have two:"
            " `i, j`"
        )
    outside = ((pairs < 1) | (pairs > len(graph_of))).any(axis=1)
    if outside.any():
        line = int(outside.argmax())
        raise GraphError(
            f"{_file(name, 'A')}, line {line + 1}: the edge {pairs[line, 0]}, {pairs[line, 1]}"
            f" names a node that does not exist ({int(outside.sum())} such lines); nodes are"
            f" 1…{len(graph_of)}, as many as {_file(name, 'graph_indicator')} has lines"
        )
    pairs = pairs.T - 1
    across = graph_of[pairs[0]] != graph_of[pairs[1]]
    if across.any():
        line = int(across.argmax())
        u, v = pairs[:, line]
        raise GraphError(
            f"{_file(name, 'A')}, line {line + 1}: the edge {u + 1}, {v + 1} joins graph"
            f" {graph_of[u] + 1} and graph {graph_of[v] + 1} ({int(across.sum())} such lines); an"
            " edge is inside one graph"
        )
    return pairs


def _features(name: str, files: Mapping[str, Path | IO[bytes]], degrees: np.ndarray) -> np.ndarray:
    for part, dtype in (("node_labels", np.int64), ("node_attributes", np.float64)):
        if part not in files:
            continue
        table = _table(name, part, files, dtype)
        if len(table) != len(degrees):
            raise GraphError(
                f"{_file(name, part)} has {len(table)} lines, and there are {len(degrees)} nodes"
                f" in {_file(name, 'graph_indicator')}; each node needs one"
            )
        if part == "node_attributes":
            return table
        return np.concatenate([_one_hot(column) for column in table.T], axis=1)
    return _one_hot(np.minimum(degrees, MOST_DEGREE), count=min(degrees.max(), MOST_DEGREE) + 1)


def _one_hot(values: np.ndarray, count: int | None = None) -> np.ndarray:
    """float32, a column for each value that occurs, ascending; or for 0…count−1."""
    numbers = values
    if count is None:
        found, numbers = np.unique(values, return_inverse=True)
        count = len(found)
    rows = np.zeros((len(values), count), dtype=np.float32)
    rows[np.arange(len(values)), numbers] = 1
    return rows
