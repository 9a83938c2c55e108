"""The weights and the directions of edges, as a graph is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gclbench.graph import Graph, GraphError, make_graph, with_features, without_weights

X = np.eye(4)


def made(pairs: Any, weight: Any = None, **given: Any) -> Graph:
    return make_graph(X, np.array(pairs).T, None, "g", edge_weight=weight, **given)


PAIRS = [(0, 1), (2, 1), (1, 2), (1, 0)]


def test_weights_follow_their_edges_into_both_directions() -> None:
    graph = made(PAIRS, [2.0, 0.5, 0.5, 2.0])
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_weight.tolist() == [2, 2, 0.5, 0.5] and graph.repairs == ()
    assert graph.edge_weight.dtype == torch.float32 and len(graph.edges) == 2
    once = made(PAIRS[:2], [2.0, 0.5], undirected=True)
    assert once.content_hash == graph.content_hash and once.repairs == ()
    assert with_features(graph, torch.ones(4, 1)).edge_weight is graph.edge_weight


def test_weights_are_part_of_the_content_unless_they_say_nothing() -> None:
    plain = made(PAIRS)
    assert plain.edge_weight is None and "edge_weight" not in plain and len(plain.edges) == 1
    assert made(PAIRS, np.ones(4)).content_hash == plain.content_hash
    other = made(PAIRS, [3, 1, 1, 3])
    assert len({plain.content_hash, other.content_hash, made(PAIRS, [2] * 4).content_hash}) == 3
    assert without_weights(other).content_hash == plain.content_hash
    assert other.edge_weight is not None and without_weights(plain) is plain


def test_what_is_repaired_is_told() -> None:
    graph = made([(0, 1), (1, 0), (0, 1), (1, 2), (3, 3), (2, 3)], [1.0, 4, 2, 5, 1, 0])
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_weight.tolist() == [4, 4, 5, 5]
    assert graph.repairs == (
        "1 edge entry of weight 0 dropped.",
        "1 self-loop(s) dropped.",
        "1 repeated edge entry dropped.",
        "1 edge(s) stored in one direction only were made undirected.",
        "1 edge(s) had entries of different weights; the largest counts.",
    )


def test_a_directed_graph_is_refused_where_asked() -> None:
    for pairs, weight, text in (
        (PAIRS[:3], None, "1 of 2 edges stand in one direction only. dataset.direction=refuse"),
        (PAIRS, [1.0, 2, 3, 1], "1 of 2 have entries of different weights"),
        (PAIRS[:3], [1.0, 2, 3], "1 of 2 edges stand .* only and 1 of 2 have entries of"),
    ):
        with pytest.raises(GraphError, match=f"graph 'g' is directed: {text}"):
            made(pairs, weight, directed="refuse")
        assert made(pairs, weight).repairs
    assert made(PAIRS, [1.0, 2, 2, 1], directed="refuse").repairs == ()
    assert made(PAIRS[:2], directed="refuse", undirected=True).repairs == ()


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        ([1.0, -1, 1, 1], r"1 edge weight.s. are negative or not finite, the first is -1, of edge"),
        ([1.0, 1, 1, np.nan], r"the first is nan, of edge .1, 0.; a weight says how strong"),
        ([1.0, 1], r"one for each of the 4 entries of edge_index, not float64 of shape .2,."),
        (["a"] * 4, "edge weights must be numbers"),
        ([1.0, 1e-20, 1, 1], "edge weights go from 1e-20 to 1, and must lie between 1e-12"),
    ],
)
def test_weights_that_cannot_be_used(weight: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text) as error:
        made(PAIRS, weight)
    assert "dataset.weights=ignore reads the edges without weights" in str(error.value)


def test_a_multigraph_has_no_weights() -> None:
    with pytest.raises(GraphError, match="a multigraph has no edge weights"):
        made(PAIRS, [1.0, 2, 3, 4], multiple=True)
