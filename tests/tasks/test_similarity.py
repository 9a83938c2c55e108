"""Similarity of edited graphs: what a triplet is, how ties count, what the official artefacts are
worth."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components

from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods.graph_statistics import statistics
from gclbench.tasks.edited_graphs import (
    FAR,
    NEAR,
    Triplets,
    _adjacency,
    collection,
    draw_triplets,
    entries_of_weight_one,
    joined,
)
from gclbench.tasks.similarity import Similarity, _auc, _scores
from gclbench.training.streams import Streams

SIZES = (5, 12, 12, 20, 14)


def rings() -> Graph:
    """Rings with chords, of `SIZES` nodes; features: a node's own number."""
    edges, graph_of, offset = [], [], 0
    for number, size in enumerate(SIZES):
        edges += [(offset + i, offset + (i + 1) % size) for i in range(size)]
        edges += [(offset + i, offset + (i + 3) % size) for i in range(0, size - 3, 2)]
        graph_of += [number] * size
        offset += size
    features = np.arange(offset, dtype=float)[:, None]
    return make_graph(
        features, np.array(edges).T, None, "rings", graph_of=np.array(graph_of), undirected=True
    )


def undirected(graph: Graph, first: int, last: int) -> set[tuple[int, int]]:
    """The edges among nodes first … last−1, by their features."""
    x = graph.x[:, 0].long().tolist()
    rows, columns = graph.edge_index.tolist()
    return {
        tuple(sorted((x[u], x[v]))) for u, v in zip(rows, columns, strict=True) if first <= u < last
    }


def drawn(connected: bool = True, size: int = 8, count: int = 30) -> tuple[Graph, Triplets]:
    graph = rings()
    return graph, draw_triplets(graph, size, count, connected, np.random.default_rng(0))


def test_a_piece_is_connected_and_of_a_graph_that_is_large_enough() -> None:
    graph, triplets = drawn()
    links = _adjacency(graph)
    assert set(triplets.graph) == {1, 2, 3, 4}, "the first has five nodes"
    for number, nodes in zip(triplets.graph, triplets.nodes, strict=True):
        assert len(set(nodes)) == 8 and (graph.graph_of[nodes] == number).all()
        assert connected_components(links[nodes][:, nodes])[0] == 1
    # Every graph has its turn before one comes again.
    assert sorted(triplets.graph[:4]) == sorted(triplets.graph[4:8]) == [1, 2, 3, 4]


def test_the_copies_differ_by_one_and_by_two_substituted_edges() -> None:
    graph, triplets = drawn()
    edited = collection(graph, triplets)
    assert edited.items == 90 and edited.num_nodes == 90 * 8
    for number in range(30):
        piece, near, far = (
            undirected(edited, 8 * place, 8 * place + 8)
            for place in range(3 * number, 3 * number + 3)
        )
        nodes = set(triplets.nodes[number])
        induced = {
            tuple(sorted((u, v)))
            for u, v in graph.edge_index.T.tolist()
            if u in nodes and v in nodes
        }
        assert piece == induced
        assert (len(piece - near), len(near - piece)) == (NEAR, NEAR)
        assert (len(piece - far), len(far - piece)) == (FAR, FAR)


def test_the_seed_alone_decides_the_lists() -> None:
    task = Similarity(nodes=(6, 8), triplets=10)
    one, same, other = (task.split(rings(), Streams(seed)) for seed in (0, 0, 1))
    assert one.hash == same.hash != other.hash
    assert sorted(one.parts) == sorted(
        f"n{n}_{part}" for n in (6, 8) for part in ("graph", "nodes", "near", "far")
    )
    fewer = Similarity(nodes=(8,), triplets=10).split(rings(), Streams(0))
    assert np.array_equal(fewer.parts["n8_nodes"], one.parts["n8_nodes"])


def test_ties_count_one_half_and_officially_nothing() -> None:
    piece, copy, other = np.array([1.0, 0.0]), np.array([0.8, 0.6]), np.array([0.6, 0.8])
    rows = np.stack([piece, copy, other, piece, other, copy, piece, copy, copy, piece, copy, copy])
    graphs = np.array([0, 1, 2, 2])
    honest, official = (_scores(rows, graphs, half, 1e-12) for half in (True, False))
    assert (honest["triplet_accuracy"], official["triplet_accuracy"]) == (0.5, 0.25)
    assert honest["ties"] == 0.5
    # Of 16 pairs of a nearer and a farther copy the nearer wins 3, and 10 are ties.
    assert honest["pair_auc"] == pytest.approx((3 + 10 / 2) / 16)


def test_scores_of_a_coin_and_of_an_oracle() -> None:
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(400, 6))
    step = rng.normal(size=(400, 6))
    rows = np.stack([unit, unit + 0.01 * step, unit + 0.3 * step], axis=1).reshape(-1, 6)
    oracle = _scores(rows, np.arange(400) // 4, True, 1e-12)
    assert oracle["triplet_accuracy"] == 1.0 and oracle["triplet_accuracy_error"] == 0.0
    coin = _scores(rng.normal(size=(1200, 6)), np.arange(400), True, 1e-12)
    assert abs(coin["triplet_accuracy"] - 0.5) < 0.1 and abs(coin["pair_auc"] - 0.5) < 0.1
    assert coin["triplet_accuracy_error"] == pytest.approx(0.5 / 20, rel=0.2)


def test_pairs_of_one_graph_are_drawn_together() -> None:
    rng = np.random.default_rng(0)
    wins = rng.random(20) < 0.5
    piece, copy, other = np.array([1.0, 0.0]), np.array([0.8, 0.6]), np.array([0.6, 0.8])
    rows = np.concatenate(
        [np.stack([piece, *((copy, other) if win else (other, copy))] * 20) for win in wins]
    )
    together = _scores(rows, np.repeat(np.arange(20), 20), True, 1e-12)
    apart = _scores(rows, np.arange(400), True, 1e-12)
    assert together["triplet_accuracy_error"] > 3 * apart["triplet_accuracy_error"]


def test_a_weighted_area_is_that_of_repeated_pairs() -> None:
    similar = np.array([[0.9, 0.1, 0.5], [0.2, 0.5, 0.4]])
    repeated = np.repeat(similar, [2, 1, 3], axis=1)
    assert _auc(similar, np.array([2, 1, 3])) == pytest.approx(_auc(repeated, np.ones(6)))


def test_metrics_of_every_size_by_an_encoder_of_any_collection() -> None:
    task, graph, rng = Similarity(nodes=(6, 8), triplets=20), rings(), Streams(0)
    embedding = Embedding(statistics(graph), encode=statistics)
    found = task.evaluate(embedding, graph, task.split(graph, rng), rng)
    names = ("triplet_accuracy", "pair_auc", "ties")
    errors = ("triplet_accuracy_n6_error", "pair_auc_n8_error")
    assert {f"{name}_n{n}" for name in names for n in (6, 8)} | set(errors) <= set(found)
    assert len(found) == 10 and all(0 <= value <= 1 for value in found.values())


def test_counting_entries_of_weight_one_solves_the_official_task() -> None:
    task = Similarity(nodes=(8,), triplets=20, protocol="official")
    graph, rng = rings(), Streams(0)
    split = task.split(graph, rng)
    triplets = Triplets.of_parts(split.parts, "n8")
    # The first nodes of any graph; a smaller one has fewer.
    small = triplets.nodes[triplets.graph == 0]
    assert (small == [0, 1, 2, 3, 4, -1, -1, -1]).all() and len(small)
    assert (np.diff(triplets.nodes[triplets.graph == 3]) == 1).all()
    embedding = Embedding(statistics(graph), encode=statistics)
    assert task.evaluate(embedding, graph, split, rng)["weight_one_accuracy_n8"] == 1.0
    # As the matrix has it: entries that are 1 after D^(−½)(A+I)D^(−½), and then two a joined pair.
    nodes = triplets.nodes[0][triplets.nodes[0] >= 0]
    dense = _adjacency(graph)[nodes][:, nodes].toarray() + np.eye(len(nodes))
    scale = dense.sum(axis=1) ** -0.5
    ones = int(np.isclose(scale[:, None] * dense * scale, 1.0).sum())
    assert entries_of_weight_one(graph, triplets)[0].tolist() == [ones, ones + 2, ones + 4]


def test_entries_of_weight_one_with_an_isolated_node() -> None:
    """Its self-loop is an entry of 1 before any edit, and stays one when it is joined."""
    edges = np.array([[0, 1], [1, 2], [2, 3]]).T
    graph_of = np.zeros(5, dtype=np.int64)
    path = make_graph(np.ones((5, 1)), edges, None, "path", graph_of=graph_of, undirected=True)
    near = [[[0, 1]], [[0, 4]]]
    far = [[[0, 1], [1, 2]], [[0, 4], [3, 4]]]
    triplets = Triplets(
        np.zeros(1, dtype=int), np.arange(5)[None], np.array([near]), np.array([far])
    )
    assert entries_of_weight_one(path, triplets).tolist() == [[1, 3, 5]]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (
            Similarity(nodes=(8, 50)),
            "pieces of 50 nodes, and no graph of 'rings' has one; the largest has 20. Give sizes"
            r" up to that with task.similarity.nodes=\[8\]",
        ),
        (Similarity(nodes=(50,)), r"up to that with task.similarity.nodes=\[20\]"),
        (Similarity(nodes=(3,)), "pieces of at least 4 nodes; give sizes with task.similarity"),
        (Similarity(nodes=()), "pieces of at least 4 nodes; give sizes with task.similarity"),
    ],
)
def test_sizes_that_no_graph_has(task: Similarity, text: str) -> None:
    with pytest.raises(Unsupported, match=text):
        task.split(rings(), Streams(0))


def test_no_size_is_advised_that_is_refused_itself() -> None:
    pairs_only = make_graph(
        np.ones((6, 1)),
        np.array([[0, 2, 4], [1, 3, 5]]),
        None,
        "pairs",
        graph_of=np.repeat(np.arange(3), 2),
        undirected=True,
    )
    with pytest.raises(Unsupported, match="the largest has 2. Pieces have at least 4 nodes, so"):
        Similarity(nodes=(10,)).split(pairs_only, Streams(0))


def test_graphs_without_pairs_to_join_are_refused() -> None:
    nodes = np.arange(6)
    full = np.array([(u, v) for u in nodes for v in nodes if u < v]).T
    graph = make_graph(
        np.ones((6, 1)), full, None, "full", graph_of=np.zeros(6, int), undirected=True
    )
    with pytest.raises(Unsupported, match="'full' have too few edges, or too few pairs without"):
        Similarity(nodes=(6,)).split(graph, Streams(0))


def test_a_method_that_embeds_only_what_it_was_given_is_refused() -> None:
    task, graph = Similarity(nodes=(8,), triplets=3), rings()
    split = task.split(graph, Streams(0))
    with pytest.raises(Unsupported, match="this method embeds nothing but the collection that it"):
        task.evaluate(Embedding(torch.zeros(5, 2)), graph, split, Streams(0))
    broken = Embedding(torch.zeros(5, 2), encode=lambda other: torch.zeros(4, 2))
    with pytest.raises(ValueError, match=r"9 edited graphs must come to as many finite rows; .*4"):
        task.evaluate(broken, graph, split, Streams(0))


def test_triplets_among_some_graphs_are_of_these() -> None:
    graph = rings()
    found = draw_triplets(graph, 8, 10, True, np.random.default_rng(0), among=np.array([0, 2, 4]))
    assert set(found.graph) == {2, 4}, "the first has five nodes"


def test_joined_triplets_are_those_of_the_parts() -> None:
    graph = rings()
    parts = [draw_triplets(graph, size, 4, True, np.random.default_rng(size)) for size in (6, 9)]
    both, separate = collection(graph, joined(parts)), [collection(graph, part) for part in parts]
    assert torch.equal(both.x, torch.cat([one.x for one in separate]))
    shifted = separate[1].edge_index + separate[0].num_nodes
    assert torch.equal(both.edge_index, torch.cat([separate[0].edge_index, shifted], dim=1))
    assert both.items == 24


def test_a_size_is_asked_for_once() -> None:
    with pytest.raises(ValueError, match=r"^nodes names a size twice; .*nodes=\[10,15\]"):
        Similarity(nodes=(10, 10))
