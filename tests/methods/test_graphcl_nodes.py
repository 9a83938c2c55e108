"""GraphCL on nodes, its augmented graphs, and DGI on the diffusion, in dense matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from gclbench.graph import Graph, make_graph
from gclbench.methods.dgi import Dgi
from gclbench.methods.graphcl_nodes import Augmented, GraphclNodes, GraphclNodesModel, grown
from gclbench.nn.sparse import Features, both_ways
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES, INPUTS, WIDTH = 20, 6, 5


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, INPUTS, generator=generator)
    pairs = (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1).nonzero().T
    return make_graph(x, pairs, None, "small", undirected=True)


def dense(a: torch.Tensor) -> torch.Tensor:
    """S of an adjacency matrix without self-loops."""
    a = a + torch.eye(len(a))
    scale = a.sum(dim=1).rsqrt()
    return scale[:, None] * a * scale


def adjacency(graph: Graph) -> torch.Tensor:
    a = torch.zeros(NODES, NODES)
    a[graph.edge_index[1], graph.edge_index[0]] = 1
    return a


def built(method, graph):
    return method.model(graph, torch.full((NODES,), -1), Streams(2))


@pytest.mark.parametrize("augmentation", ["subgraph", "node", "edge", "mask"])
def test_the_loss_in_dense_matrices(augmentation: str, graph) -> None:
    model = built(GraphclNodes(hidden=WIDTH, augmentation=augmentation), graph)
    with torch.no_grad():
        # So that the two summaries, and what they score, are far apart.
        model.encoder.weight.mul_(20)
        model.discriminator.weight.normal_(generator=torch.Generator().manual_seed(0)).mul_(20)
    loss = model.loss(Step(1, 1)).value
    x, weight, bias = (
        graph.x / graph.x.sum(dim=1, keepdim=True),
        model.encoder.weight,
        model.encoder.bias,
    )
    s, act = dense(adjacency(graph)), model.encoder.activation
    order = torch.randperm(NODES, generator=Streams(2).torch("shuffles"))
    true, false = (act(s @ rows @ weight + bias) for rows in (x, x[order]))
    scores = [torch.zeros(NODES), torch.zeros(NODES)]
    judge = model.discriminator
    for one in model.augmented:
        nodes = torch.arange(NODES) if one.nodes is None else one.nodes
        rows = x[nodes] if one.seen is None else x[nodes] * one.seen[:, None]
        propagation = one.propagation.matrix.to_dense()
        c = torch.sigmoid(act(propagation @ rows @ weight + bias).mean(dim=0))
        for place, h in enumerate((true, false)):
            scores[place] = scores[place] + h @ judge.weight @ c + judge.bias
    target = torch.cat([torch.ones(NODES), torch.zeros(NODES)])
    expected = binary_cross_entropy_with_logits(torch.cat(scores), target)
    torch.testing.assert_close(loss, expected, atol=1e-6, rtol=1e-4)


# Two augmented graphs: some of the nodes, and all of them without some features and edges.
PLACES = torch.tensor([1, 2, 4, 5, 7, 8, 11, 12, 13, 16, 17, 19])
SEEN = torch.ones(NODES, dtype=torch.float64).index_fill(0, torch.tensor([0, 3, 8, 15]), 0)


def fewer_edges(graph: Graph) -> torch.Tensor:
    a = adjacency(graph)
    a[:6, :9] = a[:9, :6] = 0
    return a


def with_given_graphs(graph: Graph) -> GraphclNodesModel:
    """The model in float64, with those two, and parameters that spread the scores about 0."""
    model = built(GraphclNodes(hidden=3), graph).double()
    model.features = Features(graph.x.double(), normalise=True)
    own, fewer = adjacency(graph), fewer_edges(graph)
    over = [both_ways(dense(a.double())) for a in (own, own[PLACES][:, PLACES], fewer)]
    model.propagation = over[0]
    model.augmented = [Augmented(PLACES, None, over[1]), Augmented(None, SEEN, over[2])]
    generator = torch.Generator().manual_seed(10)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
        model.encoder.weight.mul_(5)
    return model


def loss_of(model: GraphclNodesModel) -> torch.Tensor:
    model.state["shuffles"].manual_seed(7)
    return model.loss(Step(1, 1)).value


def convolved(model: GraphclNodesModel, rows: list, a: torch.Tensor) -> list:
    """The layer, node by node: its mean is over the node itself and its neighbours."""
    near = [[j for j in range(len(a)) if j == i or a[i, j]] for i in range(len(a))]
    slope, found = model.encoder.activation.weight, []
    for i in range(len(a)):
        mean = sum(rows[j] / math.sqrt(len(near[i]) * len(near[j])) for j in near[i])
        h = mean @ model.encoder.weight + model.encoder.bias
        found.append(torch.where(h > 0, h, slope * h))
    return found


def test_the_loss_on_two_given_graphs_is_that_of_a_loop_over_nodes(graph) -> None:
    model = with_given_graphs(graph)
    x = [row / row.sum() for row in graph.x.double()]
    nothing = torch.zeros_like(x[0])
    a, places = adjacency(graph), PLACES.tolist()
    first = convolved(model, [x[i] for i in places], a[PLACES][:, PLACES])
    seen = [x[i] if SEEN[i] else nothing for i in range(NODES)]
    second = convolved(model, seen, fewer_edges(graph))
    summaries = [1 / (1 + torch.exp(-sum(h) / len(h))) for h in (first, second)]
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(7)).tolist()
    true, false = convolved(model, x, a), convolved(model, [x[i] for i in order], a)
    judge, losses = model.discriminator, []
    for nodes, sign in ((true, 1), (false, -1)):
        scores = [sum(h @ judge.weight @ c + judge.bias for c in summaries) for h in nodes]
        assert min(scores) < -2 and max(scores) > 2, "neither end is flat"
        losses += [torch.log(1 + torch.exp(-sign * score)) for score in scores]
    wanted, parameters = sum(losses) / (2 * NODES), list(model.parameters())
    assert len(parameters) == 5
    found = loss_of(model)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        torch.autograd.grad(found, parameters),
        torch.autograd.grad(wanted, parameters),
        rtol=1e-10,
        atol=1e-12,
    )


def test_the_gradient_equals_finite_differences(graph) -> None:
    model = with_given_graphs(graph)
    # The parameters are moved in place.
    assert torch.autograd.gradcheck(lambda *_: loss_of(model), tuple(model.parameters()))


def test_what_the_augmented_graphs_are(graph) -> None:
    a = adjacency(graph)
    for augmentation in ("subgraph", "node"):
        for one in built(GraphclNodes(augmentation=augmentation), graph).augmented:
            assert len(one.nodes) == 16 and one.seen is None
            torch.testing.assert_close(
                one.propagation.matrix.to_dense(), dense(a[one.nodes][:, one.nodes])
            )
    first, second = built(GraphclNodes(augmentation="mask"), graph).augmented
    assert first.seen.sum() == second.seen.sum() == 16 and not torch.equal(first.seen, second.seen)
    count = int(a.sum()) // 2
    (one, _) = built(GraphclNodes(augmentation="edge", share=0.4), graph).augmented
    changed = (one.propagation.matrix.to_dense() > 0).float() - torch.eye(NODES)
    assert int(changed.sum()) // 2 == count, "as many are put in as are left out"
    assert int((a - changed).clamp(min=0).sum()) // 2 == int(0.1 * count) > 0


def test_both_are_drawn_once(graph) -> None:
    settings = GraphclNodes(epochs=2, hidden=WIDTH, patience=0)
    labels = torch.full((NODES,), -1)
    one = settings.fit(graph, labels, Streams(2), Watch()).z
    assert torch.equal(one, settings.fit(graph, labels, Streams(2), Watch()).z)
    other = GraphclNodes(epochs=2, hidden=WIDTH, patience=0, augmentation="mask")
    assert not torch.equal(one, other.fit(graph, labels, Streams(2), Watch()).z)


def test_a_grown_sub_graph_is_connected_until_its_component_is_used_up() -> None:
    ring = np.array([[*range(6), 6, 7], [1, 2, 3, 4, 5, 0, 7, 6]])
    edges = np.concatenate([ring, ring[::-1]], axis=1)[:, :]
    for seed in range(20):
        nodes = grown(edges, 8, 2, np.random.default_rng(seed)).tolist()
        assert {nodes[1] - nodes[0], 6 - nodes[1] + nodes[0]} & {1}, "neighbours on the ring"
        assert len(set(grown(edges, 8, 7, np.random.default_rng(seed)).tolist())) == 7


def test_dgi_on_the_diffusion(graph) -> None:
    model = built(Dgi(hidden=WIDTH, propagation="diffusion", alpha=0.3), graph)
    s = dense(adjacency(graph)).double()
    d = 0.3 * torch.linalg.inv(torch.eye(NODES).double() - 0.7 * s)
    x = (graph.x / graph.x.sum(dim=1, keepdim=True)).double()
    weight = model.encoder.weight.detach().double()
    expected = model.encoder.activation(d.float() @ (x @ weight).float() + model.encoder.bias)
    torch.testing.assert_close(model.embed(Step(1, 1)).z, expected, atol=1e-4, rtol=1e-3)
