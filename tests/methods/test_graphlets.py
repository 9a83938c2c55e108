"""The graphlet kernel: GraKeL's to the bit, what a sample is, and how many are enough."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from methods.small_collection import small_collection

from gclbench.graph import Graph, make_graph
from gclbench.methods.graph_kernel import ENOUGH, GraphKernel
from gclbench.methods.graphlets import _codes, _shapes, common_graphlets
from gclbench.methods.node_labels import labelled_graphs
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


def collection(*graphs: nx.Graph) -> Graph:
    whole = nx.disjoint_union_all(graphs)
    return make_graph(
        np.ones((len(whole), 1)),
        np.array([*whole.edges]).T,
        None,
        "few",
        graph_of=np.repeat(np.arange(len(graphs)), [len(one) for one in graphs]),
        undirected=True,
    )


@pytest.mark.parametrize("largest", [3, 4, 5])
def test_it_is_grakels_to_the_bit(largest: int) -> None:
    """Also of graphs of one, two and three nodes, and with isolated ones."""
    kernels = pytest.importorskip("grakel.kernels")
    pair, lone = nx.path_graph(2), nx.path_graph(5)
    lone.add_nodes_from([5, 6])
    few = collection(nx.path_graph(1), pair, nx.path_graph(3), lone, nx.complete_graph(6))
    for graph in (few, small_collection()):
        kernel = kernels.GraphletSampling(
            k=largest, sampling={"n_samples": 30}, random_state=np.random.RandomState(11)
        )
        expected = kernel.fit_transform(labelled_graphs(graph))
        assert np.array_equal(common_graphlets(graph, largest, 30, 11), expected)


def test_a_shape_is_what_a_renumbering_keeps() -> None:
    assert [len({*_shapes(nodes)}) for nodes in (2, 3, 4, 5)] == [2, 4, 11, 34]
    rng, adjacency = np.random.default_rng(0), np.zeros((6, 6), dtype=bool)
    for u, v in itertools.combinations(range(5), 2):
        adjacency[u, v] = adjacency[v, u] = rng.random() < 0.5
    orders = np.array([*itertools.permutations(range(5))])
    assert len({*_shapes(5)[_codes(adjacency, orders)]}) == 1
    assert len({*_codes(adjacency, orders)}) > 1


def test_a_sample_is_a_size_and_then_a_set_of_nodes() -> None:
    """Against all sets: the cosine of two graphs tends to that of their expected counts."""
    one, other = nx.barbell_graph(3, 1), nx.cycle_graph(6)
    shapes: list[nx.Graph] = []

    def shape_of(graph: nx.Graph) -> int:
        for number, known in enumerate(shapes):
            if nx.is_isomorphic(known, graph):
                return number
        shapes.append(graph)
        return len(shapes) - 1

    expected = []
    for graph in (one, other):
        counts: Counter[int] = Counter()
        for size in (3, 4, 5):
            sets = [*itertools.combinations(graph, size)]
            for nodes in sets:
                counts[shape_of(graph.subgraph(nodes))] += 1 / len(sets)
        expected.append(counts)
    raw = [[sum(a[key] * b[key] for key in a) for b in expected] for a in expected]
    cosine = raw[0][1] / (raw[0][0] * raw[1][1]) ** 0.5
    found = GraphKernel(kernel="graphlet", samples=4000).matrix(collection(one, other), Streams(0))
    assert found[0, 1] == pytest.approx(cosine, abs=0.02)


def test_few_samples_are_told_of() -> None:
    def remarks(**settings: object) -> list[str]:
        method = GraphKernel(**settings)  # type: ignore[arg-type]
        graph = small_collection(6)
        return [*method.fit(graph, torch.empty(0), Streams(0), Watch()).remarks]

    (remark,) = remarks(kernel="graphlet")
    assert remark.startswith("100 samples of a graph leave noise")
    assert f"method.samples={ENOUGH}" in remark
    assert remarks(kernel="graphlet", samples=ENOUGH) == remarks(kernel="vertex_edge") == []
