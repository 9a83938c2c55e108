"""Graph auto-encoders: the losses by dense formulas, the turns of the adversary's optimisers, and
the pairs they draw."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from gclbench.component.declared import declared
from gclbench.component.registry import METHODS as REGISTRY
from gclbench.data.pairs import NonEdges
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods import gae
from gclbench.methods.arga import Arga, Turns
from gclbench.methods.arvga import Arvga
from gclbench.methods.gae import Gae
from gclbench.methods.vgae import Vgae
from gclbench.nn.sparse import Features, both_ways
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

NODES, INPUTS = 16, 6
METHODS = [Gae, Vgae, Arga, Arvga]
ADVERSARIAL = [Arga, Arvga]
VARIATIONAL = (Vgae, Arvga)


def made(edges: int) -> Graph:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(NODES, INPUTS, generator=generator)
    pairs = torch.ones(NODES, NODES).triu(1).nonzero()
    chosen = torch.randperm(len(pairs), generator=generator)[:edges]
    return make_graph(x, pairs[chosen].T, None, "small", undirected=True)


@pytest.fixture
def graph() -> Graph:
    return made(25)


def built(method, graph: Graph, seed: int = 3):
    return method.model(graph, torch.full((graph.num_nodes,), -1), Streams(seed))


def in_double(method, graph: Graph, **settings):
    """A small model in double precision, whose discriminator's logits are far apart."""
    adversary = {"discriminator": (4, 5)} if issubclass(method, Arga) else {}
    model = built(method(hidden=4, dimension=3, **adversary, **settings), graph).double()
    model.x = Features(graph.x.double())
    model.propagation = both_ways(propagation(graph))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith("discriminator"):
                parameter.normal_(generator=generator)
    return model


def losses_of(model):
    """Those of an iteration, with the same noise and pairs at each call."""
    model.state["noise"].manual_seed(4)
    model.state["pairs"] = np.random.default_rng(5)
    return model.losses(Step(1, 1))


def adjacency(graph: Graph) -> Tensor:
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    return a


def propagation(graph: Graph) -> Tensor:
    """D^(−½)(A + I)D^(−½)."""
    a = adjacency(graph) + torch.eye(NODES, dtype=torch.float64)
    d = a.sum(dim=1).rsqrt()
    return d[:, None] * a * d


def codes(model, graph: Graph, noise: torch.Generator) -> tuple[Tensor, Tensor | float]:
    """z and the divergence's term, by the official code's formulas; weights, and no biases."""

    def normal(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=noise, dtype=like.dtype)

    weights, p = list(model.encoder.parameters()), propagation(graph)
    h = (p @ (graph.x.double() @ weights[0])).relu()
    if model.encoder.noise:
        h = h + model.encoder.noise * normal(h)
    mean = p @ (h @ weights[1])
    if len(weights) == 2:
        return mean, 0.0
    spread = p @ (h @ weights[2])
    z = mean + normal(mean) * spread.exp()
    inner = (1 + 2 * spread - mean.square() - spread.exp().square()).sum(dim=1)
    return z, -(0.5 / NODES) * inner.mean()


def rebuilding(z: Tensor, graph: Graph) -> Tensor:
    """norm · the mean over N² of the weighted cross-entropy with A + I; the weights are of A."""
    a = adjacency(graph)
    weight = (NODES**2 - a.sum()) / a.sum()
    norm = NODES**2 / float((NODES**2 - a.sum()) * 2)
    target = a + torch.eye(NODES, dtype=torch.float64)
    return norm * binary_cross_entropy_with_logits(z @ z.T, target, pos_weight=weight)


def drawn_rebuilding(z: Tensor, graph: Graph) -> float:
    """The same with the drawn pairs in the place of all that are none, one by one."""
    ones = graph.edge_index.shape[1]
    pairs = NonEdges(graph.edge_index.numpy(), NODES)
    others = pairs.draw(np.random.default_rng(5), ones // 2)
    hits = [z[i] @ z[j] for i, j in [*graph.edge_index.T.tolist(), *((i, i) for i in range(NODES))]]
    misses = [(z[i] @ z[j]).exp().log1p() for i, j in others.T.tolist()]
    assert len(hits) == ones + NODES and pairs.count == NODES * (NODES - 1) // 2 - ones // 2
    hit = sum(float((-s).exp().log1p()) for s in hits) / ones
    zeros = NODES**2 - NODES - ones
    miss = float(sum(misses)) / len(misses) * zeros / (NODES**2 - ones)
    return (hit + miss) / 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("block", [1 << 22, 3 * NODES, 1])
def test_the_loss_over_all_pairs_by_dense_formulas(method, block, graph, monkeypatch) -> None:
    monkeypatch.setattr(gae, "BLOCK_ENTRIES", block)
    model = in_double(method, graph, pairs="all")
    loss = next(losses_of(model))
    z, divergence = codes(model, graph, torch.Generator().manual_seed(4))
    assert loss.value.dtype == torch.float64
    expected = rebuilding(z, graph) + divergence
    assert loss.value.item() == pytest.approx(expected.item(), rel=1e-11)
    weights = list(model.encoder.parameters())
    found, plain = (torch.autograd.grad(value, weights) for value in (loss.value, expected))
    for one, other in zip(found, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
    assert set(loss.terms) == (
        {"reconstruction", "prior"} if method in VARIATIONAL else {"reconstruction"}
    )


@pytest.mark.parametrize("method", METHODS)
def test_drawn_pairs_stand_for_all(method, graph) -> None:
    model = in_double(method, graph)
    loss = next(losses_of(model)).value.item()
    with torch.no_grad():
        z, divergence = codes(model, graph, torch.Generator().manual_seed(4))
    assert loss == pytest.approx(drawn_rebuilding(z, graph) + float(divergence), rel=1e-11)
    # 60 of the 120 pairs are edges: the others are all drawn, so it is the loss over all.
    half = made(60)
    drawn, every = (
        next(losses_of(in_double(method, half, pairs=pairs))).value.item()
        for pairs in ("drawn", "all")
    )
    assert drawn == pytest.approx(every, rel=1e-11)


@pytest.mark.parametrize("method", [Gae, Vgae])
def test_an_iteration_has_one_loss(method, graph) -> None:
    assert len(list(losses_of(built(method(), graph)))) == 1


@pytest.mark.parametrize("method", ADVERSARIAL)
def test_the_losses_of_an_iteration_by_dense_formulas(method, graph) -> None:
    model = in_double(method, graph, pairs="all", reconstruction_steps=2)
    assert model.encoder.noise == (0.1 if method is Arga else 0)
    noise = torch.Generator().manual_seed(4)
    turns, chance = losses_of(model), torch.sigmoid
    for number in range(2):
        z, divergence = codes(model, graph, noise)
        expected = (rebuilding(z, graph) + divergence).item()
        loss = next(turns)
        assert loss.value.item() == pytest.approx(expected, rel=1e-11)
        assert loss.final == (number == 0) and loss.noted.item() == pytest.approx(expected / 2)
    z, _ = codes(model, graph, noise)
    normal = torch.randn(z.shape, generator=noise, dtype=z.dtype)
    loss = next(turns)
    expected = (
        -chance(model.discriminator(normal)).log().mean()
        - (1 - chance(model.discriminator(z))).log().mean()
    )
    assert loss.value.item() == pytest.approx(expected.item(), rel=1e-9) and not loss.final
    # The encoder meets the discriminator as its step has left it.
    with torch.no_grad():
        for parameter in model.discriminator.parameters():
            parameter.mul_(0.8)
    loss = next(turns)
    z, _ = codes(model, graph, noise)
    generator = -chance(model.discriminator(z)).log().mean()
    whole = generator + rebuilding(z, graph) if method is Arga else generator
    assert loss.value.item() == pytest.approx(whole.item(), rel=1e-9) and not loss.final
    assert loss.noted.item() == loss.terms["generator"].item() == pytest.approx(generator.item())
    assert {"reconstruction", "discriminator", "generator"} <= set(loss.terms)
    assert next(turns, None) is None


@pytest.mark.parametrize(
    ("method", "turn"), [(Gae, 0), (Vgae, 0), *((m, t) for m in ADVERSARIAL for t in (0, 1, 2))]
)
def test_gradients_equal_finite_differences(method, turn, graph) -> None:
    """Of the discriminator's parameters where it is its turn, else of the encoder's."""
    steps = {"reconstruction_steps": 1} if method in ADVERSARIAL else {}
    model = in_double(method, graph, **steps)
    moved = (model.discriminator if turn == 1 else model.encoder).parameters()
    # They are moved in place.
    assert torch.autograd.gradcheck(lambda *_: list(losses_of(model))[turn].value, tuple(moved))


@pytest.mark.parametrize("method", METHODS)
def test_encoders_have_glorot_s_weights_and_no_biases(method) -> None:
    with Streams(0).seeded("init"):
        encoder = method(hidden=40, dimension=30).encoder(50)
    shapes = [(50, 40), (40, 30), *([(40, 30)] if method in VARIATIONAL else [])]
    assert [tuple(weight.shape) for weight in encoder.parameters()] == shapes
    for weight in encoder.parameters():
        bound = (6 / sum(weight.shape)) ** 0.5
        assert 0.98 * bound < float(weight.detach().abs().max()) <= bound


def test_the_discriminator_starts_small() -> None:
    with Streams(0).seeded("discriminator"):
        layers = list(Arga().network())
    assert [type(layer) for layer in layers] == [nn.Linear, nn.ReLU] * 2 + [nn.Linear]
    linear = layers[::2]
    assert [tuple(layer.weight.shape) for layer in linear] == [(64, 32), (32, 64), (1, 32)]
    assert all(layer.weight.std().item() == pytest.approx(0.01, rel=0.3) for layer in linear)
    assert not any(layer.bias.any() for layer in linear)


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_stopped_training_goes_on_bit_for_bit(method, after, graph, tmp_path: Path) -> None:
    def fit(watch: Watch):
        labels = torch.full((NODES,), -1)
        return method(epochs=10, epoch_by="last").fit(graph, labels, Streams(2), watch).z

    straight, stop = fit(Watch()), threading.Event()

    def until(done: int, total: int, loss: float) -> None:
        if done == after:
            stop.set()

    with pytest.raises(Preempted):
        fit(Watch(until, checkpoint=Checkpoint(tmp_path / "c", "k", 1e9), stop=stop))
    torch.manual_seed(9)
    watch = Watch(checkpoint=Checkpoint(tmp_path / "c", "k", 1e9))
    assert torch.equal(fit(watch), straight) and watch.resumed == 1


@pytest.mark.parametrize("method", ADVERSARIAL)
def test_each_of_three_adams_moves_its_own_at_its_own_rate(method, graph) -> None:
    settings = method(epochs=2)
    model = built(settings, graph)
    optimiser = settings.optimiser(model)
    assert isinstance(optimiser, Turns)
    everything = {id(parameter) for parameter in model.parameters()}
    (group,) = optimiser.param_groups
    assert {id(parameter) for parameter in group["params"]} == everything
    turns = []
    for iteration in (1, 2):
        for loss in model.losses(Step(iteration, 2)):
            before = {name: value.detach().clone() for name, value in model.named_parameters()}
            optimiser.zero_grad(set_to_none=True)
            loss.value.backward()
            optimiser.step()
            turns.append(model.turn)
            for name, value in model.named_parameters():
                moves = name.startswith("discriminator") == (model.turn == "discriminator")
                assert torch.equal(value, before[name]) != moves, (name, model.turn)
    assert turns == 2 * [*["reconstruction"] * 5, "discriminator", "generator"]
    for name, steps, lr in (
        ("reconstruction", 10, 5e-4),
        ("discriminator", 2, 1e-3),
        ("generator", 2, 1e-3),
    ):
        adam = optimiser.optimisers[name]
        assert {int(state["step"]) for state in adam.state.values()} == {steps}
        assert [own["lr"] for own in adam.param_groups] == [lr]


def test_the_loop_s_rate_is_a_share_of_each_adam_s(graph) -> None:
    settings = Arga()
    model = built(settings, graph)
    optimiser = settings.optimiser(model)
    optimiser.param_groups[0]["lr"] = optimiser.defaults["lr"] * 0.5
    for model.turn in ("reconstruction", "discriminator"):
        optimiser.step()
    rates = [each.param_groups[0]["lr"] for each in optimiser.optimisers.values()]
    assert rates == [2.5e-4, 5e-4, 1e-3]


def test_the_embedding_is_without_noise_and_the_mean(graph) -> None:
    for method in METHODS:
        model = built(method(), graph).eval()
        state = model.state["noise"].get_state()
        z = model.embed(Step(1, 1)).z.double()
        first, second, *_ = (weight.double() for weight in model.encoder.parameters())
        p = propagation(graph)
        expected = p @ (p @ graph.x.double() @ first).relu() @ second
        torch.testing.assert_close(z, expected, rtol=1e-4, atol=1e-5)
        assert torch.equal(model.state["noise"].get_state(), state)
    arga = built(Arga(), graph)
    assert not torch.equal(arga.coded()[0], arga.coded()[0])


def test_parallel_edges_and_both_directions_are_one_pair(graph) -> None:
    twice = make_graph(graph.x, graph.edge_index.repeat(1, 2), None, "twice", multiple=True)
    model = built(Gae(), twice)
    pairs = sorted(tuple(pair) for pair in model.one_way.T.tolist())
    assert pairs == sorted((i, j) for i, j in graph.edge_index.T.tolist() if i < j)


def test_graphs_without_edges_or_other_pairs_are_refused(graph) -> None:
    bare = make_graph(graph.x, torch.empty(2, 0).long(), None, "bare")
    with pytest.raises(Unsupported, match="gae rebuilds edges, and 'bare' has none"):
        built(Gae(), bare)
    full = made(NODES * (NODES - 1) // 2)
    text = "120 edges against as many other pairs, and 'small' has 0; method.pairs=all draws none"
    with pytest.raises(Unsupported, match=text):
        built(Gae(), full)
    (loss,) = losses_of(in_double(Gae, full, pairs="all"))
    assert bool(torch.isfinite(loss.value))


def test_non_edges_are_all_pairs_that_are_none() -> None:
    edges = np.array([[0, 1, 3, 1], [1, 0, 2, 4]])
    others = NonEdges(edges, 5)
    drawn = others.draw(np.random.default_rng(0), others.count)
    pairs = {tuple(pair) for pair in drawn.T.tolist()}
    assert others.count == 7 and len(pairs) == 7
    assert not pairs & {(0, 1), (2, 3), (1, 4)} and all(u < v for u, v in pairs)


def test_all_four_are_version_two() -> None:
    names = ("gae", "vgae", "arga", "arvga")
    assert [declared(REGISTRY, name).version for name in names] == ["2"] * 4
