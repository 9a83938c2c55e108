"""The ways to the products with MVGRL's two matrices, against dense ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from methods.small_collection import small_collection
from methods.small_graph import INPUTS, NODES, WIDTH, views_of
from torch.nn.functional import binary_cross_entropy_with_logits

from gclbench.graph import make_graph
from gclbench.methods import two_propagations
from gclbench.methods.mvgrl import Mvgrl
from gclbench.methods.two_propagations import TwoPropagations
from gclbench.nn.convolution import Convolution
from gclbench.training.streams import Streams


def test_which_way_is_taken(graph, way):
    assert (TwoPropagations(graph, 0.2, False).smoothed is not None) == (way == "features")


def test_few_features_on_many_edges_are_diffused_once_and_many_on_few_in_every_step(graph):
    assert TwoPropagations(graph, 0.2, False).smoothed is not None
    wide = make_graph(torch.rand(NODES, 2000), graph.edge_index, None, "wide")
    assert TwoPropagations(wide, 0.2, False).smoothed is None


@pytest.mark.parametrize("normalise", [False, True])
def test_the_views_are_the_dense_ones(graph, way, normalise):
    x = graph.x / graph.x.sum(dim=1, keepdim=True) if normalise else graph.x
    s, diffusion = views_of(graph.edge_index)
    torch.manual_seed(0)
    first, second = Convolution(INPUTS, WIDTH, "prelu"), Convolution(INPUTS, WIDTH, "prelu")
    u, v = TwoPropagations(graph, 0.2, normalise).nodes(first, second)
    torch.testing.assert_close(u, first.activation(s @ x @ first.weight), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(
        v, second.activation(diffusion @ x @ second.weight), rtol=1e-3, atol=1e-4
    )


AMONG = torch.tensor([1, 2, 5, 8, 9, 13])


@pytest.fixture(params=["own rows", "all rows"])
def rows(request, monkeypatch):
    """The features of a sub-graph's nodes, or the product's rows of them."""
    monkeypatch.setattr(
        two_propagations, "FEW_ROWS", {"own rows": 1.0, "all rows": 0.0}[request.param]
    )


@pytest.fixture(params=["dense", "few"])
def features(request, graph):
    """Most entries are zero in a graph of `few`: its features are compressed rows."""
    if request.param == "dense":
        return graph
    kept = torch.rand(graph.x.shape, generator=torch.Generator().manual_seed(5)) < 0.15
    return make_graph(graph.x * kept, graph.edge_index, None, "few")


def test_when_the_diffusion_is_stored(graph, way, monkeypatch):
    """For small sub-graphs of a graph that is not too large, where sparse products cost more."""

    def stored(size):
        return TwoPropagations(graph, 0.2, False, size).stored is not None

    dear = way == "features"
    assert (stored(0), stored(6), stored(NODES)) == (False, dear, False)
    monkeypatch.setattr(two_propagations, "STORED_NODES", NODES - 1)
    assert not stored(6)


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({"subgraphs": 2, "subgraph_nodes": 6}, NODES),
        ({"subgraphs": 2, "subgraph_nodes": NODES}, 0),
        ({"subgraphs": 0, "subgraph_nodes": 6}, 0),
    ],
)
def test_what_a_training_holds_is_what_it_stores(graph, settings, nodes):
    method = Mvgrl(**settings)
    model = method.model(graph, torch.full((NODES,), -1), Streams(0))
    assert "stored" not in vars(model.views), "before a step on a sub-graph"
    held = 0 if model.views.stored is None else model.views.stored.numel()
    assert method.held_bytes(graph) == 4 * held == 4 * nodes**2
    assert replace(method, epochs=0).held_bytes(graph) == 0, "no step, no sub-graph"


def test_the_stored_diffusion_of_a_weighted_graph(graph, monkeypatch):
    monkeypatch.setattr(two_propagations, "PROPAGATION_COST", 1e9)
    weight = torch.rand(graph.edge_index.shape[1], generator=torch.Generator().manual_seed(6)) + 0.5
    dense = torch.zeros(NODES, NODES)
    dense[graph.edge_index[0], graph.edge_index[1]] = weight
    weight = (dense + dense.T)[graph.edge_index[0], graph.edge_index[1]]
    weighted = make_graph(graph.x, graph.edge_index, None, "weighted", edge_weight=weight)
    a = torch.eye(NODES) + dense + dense.T
    scale = a.sum(dim=1).rsqrt()
    s = scale[:, None] * a * scale
    expected = 0.2 * torch.linalg.inv(torch.eye(NODES) - 0.8 * s)
    stored = TwoPropagations(weighted, 0.2, False, 6).stored
    torch.testing.assert_close(stored, expected, rtol=1e-3, atol=1e-4)


def test_a_training_on_a_collection_stores_no_diffusion():
    assert Mvgrl(subgraphs=2, subgraph_nodes=6).held_bytes(small_collection()) == 0


def test_the_features_of_sub_graphs_are_their_rows(features):
    features_of = TwoPropagations(features, 0.2, False).features
    weight = torch.rand(INPUTS, WIDTH, generator=torch.Generator().manual_seed(1))
    assert (features_of.sparse is None) == (features.name == "small")
    torch.testing.assert_close(features_of.rows(AMONG).product(weight), features.x[AMONG] @ weight)


def test_the_views_of_a_sub_graph_are_the_dense_sub_matrices(graph, way, rows):
    s, diffusion = views_of(graph.edge_index)
    torch.manual_seed(0)
    first, second = Convolution(INPUTS, WIDTH, "prelu"), Convolution(INPUTS, WIDTH, "prelu")
    views = TwoPropagations(graph, 0.2, False, len(AMONG))
    u, v = views.nodes(first, second, among=AMONG)
    x, inside = graph.x[AMONG], (AMONG[:, None], AMONG)
    torch.testing.assert_close(
        u, first.activation(s[inside] @ x @ first.weight), rtol=1e-3, atol=1e-4
    )
    torch.testing.assert_close(
        v, second.activation(diffusion[inside] @ x @ second.weight), rtol=1e-3, atol=1e-4
    )


def test_the_summary_of_a_sub_graph_is_of_its_own_nodes(features, way, rows):
    graph = features
    s, diffusion = views_of(graph.edge_index)
    torch.manual_seed(0)
    first, second = Convolution(INPUTS, WIDTH, "prelu"), Convolution(INPUTS, WIDTH, "prelu")
    inside = (AMONG[:, None], AMONG)
    order = torch.randperm(len(AMONG), generator=torch.Generator().manual_seed(3))

    def dense(layer, matrix, rows):
        return layer.activation(matrix[inside] @ rows @ layer.weight)

    def score(nodes, c):
        return nodes @ c

    x = graph.x[AMONG]
    u, v = dense(first, s, x), dense(second, diffusion, x)
    of_u, of_v = torch.sigmoid(u.mean(dim=0)), torch.sigmoid(v.mean(dim=0))
    shuffled = torch.cat(
        [dense(second, diffusion, x[order]) @ of_u, dense(first, s, x[order]) @ of_v]
    )
    scores = torch.cat([v @ of_u, u @ of_v, shuffled])
    truth = torch.cat([torch.ones(2 * len(AMONG)), torch.zeros(2 * len(AMONG))])
    loss = TwoPropagations(graph, 0.2, False, len(AMONG)).local_global(
        first, second, score, torch.Generator().manual_seed(3), AMONG
    )
    wanted = binary_cross_entropy_with_logits(scores, truth)
    torch.testing.assert_close(loss, wanted, rtol=1e-3, atol=1e-4)
    weights = [first.weight, second.weight]
    torch.testing.assert_close(
        torch.autograd.grad(loss, weights),
        torch.autograd.grad(wanted, weights),
        rtol=1e-3,
        atol=1e-5,
    )
