"""Batches of whole graphs, against graphs picked one by one."""

from __future__ import annotations

import torch

from gclbench.contrast.graph_batch import GraphBatch, GraphCollection, spans

# Four graphs: a path of three nodes, a single node, a triangle, a pair.
GRAPH_OF = torch.tensor([0, 0, 0, 1, 2, 2, 2, 3, 3])
PAIRS = [(0, 1), (1, 2), (4, 5), (4, 6), (5, 6), (7, 8)]


def collection() -> GraphCollection:
    entries = sorted([*PAIRS, *((v, u) for u, v in PAIRS)])
    x = torch.arange(9, dtype=torch.float32)[:, None] * torch.tensor([1.0, 10.0])
    return GraphCollection(x, torch.tensor(entries).T, GRAPH_OF)


def one(graph: int) -> tuple[torch.Tensor, set[tuple[int, int]]]:
    """The features of a graph and its edge entries by the features of their ends."""
    nodes = (graph == GRAPH_OF).nonzero()[:, 0].tolist()
    x = collection().all.x[nodes]
    entries = {(u, v) for u, v in collection().all.edge_index.T.tolist() if u in nodes}
    return x, entries


def entries_of(batch: GraphBatch) -> list[tuple[int, int]]:
    """Edge entries by the features of their ends, which are the nodes' numbers."""
    return [(int(batch.x[u, 0]), int(batch.x[v, 0])) for u, v in batch.edge_index.T.tolist()]


def test_a_batch_holds_its_graphs_one_after_the_other_in_the_order_asked_for():
    chosen = [2, 1, 0]
    batch = collection().batch(torch.tensor(chosen))
    assert batch.graphs == 3
    assert batch.graph_of.tolist() == [0, 0, 0, 1, 2, 2, 2]
    torch.testing.assert_close(batch.x, torch.cat([one(graph)[0] for graph in chosen]))
    assert batch.sizes().tolist() == [3, 1, 3]
    found = entries_of(batch)
    assert len(found) == len(set(found))
    assert set(found) == set().union(*(one(graph)[1] for graph in chosen))


def test_entries_stay_sorted_by_row_and_inside_their_graphs():
    batch = collection().batch(torch.tensor([3, 2, 0]))
    rows, columns = batch.edge_index
    assert (rows.diff() >= 0).all()
    assert (batch.graph_of[rows] == batch.graph_of[columns]).all()


def test_a_graph_may_stand_twice_in_a_batch():
    batch = collection().batch(torch.tensor([3, 3]))
    assert batch.graph_of.tolist() == [0, 0, 1, 1]
    assert batch.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]


def test_graphs_without_edges_make_a_batch_without_edges():
    batch = collection().batch(torch.tensor([1]))
    assert batch.edge_index.shape == (2, 0)
    assert batch.x.tolist() == [[3.0, 30.0]]


def test_spans_are_ranges_one_after_the_other():
    found = spans(torch.tensor([5, 0, 9]), torch.tensor([2, 0, 3]))
    assert found.tolist() == [5, 6, 9, 10, 11]


def test_batches_gathered_together_are_those_cut_one_by_one(monkeypatch):
    """Also where only some, or none, of them are gathered together."""
    graphs = collection()
    parts = [torch.tensor(part) for part in ([2, 0], [1], [3, 3, 1], [0, 1, 2, 3])]
    gathered = []
    for limit in (1000, 192, 1):
        monkeypatch.setattr("gclbench.contrast.graph_batch.GATHERED", limit)
        cuts = []
        cut = GraphCollection._cut
        monkeypatch.setattr(
            GraphCollection,
            "_cut",
            lambda self, group, cut=cut, cuts=cuts: (cuts.append(len(group)), cut(self, group))[1],
        )
        found = list(graphs.batches(parts))
        monkeypatch.undo()
        gathered.append(cuts)
        for part, batch in zip(parts, found, strict=True):
            alone = graphs.batch(part)
            assert batch.graphs == alone.graphs
            for name in ("x", "edge_index", "graph_of"):
                assert torch.equal(getattr(batch, name), getattr(alone, name)), name
    assert gathered == [[4], [1, 2, 1], [1, 1, 1, 1]]
    assert list(graphs.batches([])) == []
    first, second = graphs.batches([parts[0][:0], parts[0]])
    assert first.graphs == 0 and len(first.x) == 0 and second.graphs == 2


def test_edges_count_when_batches_are_gathered(monkeypatch):
    """Many edges between few nodes would be copied whole otherwise."""
    nodes = torch.arange(60)
    edges = torch.stack([nodes.repeat_interleave(60), nodes.repeat(60)])
    edges = edges[:, (edges[0] // 20 == edges[1] // 20) & (edges[0] != edges[1])]
    graphs = GraphCollection(torch.ones(60, 1), edges, nodes // 20)
    monkeypatch.setattr("gclbench.contrast.graph_batch.GATHERED", 7000)
    sizes = []
    cut = GraphCollection._cut
    monkeypatch.setattr(
        GraphCollection, "_cut", lambda self, group: (sizes.append(len(group)), cut(self, group))[1]
    )
    assert len(list(graphs.batches([torch.tensor([graph]) for graph in range(3)]))) == 3
    assert sizes == [1, 1, 1], "380 entries of 16 bytes each, and 20 nodes of 12"
