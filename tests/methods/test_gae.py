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


def in_double(method, graph: Graph):
    """A small model, whose discriminator's logits are far apart. The dot products of its embeddings
    are not: torch_geometric takes the log of 1 − sigmoid, which rounding spoils from 20 or so."""
    adversary = {"discriminator": (4, 5)} if issubclass(method, Arga) else {}
    model = built(method(hidden=4, dimension=3, **adversary), graph).double()
    model.x = model.x.double()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "discriminator" in name:
                parameter.normal_(generator=generator)
            if name.endswith("log_deviation.bias"):
                parameter.fill_(-1.2)
    return model


def losses_of(model):
    """Those of an iteration, with the same noise and pairs at each call."""
    model.state["noise"].manual_seed(4)
    model.state["pairs"] = np.random.default_rng(5)
    return model.losses(Step(1, 1))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def encoded(model, noise: torch.Generator) -> tuple[list[list[float]], float]:
    """z, and its divergence from the prior, node by node."""
    if not model.variational:
        return model.autoencoder.encoder(model.x, *model.edges).tolist(), 0.0
    means, spreads = model.autoencoder.encoder(model.x, *model.edges)
    drawn = torch.randn(means.shape, generator=noise, dtype=means.dtype).tolist()
    z, divergence = [], 0.0
    for mean, spread, draw in zip(means.tolist(), spreads.tolist(), drawn, strict=True):
        row = list(zip(mean, spread, draw, strict=True))
        z.append([m + math.exp(s) * e for m, s, e in row])
        divergence -= 0.5 * sum(1 + 2 * s - m * m - math.exp(2 * s) for m, s, _ in row)
    return z, divergence / NODES**2


def rebuilding(z: list[list[float]], graph: Graph) -> float:
    """The loss over edges and as many other pairs."""
    edges = [(u, v) for u, v in graph.edge_index.T.tolist() if u < v]
    others = NonEdges(graph.edge_index.numpy(), NODES).draw(np.random.default_rng(5), len(edges))
    assert others.shape == (2, len(edges))
    total = 0.0
    for pairs, edge in ((edges, True), (others.T.tolist(), False)):
        for u, v in pairs:
            chance = sigmoid(sum(a * b for a, b in zip(z[u], z[v], strict=True)))
            total -= math.log(chance if edge else 1 - chance)
    return total / len(edges)


def judged(model, row: list[float]) -> float:
    """How likely the discriminator takes a row for one of the normal distribution, unit by unit."""
    layers = model.autoencoder.discriminator.lins
    for number, layer in enumerate(layers, 1):
        units = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
        row = [sum(w * x for w, x in zip(weights, row, strict=True)) + b for weights, b in units]
        row = row if number == len(layers) else [max(0.0, x) for x in row]
    return sigmoid(row[0])


@pytest.mark.parametrize("method", [Gae, Vgae])
def test_the_loss_as_a_loop_over_edges_and_as_many_other_pairs(method, graph) -> None:
    model = in_double(method, graph)
    (loss,) = losses_of(model)
    z, divergence = encoded(model, torch.Generator().manual_seed(4))
    assert loss.value.dtype == torch.float64
    assert loss.value.item() == pytest.approx(rebuilding(z, graph) + divergence, rel=1e-11)
    assert set(loss.terms) == ({"edges", "prior"} if model.variational else {"edges"})


@pytest.mark.parametrize("method", [Arga, Arvga])
def test_the_adversary_s_and_the_encoder_s_loss_as_a_loop_over_nodes(method, graph) -> None:
    model = in_double(method, graph)
    turns = losses_of(model)
    telling = next(turns).value.item()
    noise = torch.Generator().manual_seed(4)
    z, divergence = encoded(model, noise)
    normal = torch.randn(NODES, 3, generator=noise, dtype=torch.float64).tolist()
    expected = sum(-math.log(judged(model, row)) for row in normal)
    expected -= sum(math.log(1 - judged(model, row)) for row in z)
    assert telling == pytest.approx(expected / NODES, rel=1e-11)
    # The encoder meets the discriminator as its step has left it.
    with torch.no_grad():
        for parameter in model.autoencoder.discriminator.parameters():
            parameter.mul_(0.8)
    loss = next(turns)
    fooling = sum(-math.log(judged(model, row)) for row in z) / NODES
    assert loss.terms["fooling"].item() == pytest.approx(fooling, rel=1e-11)
    whole = rebuilding(z, graph) + divergence + fooling
    assert loss.value.item() == pytest.approx(whole, rel=1e-11)


@pytest.mark.parametrize(
    ("method", "turn"), [(Gae, 0), (Vgae, 0), (Arga, 0), (Arga, 1), (Arvga, 0), (Arvga, 1)]
)
def test_gradients_equal_finite_differences(method, turn, graph) -> None:
    """Of the discriminator's parameters where it is its turn, else of the encoder's."""
    model = in_double(method, graph)
    adversary = issubclass(method, Arga) and turn == 0
    moved = [
        parameter
        for name, parameter in model.named_parameters()
        if ("discriminator" in name) == adversary
    ]
    # They are moved in place.
    assert torch.autograd.gradcheck(lambda *_: list(losses_of(model))[turn].value, tuple(moved))


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
