from __future__ import annotations

import numpy as np

from gclbench.data.graph_counts import degree, describe_graph
from gclbench.graph import make_graph

X = np.arange(8.0).reshape(4, 2)
PATH = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_describe_graph() -> None:
    graph = make_graph(X, PATH, [1, 0, 1, -1], "g")
    assert describe_graph(graph) == {
        "nodes": 4,
        "edges": 2,
        "features": 2,
        "classes": 2,
        "class_sizes": [1, 2],
        "unlabelled": 1,
        "isolated": 1,
        "mean_degree": 1.0,
        "max_degree": 2,
    }
    assert degree(graph).tolist() == [1, 2, 1, 0]
    assert describe_graph(make_graph(X, PATH, None, "g"))["classes"] == 0
    assert describe_graph(make_graph(X, np.empty((2, 0), int), None, "g"))["isolated"] == 4


def test_a_collection_counts_its_graphs_and_their_classes() -> None:
    graph = make_graph(X, PATH, [1, -1], "g", graph_of=[0, 0, 0, 1])
    counts = describe_graph(graph)
    assert next(iter(counts.items())) == ("graphs", 2)
    assert (counts["nodes"], counts["edges"], counts["isolated"]) == (4, 2, 1)
    assert (counts["class_sizes"], counts["unlabelled"]) == ([1], 1)
