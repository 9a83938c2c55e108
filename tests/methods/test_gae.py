"""Graph auto-encoders: the loss written out, the adversary's turn, and the pairs they draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gclbench.data.pairs import NonEdges
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods.arga import Arga
from gclbench.methods.arvga import Arvga
from gclbench.methods.gae import Gae
from gclbench.methods.vgae import Vgae
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES, INPUTS = 16, 6
METHODS = [Gae, Vgae, Arga, Arvga]


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(NODES, INPUTS, generator=generator)
    pairs = (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1).nonzero().T
    return make_graph(x, pairs, None, "small", undirected=True)


def built(method, graph: Graph, seed: int = 3):
    return method.model(graph, torch.full((graph.num_nodes,), -1), Streams(seed))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_the_loss_as_a_loop_over_edges_and_as_many_other_pairs(graph) -> None:
    model = built(Vgae(), graph).double()
    model.x = model.x.double()
    loss = model.loss(Step(1, 1))
    # The same noise and pairs again.
    streams = Streams(3)
    others = NonEdges(graph.edge_index.numpy(), NODES).draw(
        streams.numpy("pairs"), graph.edge_index.shape[1] // 2
    )
    noise = streams.torch("noise")
    mean, log_deviation = (
        value.detach() for value in model.autoencoder.encoder(model.x, *model.edges)
    )
    z = mean + torch.randn(mean.shape, generator=noise, dtype=mean.dtype) * log_deviation.exp()
    edges = [(u, v) for u, v in graph.edge_index.T.tolist() if u < v]
    assert len(edges) == others.shape[1]
    true = [-math.log(sigmoid(float(z[u] @ z[v]))) for u, v in edges]
    false = [-math.log(1 - sigmoid(float(z[u] @ z[v]))) for u, v in others.T.tolist()]
    prior = [
        -0.5 * sum(1 + 2 * s - m * m - math.exp(2 * s) for m, s in zip(*rows, strict=True))
        for rows in zip(mean.tolist(), log_deviation.tolist(), strict=True)
    ]
    expected = sum(true) / len(true) + sum(false) / len(false) + sum(prior) / NODES**2
    assert loss.value.item() == pytest.approx(expected, rel=1e-9)
    assert set(loss.terms) == {"edges", "prior"}


@pytest.mark.parametrize("method", METHODS)
def test_trainings_repeat_and_improve(method, graph) -> None:
    def fit(seed):
        watch = Watch()
        labels = torch.full((NODES,), -1)
        return method(epochs=30).fit(graph, labels, Streams(seed), watch).z, watch

    z, watch = fit(0)
    torch.manual_seed(5)
    again, _ = fit(0)
    assert torch.equal(z, again) and not torch.equal(z, fit(1)[0])
    assert z.shape == (NODES, method().dimension) and bool(torch.isfinite(z).all())
    losses = [loss for _, loss in watch.curve]
    assert sum(losses[-5:]) < sum(losses[:5])


def test_the_adversary_and_the_encoder_move_in_turn(graph) -> None:
    method = Arga(epochs=1)
    model = built(method, graph)
    optimiser = method.optimiser(model)
    states = [{name: value.detach().clone() for name, value in model.named_parameters()}]
    for loss in model.losses(Step(1, 1)):
        optimiser.zero_grad(set_to_none=True)
        loss.value.backward()
        optimiser.step()
        states.append({name: value.detach().clone() for name, value in model.named_parameters()})
    assert len(states) == 3
    for name in states[0]:
        first, second = (
            not torch.equal(states[step][name], states[step + 1][name]) for step in (0, 1)
        )
        adversary = "discriminator" in name
        assert second != adversary and first == adversary, name
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_graphs_without_edges_or_other_pairs_are_refused(graph) -> None:
    bare = make_graph(graph.x, torch.empty(2, 0).long(), None, "bare")
    with pytest.raises(Unsupported, match="gae rebuilds edges, and 'bare' has none"):
        built(Gae(), bare)
    full = make_graph(
        graph.x, torch.ones(NODES, NODES).triu(1).nonzero().T, None, "full", undirected=True
    )
    with pytest.raises(
        Unsupported, match="120 edges against as many other pairs, and 'full' has 0"
    ):
        built(Gae(), full)


def test_non_edges_are_all_pairs_that_are_none() -> None:
    edges = np.array([[0, 1, 3, 1], [1, 0, 2, 4]])
    others = NonEdges(edges, 5)
    drawn = others.draw(np.random.default_rng(0), others.count)
    pairs = {tuple(pair) for pair in drawn.T.tolist()}
    assert others.count == 7 and len(pairs) == 7
    assert not pairs & {(0, 1), (2, 3), (1, 4)} and all(u < v for u, v in pairs)
