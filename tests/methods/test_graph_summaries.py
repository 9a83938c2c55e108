"""Histograms, statistics and kernels of graphs, and graph2vec: against loops, and on bad input."""

from __future__ import annotations

import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from methods.small_collection import FEATURES, small_collection

from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods import random_walks, shortest_paths
from gclbench.methods.graph2vec import Graph2Vec, refined_labels
from gclbench.methods.graph_kernel import GraphKernel, factor
from gclbench.methods.graph_statistics import NAMES, statistics
from gclbench.methods.histogram import Histogram
from gclbench.methods.node_labels import labelled_graphs, node_labels
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NO_LABELS = torch.empty(0)


def fitted(method: object, graph: Graph) -> Embedding:
    found: Embedding = method.fit(graph, NO_LABELS, Streams(0), Watch())  # type: ignore[attr-defined]
    return found


def members(graph: Graph) -> list[nx.Graph]:
    """The graphs one by one, nodes with their label."""
    whole = nx.Graph(graph.edge_index.T.tolist())
    found = []
    for number in range(graph.items):
        nodes = (graph.graph_of == number).nonzero()[:, 0].tolist()
        whole.add_nodes_from(nodes)
        found.append(whole.subgraph(nodes).copy())
    return found


def test_a_histogram_counts_labels_or_degrees() -> None:
    graph = small_collection()
    labels = graph.x.argmax(dim=1).tolist()
    by_label, by_degree = (fitted(Histogram(of=of), graph).z for of in ("features", "degrees"))
    for number, one in enumerate(members(graph)):
        counted = Counter(labels[node] for node in one)
        assert by_label[number].tolist() == [counted[label] for label in range(FEATURES)]
        degrees = Counter(dict(one.degree()).values())
        assert by_degree[number].tolist() == [degrees[value] for value in range(65)]
    other = fitted(Histogram(), graph).encode(small_collection(6))
    assert torch.equal(other[:5], by_label[:5]) is False and other.shape == (6, FEATURES)


def test_statistics_are_those_of_networkx() -> None:
    graph = small_collection()
    table = dict(zip(NAMES, statistics(graph).T.numpy(), strict=True))
    for number, one in enumerate(members(graph)):
        degrees = np.array([value for _, value in one.degree()])
        triangles = sum(nx.triangles(one).values()) / 3
        parts = nx.number_connected_components(one)
        expected = {
            "nodes": np.log1p(len(one)),
            "edges": np.log1p(one.size()),
            "density": nx.density(one),
            "mean_degree": degrees.mean(),
            "degree_deviation": degrees.std(),
            "largest_degree": np.log1p(degrees.max()),
            "leaves": (degrees == 1).mean(),
            "isolated": (degrees == 0).mean(),
            "components": np.log1p(parts),
            "cycles": np.log1p(one.size() - len(one) + parts),
            "triangles": np.log1p(triangles),
            "transitivity": nx.transitivity(one),
        }
        found = {name: float(values[number]) for name, values in table.items()}
        assert found == pytest.approx(expected, abs=1e-6)


def test_labels_of_features_that_are_none_are_all_the_same() -> None:
    graph = small_collection()
    assert node_labels(graph).tolist() == graph.x.argmax(dim=1).tolist()
    one_hot, several = graph.x, torch.cat([graph.x, graph.x], dim=1)
    some = several.clone()
    some[3] = 0
    some[3, 5] = 1
    for x in (one_hot * 2, one_hot - 1, one_hot * 0, some):
        graph.x = x
        assert not node_labels(graph).any() and node_labels(graph).shape == (graph.num_nodes,)
    links, labels = labelled_graphs(small_collection())[1]
    one = members(small_collection())[1]
    assert {tuple(sorted((u, v))) for u in links for v in links[u]} == {
        tuple(sorted((u - min(one), v - min(one)))) for u, v in one.edges
    }
    assert sorted(labels) == list(range(len(one)))


def test_nodes_of_equal_rows_have_equal_labels() -> None:
    graph = small_collection()
    first, count = graph.x.argmax(dim=1), graph.num_nodes
    degree = torch.bincount(graph.edge_index[0], minlength=count)
    second = torch.arange(count) % 3
    beside = {
        "labels and degrees": [first, degree],
        "two columns of labels": [first, second],
        "three": [second, first, degree],
        "constant": [torch.zeros(count, dtype=torch.long)],
    }
    for what, columns in beside.items():
        graph.x = torch.cat([torch.nn.functional.one_hot(each) for each in columns], dim=1).float()
        labels = node_labels(graph)
        rows = {tuple(row) for row in torch.stack(columns, dim=1).tolist()}
        told = {
            (label, *row)
            for label, row in zip(labels, torch.stack(columns, 1).tolist(), strict=True)
        }
        assert len(told) == len(rows) == len({*labels.tolist()}), what
        assert sorted({*labels.tolist()}) == [*range(len(rows))] and labels.dtype == np.int64
        kernel = GraphKernel(kernel="shortest_path").matrix(graph, Streams(0))
        assert np.isfinite(kernel).all()


@pytest.mark.parametrize("kernel", ["wl", "graphlet"])
def test_a_kernel_is_normalised_and_the_same_again(kernel: str) -> None:
    if kernel == "wl":
        pytest.importorskip("grakel")
    graph, method = small_collection(), GraphKernel(kernel=kernel, samples=20)
    found = fitted(method, graph)
    assert found.geometry == "cosine"
    product = found.z @ found.z.T
    assert torch.allclose(product.diagonal(), torch.ones(graph.items), atol=1e-5)
    assert torch.allclose(
        product, torch.from_numpy(method.matrix(graph, Streams(0))).float(), atol=1e-5
    )
    assert torch.equal(found.z, fitted(method, graph).z)


def test_the_kernel_of_random_walks_is_the_inverse_on_the_product_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(random_walks, "ENTRIES", 50)  # several blocks a graph
    graph, decay = small_collection(), 0.7
    adjacencies = [
        np.array([[float(v in one[u]) for v in one] for u in one]) for one in members(graph)
    ]
    largest = max(float(np.linalg.eigvalsh(one)[-1]) for one in adjacencies)
    raw = np.array(
        [
            [
                np.linalg.inv(np.eye(len(a) * len(b)) - decay / largest**2 * np.kron(a, b)).sum()
                for b in adjacencies
            ]
            for a in adjacencies
        ]
    )
    expected = raw / np.sqrt(np.outer(raw.diagonal(), raw.diagonal()))
    found = GraphKernel(kernel="random_walk", decay=decay).matrix(graph, Streams(0))
    assert np.allclose(found, expected, rtol=1e-10, atol=0)
    assert len(adjacencies[-1]) == 1, "a single node has one walk, of no step"


def test_the_kernel_of_random_walks_is_grakels() -> None:
    kernels = pytest.importorskip("grakel.kernels")
    graph, decay = small_collection(), 0.7
    one_by_one = [nx.to_numpy_array(one) for one in members(graph)]
    largest = max(float(np.linalg.eigvalsh(one)[-1]) for one in one_by_one)
    walks = kernels.RandomWalk(lamda=decay / largest**2, method_type="baseline", normalize=True)
    # GraKeL reads no graph without an edge: the last one has a single node.
    expected = walks.fit_transform([[one] for one in one_by_one[:-1]])
    found = GraphKernel(kernel="random_walk", decay=decay).matrix(graph, Streams(0))
    assert np.allclose(found[:-1, :-1], expected, rtol=1e-9, atol=0)


def test_nodes_are_one_class_until_their_neighbours_tell_them_apart() -> None:
    star, path, twin = [(0, 1), (0, 2), (0, 3)], [(4, 5), (5, 6), (6, 7)], [(8, 9), (8, 10)]
    one_way = torch.tensor([*star, *path, *twin, (8, 11)]).T
    graph_of = torch.tensor([0] * 4 + [1] * 4 + [2] * 4 + [3])
    collection = make_graph(
        name="small",
        x=torch.ones(13, 1),
        edge_index=torch.cat([one_way, one_way.flip(0)], dim=1),
        y=torch.tensor([0, 0, 1, 1]),
        graph_of=graph_of,
    )
    classes, owner = random_walks._classes(collection)
    alike: dict[int, list[int]] = {}
    for node, number in enumerate(classes.tolist()):
        alike.setdefault(number, []).append(node)
    assert sorted(alike.values()) == [[0], [1, 2, 3], [4, 7], [5, 6], [8], [9, 10, 11], [12]]
    assert owner.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert all(graph_of[nodes[0]] == owner[number] for number, nodes in alike.items())


def test_the_kernel_of_shortest_paths_is_the_double_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortest_paths, "ENTRIES", 9)  # several blocks a graph
    graph = small_collection(8)
    label = node_labels(graph)
    counts = [
        Counter(
            (label[u], label[v], length)
            for u, reached in nx.all_pairs_shortest_path_length(one)
            for v, length in reached.items()
            if u != v
        )
        for one in members(graph)
    ]
    raw = np.array([[sum(a[w] * b[w] for w in a) for b in counts] for a in counts], dtype=float)
    assert np.array_equal(shortest_paths.common_paths(graph), raw)
    found = fitted(GraphKernel(kernel="shortest_path"), graph)
    # The last graph is a single node, which has no path.
    lengths = found.z.square().sum(dim=1)
    assert torch.allclose(lengths, torch.tensor([1.0] * 7 + [0.0]), atol=1e-5)


def test_the_kernel_of_shortest_paths_is_grakels() -> None:
    kernels = pytest.importorskip("grakel.kernels")
    graph = small_collection(8)
    expected = kernels.ShortestPath().fit_transform(labelled_graphs(graph))
    assert np.array_equal(shortest_paths.common_paths(graph), expected)


def test_the_kernel_of_subtrees_is_the_double_loop() -> None:
    pytest.importorskip("grakel")
    graph = small_collection(8)
    counts = []
    labels = {node: str(label) for node, label in enumerate(node_labels(graph).tolist())}
    for one in members(graph):
        current, words = {node: labels[node] for node in one}, Counter()
        for _ in range(4):
            words.update(current.values())
            current = {
                node: f"({current[node]}|{','.join(sorted(current[v] for v in one[node]))})"
                for node in one
            }
        counts.append(words)
    raw = np.array([[sum(a[w] * b[w] for w in a) for b in counts] for a in counts], dtype=float)
    expected = raw / np.sqrt(np.outer(raw.diagonal(), raw.diagonal()))
    found = GraphKernel(iterations=3).matrix(graph, Streams(0))
    assert np.allclose(found, expected)
    # The words of graph2vec refine nodes in the same way.
    refined = refined_labels(graph, 3)
    member = graph.graph_of.numpy()
    words = [Counter(refined[:, member == number].ravel().tolist()) for number in range(8)]
    again = np.array([[sum(a[w] * b[w] for w in a) for b in words] for a in words], dtype=float)
    assert np.array_equal(again, raw)


def test_the_kernel_of_vertices_and_edges_is_the_double_loop() -> None:
    graph = small_collection(8)
    label = node_labels(graph)
    counts = [
        Counter(
            [(label[node],) for node in one]
            + [tuple(sorted((label[u], label[v]))) for u, v in one.edges]
        )
        for one in members(graph)
    ]
    raw = np.array([[sum(a[w] * b[w] for w in a) for b in counts] for a in counts], dtype=float)
    expected = raw / np.sqrt(np.outer(raw.diagonal(), raw.diagonal()))
    found = fitted(GraphKernel(kernel="vertex_edge"), graph)
    assert np.allclose((found.z @ found.z.T).numpy(), expected, atol=1e-5)
    assert found.encode(small_collection(5)).dtype == torch.float64


def test_a_matrix_that_is_no_kernel_is_refused() -> None:
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(Unsupported, match="'x' is not positive semi-definite: .* from -1 to 3"):
        factor(indefinite, "x")
    with pytest.raises(Unsupported, match="'x' has values that are not finite"):
        factor(np.array([[1.0, np.nan], [np.nan, 1.0]]), "x")
    rounding = np.array([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]])
    assert factor(rounding, "x").shape == (2, 1)


def test_a_kernel_of_graphs_without_anything_it_counts_is_zeros() -> None:
    z = factor(np.zeros((3, 3)), "x")
    assert z.shape == (3, 1) and not z.any()
    assert factor(np.diag([1.0, 0.0, 0.0]), "x").shape == (3, 1), "one graph has something"
    single = make_graph(
        name="single",
        x=torch.ones(4, 1),
        edge_index=torch.empty(2, 0, dtype=torch.int64),
        y=None,
        graph_of=torch.arange(4),
    )
    found = fitted(GraphKernel(kernel="shortest_path"), single)
    assert found.z.shape == (4, 1) and not found.z.any()
    assert found.encode is not None and found.encode(single).shape == (4, 1)


def test_without_grakel_the_reason_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grakel", None)
    monkeypatch.setitem(sys.modules, "grakel.kernels", None)
    method = GraphKernel()
    monkeypatch.setattr("sys.version_info", (3, 12, 1, "final", 0))
    with pytest.raises(Unsupported, match=r"not installed: pip install 'gclbench\[kernels\]'"):
        fitted(method, small_collection())
    monkeypatch.setattr("sys.version_info", (3, 13, 0, "final", 0))
    with pytest.raises(Unsupported, match="it has no release for Python 3.13; use one up to 3.12"):
        fitted(method, small_collection())


def test_graph2vec_puts_equal_graphs_together() -> None:
    pytest.importorskip("gensim")
    ring = [(i, (i + 1) % 8) for i in range(8)]
    star = [(0, i) for i in range(1, 8)]
    edges, total = [], 0
    for number in range(12):
        edges += [(total + u, total + v) for u, v in (ring if number % 2 else star)]
        total += 8
    graph = make_graph(
        np.ones((total, 1)),
        np.array(edges).T,
        None,
        "two kinds",
        graph_of=np.arange(total) // 8,
        undirected=True,
    )
    method = Graph2Vec(dimension=16, epochs=200, depth=2)
    z = torch.nn.functional.normalize(fitted(method, graph).z)
    assert torch.equal(z, torch.nn.functional.normalize(fitted(method, graph).z))
    cosine = z @ z.T
    same = (torch.arange(12)[:, None] + torch.arange(12)) % 2 == 0
    same.fill_diagonal_(False)
    apart = (torch.arange(12)[:, None] + torch.arange(12)) % 2 == 1
    assert cosine[same].mean() > cosine[apart].mean() + 0.3


def test_graph2vec_leaves_no_word_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subsampling is off unless it is asked for, and is passed on."""
    gensim = pytest.importorskip("gensim.models")
    made = []

    class Seen(gensim.Doc2Vec):  # type: ignore[misc, name-defined]
        def __init__(self, documents: object, **settings: object):
            super().__init__(documents, **settings)
            made.append((self, settings))

    monkeypatch.setattr(gensim, "Doc2Vec", Seen)
    graph = small_collection()
    for sample in (0.0, 1e-3):
        fitted(Graph2Vec(dimension=4, epochs=1, **({"sample": sample} if sample else {})), graph)
    assert [settings["sample"] for _, settings in made] == [0.0, 1e-3]
    # gensim keeps a word where a number below 2³² is below its `sample_int`.
    kept = [
        {model.wv.get_vecattr(word, "sample_int") >= 2**32 - 1 for word in model.wv.index_to_key}
        for model, _ in made
    ]
    assert kept == [{True}, {True, False}]
    assert Graph2Vec.version == "2"
