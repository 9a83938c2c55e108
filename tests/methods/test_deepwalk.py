import numpy as np
import pytest
import torch

from gclbench.graph import Unsupported, make_graph
from gclbench.methods.deepwalk import DeepWalk, Sentences, random_walks
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


SMALL = {"walks": 2, "length": 6, "dimension": 4}


def fitted(seed: int = 3, **settings) -> torch.Tensor:
    """Vectors of a ring of nine nodes; the tenth node has no edges."""
    pytest.importorskip("gensim", reason="gensim is an extra")
    method = DeepWalk(**{**SMALL, **settings})
    return method.fit(ring(9, extra=1), torch.full((10,), -1), Streams(seed), Watch()).z


@pytest.mark.parametrize("negative", [0, 5])
def test_same_seed_same_vectors(negative):
    first = fitted(negative=negative)
    assert torch.equal(first, fitted(negative=negative))
    assert first[:9].abs().sum(dim=1).min() > 0
    assert not torch.equal(first, fitted(seed=4, negative=negative))


def test_an_isolated_node_keeps_its_start_vector_or_is_zero():
    once, longer = fitted(epochs=1), fitted(epochs=4)
    assert once[9].any() and torch.equal(once[9], longer[9])
    assert not any(torch.equal(once[node], longer[node]) for node in range(9))
    # gensim's start: uniform within ±1/d.
    assert float(once[9].abs().max()) <= 1 / 4
    assert not fitted(isolated="zero")[9].any()


def test_a_walk_of_one_node_is_one_word_per_walk():
    sentences = Sentences(np.array([[0, 1], [1, 0]]), 3, np.array([2, 2]))
    assert list(sentences) == [["0", "1"], ["1", "0"], ["2"], ["2"]] == list(sentences)


def test_the_skip_gram_is_asked_for_what_the_repository_asks_for(monkeypatch):
    gensim = pytest.importorskip("gensim.models", reason="gensim is an extra")
    asked = {}

    class Seen(gensim.Word2Vec):
        def __init__(self, sentences, **settings):
            asked.update(settings)
            super().__init__(sentences, **settings)

    monkeypatch.setattr(gensim, "Word2Vec", Seen)
    DeepWalk().fit(ring(9), torch.full((9,), -1), Streams(0), Watch())
    del asked["seed"]
    assert asked == {
        "vector_size": 64,
        "window": 5,
        "min_count": 0,
        "sg": 1,
        "hs": 1,
        "negative": 5,
        "workers": 1,
        "epochs": 5,
    }
    assert (DeepWalk().walks, DeepWalk().length) == (10, 40)


def test_features_stand_behind_the_vectors_as_they_are_given(monkeypatch):
    pytest.importorskip("gensim", reason="gensim is an extra")
    graph = ring(9, extra=1)
    graph.x = graph.x * 3 - 1
    method = {**SMALL, "epochs": 1}

    def of(given, **settings):
        found = DeepWalk(**method, **settings)
        return found.fit(given, torch.full((10,), -1), Streams(3), Watch()).z

    alone, beside = of(graph), of(graph, features=True)
    assert alone.shape == (10, 4) and beside.shape == (10, 4 + graph.x.shape[1])
    assert torch.equal(beside[:, :4], alone) and torch.equal(beside[:, 4:], graph.x)
    # Sparse ones are made dense where there is room, and else refused; alone they are not read.
    dense = graph.x
    graph.x = dense.to_sparse_csr()
    assert torch.equal(of(graph, features=True), beside)
    monkeypatch.setattr("gclbench.machine.memory_map.available_memory", lambda: 100)
    with pytest.raises(Unsupported, match="method.features=true puts dense features beside"):
        of(graph, features=True)
    assert torch.equal(of(graph), alone)


def test_a_graph_without_edges_is_refused():
    pytest.importorskip("gensim", reason="gensim is an extra")
    bare = make_graph(np.eye(3, dtype=np.float32), np.empty((2, 0), dtype=np.int64), None, "bare")
    with pytest.raises(Unsupported, match="'bare' has none"):
        DeepWalk().fit(bare, torch.full((3,), -1), Streams(0), Watch())
