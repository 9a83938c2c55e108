"""GraphCL on nodes, its augmented graphs, and DGI on the diffusion, in dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from gclbench.graph import Graph, make_graph
from gclbench.methods.dgi import Dgi
from gclbench.methods.graphcl_nodes import GraphclNodes, grown
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
