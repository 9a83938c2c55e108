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
the same (docs/choices.md). Where it is asked for, degrees stand beside labels, or all nodes are
alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from gclbench.data.capacity import check_capacity
from gclbench.data.tu_table import empty_line, line_of, read_table
from gclbench.graph import Graph, GraphError, make_graph

Files = Mapping[str, Path | IO[bytes]]
"""The files of a set by part, `A` and the like."""

REQUIRED = ("A", "graph_indicator", "graph_labels")
OPTIONAL = ("node_labels", "node_attributes")

LABELS_AND_DEGREES, CONSTANT = "labels_and_degrees", "constant"
"""Features other than those of the rule above."""

MOST_DEGREE = 64
"""Degrees from this one on share a column: 0.04 % of the nodes of IMDB-BINARY, 0.2 % of
REDDIT-BINARY, whose largest degree is 3062."""


def read_tu(
    name: str,
    files: Files,
    known_as: str,
    repairs: tuple[str, ...] = (),
    features: str = "",
) -> Graph:
    """The collection of a set's text files; repeated pairs are merged.

    Args:
        name: of the set, as its files have it: `MUTAG`.
        files: by part, `A` and the like; a path may end in `.gz`.
        known_as: the dataset's name in gclbench.
        features: `labels_and_degrees` has degrees one-hot beside the node labels, `constant` a
            single column of ones; `labels`, `degrees` and an empty text are the rule above.

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
    graph_of = _graph_of(name, files)
    nodes, graphs = len(graph_of), int(graph_of[-1]) + 1
    labels = _column(name, "graph_labels", files)
    if len(labels) < graphs:
        raise GraphError(
            f"{_file(name, 'graph_labels')} has {len(labels)} lines{_gap(files['graph_labels'])},"
            f" and there are {graphs} graphs in {_file(name, 'graph_indicator')}; each graph needs"
            " a label"
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
    if not pairs.size:
        notes.append(f"{_file(name, 'A')} is empty: no graph has an edge.")
    graph = make_graph(
        np.ones((nodes, 1), dtype=np.float32),
        pairs,
        y.reshape(-1),
        known_as,
        graph_of=graph_of,
        repairs=notes,
    )
    degrees = np.bincount(graph.edge_index[0].numpy(), minlength=nodes)
    x = _features(name, files, degrees, features)
    isolated = int((degrees == 0).sum())
    if isolated:
        graph.repairs += (f"{isolated} isolated node(s) kept.",)
    return make_graph(
        x,
        graph.edge_index,
        graph.y,
        known_as,
        graph_of=graph.graph_of,
        repairs=graph.repairs,
    )


def _file(name: str, part: str) -> str:
    return f"{name}_{part}.txt"


def _table(name: str, part: str, files: Files, dtype: type = np.int64) -> np.ndarray:
    return read_table(files[part], _file(name, part), dtype)


def _at(name: str, part: str, files: Files, row: int) -> str:
    """Where a row of a table is, for errors."""
    return f"{_file(name, part)}, line {line_of(files[part], row)}"


def _gap(source: Path | IO[bytes]) -> str:
    """What is said of a file with too few lines, one of which has nothing in it."""
    line = empty_line(source)
    return "" if line is None else f" with numbers (line {line} is empty)"


def _column(name: str, part: str, files: Files) -> np.ndarray:
    table = _table(name, part, files)
    if not len(table):
        item = "node" if part == "graph_indicator" else "graph"
        raise GraphError(f"{_file(name, part)} is empty; it should have a line for each {item}")
    if table.shape[1] != 1:
        raise GraphError(
            f"{_file(name, part)} has {table.shape[1]} numbers in a line, and should have one"
        )
    return table[:, 0]


def _graph_of(name: str, files: Files) -> np.ndarray:
    """The graph of each node, from 0.

    Raises:
        GraphError: not ascending from 1 in steps of one.
    """
    indicator = _column(name, "graph_indicator", files)
    steps = np.diff(indicator, prepend=1)
    wrong = (steps != 0) & (steps != 1)
    wrong[0] = indicator[0] != 1
    if wrong.any():
        row = int(wrong.argmax())
        before = f"after {indicator[row - 1]}" if row else "in the first line"
        gap = row > 0 and indicator[row] > indicator[row - 1]
        why = f"graph {indicator[row - 1] + 1} has no nodes" if gap else "it should ascend from 1"
        raise GraphError(
            f"{_at(name, 'graph_indicator', files, row)}: graph {indicator[row]} stands {before};"
            f" {why}. Number the graphs that have nodes 1, 2, 3, … and sort the nodes by graph"
        )
    return indicator - 1


def _pairs(name: str, files: Files, graph_of: np.ndarray) -> np.ndarray:
    """The entries of edges (2×E), nodes from 0.

    Raises:
        GraphError: nodes that do not exist, or an edge between two graphs.
    """
    pairs = _table(name, "A", files)
    if not len(pairs):
        return np.empty((2, 0), dtype=np.int64)
    if pairs.shape[1] != 2:
        raise GraphError(
            f"{_file(name, 'A')} has {pairs.shape[1]} number(s) in a line, and should have two:"
            " `i, j`"
        )
    outside = ((pairs < 1) | (pairs > len(graph_of))).any(axis=1)
    if outside.any():
        row = int(outside.argmax())
        raise GraphError(
            f"{_at(name, 'A', files, row)}: the edge {pairs[row, 0]}, {pairs[row, 1]} names a node"
            f" that does not exist ({int(outside.sum())} such lines); nodes are"
            f" 1…{len(graph_of)}, as many as {_file(name, 'graph_indicator')} has lines"
        )
    pairs = pairs.T - 1
    across = graph_of[pairs[0]] != graph_of[pairs[1]]
    if across.any():
        row = int(across.argmax())
        u, v = pairs[:, row]
        raise GraphError(
            f"{_at(name, 'A', files, row)}: the edge {u + 1}, {v + 1} joins graph {graph_of[u] + 1}"
            f" and graph {graph_of[v] + 1} ({int(across.sum())} such lines); an edge is inside one"
            " graph"
        )
    return pairs


def _features(name: str, files: Files, degrees: np.ndarray, asked: str) -> np.ndarray:
    if asked not in ("", "labels", "degrees", LABELS_AND_DEGREES, CONSTANT):
        raise ValueError(f"features='{asked}' are none that the reader knows")
    if asked == CONSTANT:
        return np.ones((len(degrees), 1), dtype=np.float32)
    capped = np.minimum(degrees, MOST_DEGREE)
    for part, dtype in (("node_labels", np.int64), ("node_attributes", np.float64)):
        if part not in files:
            continue
        table = _table(name, part, files, dtype)
        if len(table) != len(degrees):
            raise GraphError(
                f"{_file(name, part)} has {len(table)} lines{_gap(files[part])}, and there are"
                f" {len(degrees)} nodes in {_file(name, 'graph_indicator')}; each node needs one"
            )
        if part == "node_attributes":
            return table
        kinds = sum(np.unique(column).size for column in table.T)
        check_capacity(len(table), kinds, name, copies=2)
        columns = [_one_hot(column) for column in table.T]
        if asked == LABELS_AND_DEGREES:
            columns.append(_one_hot(capped))
        return np.concatenate(columns, axis=1)
    return _one_hot(capped, count=capped.max() + 1)


def _one_hot(values: np.ndarray, count: int | None = None) -> np.ndarray:
    """float32, a column for each value that occurs, ascending; or for 0…count−1."""
    numbers = values
    if count is None:
        found, numbers = np.unique(values, return_inverse=True)
        count = len(found)
    rows = np.zeros((len(values), count), dtype=np.float32)
    rows[np.arange(len(values)), numbers] = 1
    return rows
