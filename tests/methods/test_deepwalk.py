import numpy as np
import pytest
import torch

from gclbench.graph import Unsupported, make_graph
from gclbench.methods.deepwalk import DeepWalk, random_walks
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


def ring(nodes: int, extra: int = 0):
    ids = np.arange(nodes)
    return make_graph(
        np.eye(nodes + extra, dtype=np.float32),
        np.stack([ids, (ids + 1) % nodes]),
        None,
        "ring",
        undirected=True,
    )


def test_walks_follow_edges_and_start_everywhere():
    graph = ring(7, extra=1)
    edges = graph.edge_index.numpy()
    walks = random_walks(edges, 8, 3, 5, np.random.default_rng(0))
    assert walks.shape == (21, 5)
    known = set(map(tuple, edges.T.tolist()))
    assert all(
        (a, b) in known for walk in walks.tolist() for a, b in zip(walk[:-1], walk[1:], strict=True)
    )
    assert sorted(np.bincount(walks[:, 0], minlength=8).tolist()) == [0, *[3] * 7]


def test_neighbours_of_a_walk_are_uniform():
    star = make_graph(
        np.eye(5, dtype=np.float32),
        np.array([[0, 0, 0, 0], [1, 2, 3, 4]]),
        None,
        "star",
        undirected=True,
    )
    walks = random_walks(star.edge_index.numpy(), 5, 2000, 2, np.random.default_rng(1))
    counts = np.bincount(walks[walks[:, 0] == 0][:, 1], minlength=5)[1:]
    assert counts.sum() == 2000 and counts.min() > 420


def test_same_seed_same_vectors_and_isolated_nodes_are_zero():
    pytest.importorskip("gensim", reason="gensim is an extra")
    graph, method = ring(9, extra=1), DeepWalk(walks=2, length=6, dimension=4)
    none = torch.full((10,), -1)
    first, second = (method.fit(graph, none, Streams(3), Watch()).z for _ in range(2))
    assert torch.equal(first, second)
    assert not first[9].any() and first[:9].abs().sum(dim=1).min() > 0
    assert not torch.equal(first, method.fit(graph, none, Streams(4), Watch()).z)


def test_a_graph_without_edges_is_refused():
    pytest.importorskip("gensim", reason="gensim is an extra")
    bare = make_graph(np.eye(3, dtype=np.float32), np.empty((2, 0), dtype=np.int64), None, "bare")
    with pytest.raises(Unsupported, match="'bare' has none"):
        DeepWalk().fit(bare, torch.full((3,), -1), Streams(0), Watch())
