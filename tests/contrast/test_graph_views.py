"""Augmented views of a batch, against augmentations of one graph at a time."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch

from gclbench.contrast.graph_batch import GraphBatch, GraphCollection
from gclbench.contrast.graph_views import (
    AUGMENTATIONS,
    Strengths,
    augmented,
    drawn_kinds,
    ranks,
)

STRENGTHS = Strengths(ratio=0.25, walk=0.5)
SIZES = (8, 1, 5, 12)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch_of(pairs: list[tuple[int, int]], sizes: tuple[int, ...]) -> GraphBatch:
    """Features hold a node's number and ones."""
    graph_of = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    nodes = len(graph_of)
    entries = sorted({*pairs, *((v, u) for u, v in pairs)})
    edge_index = torch.tensor(entries).T if entries else torch.zeros(2, 0, dtype=torch.long)
    x = torch.stack([torch.arange(nodes).float(), torch.ones(nodes)], dim=1)
    return GraphCollection(x, edge_index, graph_of).all


def rings(sizes: tuple[int, ...] = SIZES) -> GraphBatch:
    pairs, first = [], 0
    for size in sizes:
        if size > 2:
            pairs += [(first + i, first + (i + 1) % size) for i in range(size)]
        first += size
    return batch_of(pairs, sizes)


def view_of(batch: GraphBatch, name: str, seed: int = 0, strengths: Strengths = STRENGTHS):
    kinds = torch.full((batch.graphs,), AUGMENTATIONS.index(name))
    return augmented(batch, kinds, strengths, generator(seed))


def nodes_of(view: GraphBatch) -> list[int]:
    return view.x[:, 0].long().tolist()


def edges_of(view: GraphBatch) -> set[tuple[int, int]]:
    names = nodes_of(view)
    return {(names[u], names[v]) for u, v in view.edge_index.T.tolist()}


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_a_view_is_a_batch_of_the_same_graphs(name: str):
    batch = rings()
    view = view_of(batch, name)
    rows, columns = view.edge_index
    assert view.graphs == batch.graphs
    assert (view.sizes() >= 1).all()
    assert (view.graph_of.diff() >= 0).all()
    assert (rows.diff() >= 0).all()
    assert (view.graph_of[rows] == view.graph_of[columns]).all()
    entries = view.edge_index.T.tolist()
    assert all([v, u] in entries and u != v for u, v in entries)
    assert len({tuple(entry) for entry in entries}) == len(entries)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_the_same_stream_gives_the_same_view_and_another_one_another(name: str):
    batch = rings()
    first, again, other = (view_of(batch, name, seed) for seed in (0, 0, 1))
    assert torch.equal(first.x, again.x) and torch.equal(first.edge_index, again.edge_index)
    same = first.x.shape == other.x.shape and torch.equal(first.x, other.x)
    same = same and torch.equal(first.edge_index, other.edge_index)
    assert same == (name == "identity")


def test_identity_changes_nothing():
    batch = rings()
    view = view_of(batch, "identity")
    assert torch.equal(view.x, batch.x) and torch.equal(view.edge_index, batch.edge_index)


def test_dropping_leaves_out_the_share_of_each_graph_and_the_edges_of_what_is_gone():
    batch = rings()
    view = view_of(batch, "drop")
    assert view.sizes().tolist() == [size - math.floor(0.25 * size) for size in SIZES]
    left = set(nodes_of(view))
    assert edges_of(view) == {(u, v) for u, v in edges_of(batch) if u in left and v in left}


def test_every_node_is_dropped_equally_often():
    batch = rings()
    counts = Counter(node for seed in range(600) for node in nodes_of(view_of(batch, "drop", seed)))
    for node, graph in enumerate(batch.graph_of.tolist()):
        size = SIZES[graph]
        expected = 1 - math.floor(0.25 * size) / size
        assert counts[node] / 600 == pytest.approx(expected, abs=0.07)


def test_a_share_that_is_a_decimal_fraction_is_taken_as_that():
    batch = batch_of([], (30,))
    assert view_of(batch, "drop", strengths=Strengths(0.1, 0.2)).sizes().tolist() == [27]


def test_masking_replaces_the_features_of_the_share_of_each_graph_by_noise():
    batch = rings()
    view = view_of(batch, "mask")
    changed = (view.x != batch.x).any(dim=1)
    counts = torch.bincount(batch.graph_of[changed], minlength=batch.graphs).tolist()
    assert counts == [math.floor(0.25 * size) for size in SIZES]
    assert torch.equal(view.edge_index, batch.edge_index)
    wide = batch_of([], (2000,))
    noise = view_of(wide, "mask").x[view_of(wide, "mask").x[:, 1] != 1]
    assert len(noise) == 500
    assert float(noise.mean()) == pytest.approx(0.5, abs=0.05)
    assert float(noise.std()) == pytest.approx(0.5, abs=0.05)


def test_masking_leaves_the_batch_as_it_was():
    batch = rings()
    before = batch.x.clone()
    view_of(batch, "mask")
    assert torch.equal(batch.x, before)


def test_perturbing_takes_edges_away_and_joins_at_most_as_many():
    batch = rings()
    before = edges_of(batch)
    for seed in range(20):
        after = edges_of(view_of(batch, "edges", seed))
        for graph, size in enumerate(SIZES):
            own = set((batch.graph_of == graph).nonzero()[:, 0].tolist())
            old = {pair for pair in before if pair[0] in own}
            new = {pair for pair in after if pair[0] in own}
            changed = math.floor(0.25 * len(old) / 2)
            # An edge may be drawn again after it was taken away.
            assert len(old - new) <= 2 * changed
            assert len(new - old) <= 2 * changed
            assert len(old) - 2 * changed <= len(new) <= len(old)
            assert size > 2 or new == old


def test_edges_go_and_come_with_equal_probabilities():
    batch = rings((8,))
    draws = 3000
    counts = Counter(
        pair for seed in range(draws) for pair in edges_of(view_of(batch, "edges", seed))
    )
    old = edges_of(batch)
    # Two of eight edges go. Two of 28 pairs are drawn, independently.
    drawn = 1 - (27 / 28) ** 2
    for u in range(8):
        for v in range(u + 1, 8):
            expected = 0.75 + 0.25 * drawn if (u, v) in old else drawn
            assert counts[u, v] / draws == pytest.approx(expected, abs=0.035)


def test_a_walk_keeps_connected_nodes_one_more_than_the_share():
    batch = rings()
    for seed in range(20):
        view = view_of(batch, "subgraph", seed)
        assert view.sizes().tolist() == [1 + math.floor(0.5 * size) for size in SIZES[:1]] + [
            1,
            1 + math.floor(0.5 * 5),
            1 + math.floor(0.5 * 12),
        ]
        # On a ring a connected part of k nodes has k − 1 edges.
        pairs = torch.bincount(view.graph_of[view.edge_index[0]], minlength=4) // 2
        assert pairs.tolist() == (view.sizes() - 1).tolist()


def test_a_walk_keeps_what_it_reaches_where_a_graph_falls_apart():
    batch = batch_of([(0, 1), (2, 3), (3, 4)], (6,))
    sizes = {len(nodes_of(view_of(batch, "subgraph", seed))) for seed in range(60)}
    assert sizes == {1, 2, 3}


def test_a_walk_leaves_graphs_of_other_kinds_whole():
    batch = rings()
    kinds = torch.tensor([AUGMENTATIONS.index(name) for name in ("identity",) * 3 + ("subgraph",)])
    view = augmented(batch, kinds, STRENGTHS, generator())
    assert view.sizes().tolist() == [8, 1, 5, 7]


def naive_walk(neighbours: dict[int, set[int]], steps: int, draw: random.Random) -> frozenset[int]:
    """The walk step by step: a node beside those taken, each with the same probability."""
    taken = [draw.choice(sorted(neighbours))]
    for _ in range(steps):
        frontier = sorted(set().union(*(neighbours[node] for node in taken)) - set(taken))
        if not frontier:
            break
        taken.append(draw.choice(frontier))
    return frozenset(taken)


def test_walks_are_distributed_as_step_by_step_ones():
    # A star with a tail and a triangle: frontiers of different sizes.
    pairs = [(0, 1), (0, 2), (0, 3), (3, 4), (4, 5), (1, 2)]
    batch, neighbours = batch_of(pairs, (6,)), {node: set() for node in range(6)}
    for u, v in pairs:
        neighbours[u].add(v)
        neighbours[v].add(u)
    draws, draw = 4000, random.Random(0)
    naive = Counter(naive_walk(neighbours, 3, draw) for _ in range(draws))
    ours = Counter(frozenset(nodes_of(view_of(batch, "subgraph", seed))) for seed in range(draws))
    assert set(ours) == set(naive)
    for nodes, count in naive.items():
        assert ours[nodes] / draws == pytest.approx(count / draws, abs=0.035)


def test_each_graph_has_an_augmentation_of_its_own():
    batch = rings((8, 8, 8, 8, 8))
    kinds = torch.arange(len(AUGMENTATIONS))
    view = augmented(batch, kinds, STRENGTHS, generator())
    dropped, edges, masked, walked, same = range(5)
    sizes = view.sizes().tolist()
    assert sizes[dropped] == 6 and sizes[walked] == 5
    assert sizes[edges] == sizes[masked] == sizes[same] == 8
    whole, own = edges_of(batch), set(range(32, 40))
    assert {pair for pair in edges_of(view) if pair[0] in own} == {
        pair for pair in whole if pair[0] in own
    }


def test_kinds_are_drawn_from_the_names_by_their_shares():
    names = ("subgraph", "drop")
    kinds = drawn_kinds(4000, names, generator())
    assert set(kinds.tolist()) == {AUGMENTATIONS.index(name) for name in names}
    share = float((kinds == AUGMENTATIONS.index("drop")).float().mean())
    assert share == pytest.approx(0.5, abs=0.03)
    kinds = drawn_kinds(4000, names, generator(), torch.tensor([0.9, 0.1]))
    share = float((kinds == AUGMENTATIONS.index("drop")).float().mean())
    assert share == pytest.approx(0.1, abs=0.03)


def test_ranks_count_within_each_graph():
    keys = torch.tensor([0.3, 0.1, 0.2, 0.9, 0.5, 0.4])
    graph_of = torch.tensor([0, 0, 0, 1, 2, 2])
    assert ranks(keys, graph_of, torch.tensor([3, 1, 2])).tolist() == [2, 0, 1, 0, 1, 0]
