"""MVGRL's steps written out with dense matrices, and the two ways to its diffusion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
import torch
from methods.small_graph import INPUTS, NODES, WIDTH, views_of
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from gclbench.cli import main
from gclbench.contrast.unit_rows import unit_rows
from gclbench.methods.mvgrl import Mvgrl
from gclbench.negatives.augcl import Augcl
from gclbench.negatives.imix import Imix
from gclbench.negatives.mmix import Mmix
from gclbench.negatives.progcl import ProgclWeight
from gclbench.negatives.strategy import Negatives, Pair
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.nn.convolution import Convolution
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Watch


@pytest.mark.parametrize("objective", ["summary", "nodes", "nodes, inter only"])
def test_five_steps_by_hand(graph, way, objective):
    intra = objective == "nodes"
    method = Mvgrl(
        objective=objective.partition(",")[0],
        epochs=5,
        hidden=WIDTH,
        lr=0.02,
        patience=0,
        tau=0.5,
        intra=intra,
    )
    watch = Watch()
    found = method.fit(graph, torch.full((NODES,), -1), Streams(2), watch, Uniform()).z

    rng = Streams(2)
    s, diffusion = views_of(graph.edge_index)
    with rng.seeded("init"):
        weights = [
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(INPUTS, WIDTH))) for _ in range(2)
        ]
        bilinear = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, WIDTH, WIDTH)))
    biases, acts = [nn.Parameter(torch.zeros(WIDTH)) for _ in range(2)], [nn.PReLU(), nn.PReLU()]
    offset = nn.Parameter(torch.zeros(()))
    everything = [*weights, *biases, bilinear, offset, *acts[0].parameters(), *acts[1].parameters()]
    optimiser = torch.optim.Adam(everything, lr=0.02)
    shuffles = rng.torch("shuffles")

    def encoded(view: int, rows: Tensor) -> Tensor:
        return acts[view]((s, diffusion)[view] @ rows @ weights[view] + biases[view])

    losses = []
    for _ in range(5):
        if objective == "summary":
            order = torch.randperm(NODES, generator=shuffles)
            u, v = encoded(0, graph.x), encoded(1, graph.x)
            scores = []
            for nodes, other in (
                (v, u),
                (u, v),
                (encoded(1, graph.x[order]), u),
                (encoded(0, graph.x[order]), v),
            ):
                c = torch.sigmoid(other.mean(dim=0)).expand(NODES, WIDTH).contiguous()
                scores.append(torch.nn.functional.bilinear(nodes, c, bilinear)[:, 0] + offset)
            truth = torch.cat([torch.ones(2 * NODES), torch.zeros(2 * NODES)])
            loss = binary_cross_entropy_with_logits(torch.cat(scores), truth)
        else:
            u, v = normalize(encoded(0, graph.x), dim=1), normalize(encoded(1, graph.x), dim=1)
            loss = torch.zeros(())
            for a, b in ((u, v), (v, u)):
                inter, within = (a @ b.T / 0.5).exp(), (a @ a.T / 0.5).exp()
                below = inter.sum(dim=1) + (within.sum(dim=1) - within.diagonal() if intra else 0)
                loss = loss - (inter.diagonal() / below).log().mean() / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-3)
    torch.testing.assert_close(
        found, (encoded(0, graph.x) + encoded(1, graph.x)).detach(), rtol=1e-2, atol=1e-3
    )


def test_nodes_without_a_strategy_take_the_plain_one(graph):
    method, labels = Mvgrl(objective="nodes", epochs=3), torch.full((NODES,), -1)
    bare = method.fit(graph, labels, Streams(0), Watch())
    plain = method.fit(graph, labels, Streams(0), Watch(), Uniform())
    assert torch.equal(bare.z, plain.z)


class Waiting(UniformNegatives):
    """The plain loss, larger from the fourth iteration on; notes of the pairs of reports."""

    def __init__(self):
        super().__init__()
        self.asked: list[Pair] = []

    def loss(self, pair):
        loss = super().loss(pair)
        return replace(loss, value=loss.value + (pair.step.iteration > 3) * 100)

    def report(self, pair):
        assert not self.training, "NML's slopes are random in training only"
        self.asked.append(pair)
        return super().report(pair)


@dataclass(frozen=True)
class Waits:
    version: ClassVar[str] = "1"
    made: Negatives = field(default_factory=Waiting)

    def build(self, width, nodes, rng, device):
        return self.made


def test_reports_see_the_iteration_at_which_patience_ran_out(graph):
    strategy, watch = Waits(), Watch()
    Mvgrl(objective="nodes", epochs=50, hidden=WIDTH, patience=4).fit(
        graph, torch.full((NODES,), -1), Streams(0), watch, strategy
    )
    assert watch.reached == 7
    assert [pair.step for pair in strategy.made.asked] == [Step(7, 50)]


def test_patience_waits_for_a_strategy_to_begin(graph):
    """Else the training ends in the strategy's first phase, or goes back to it, and the strategy
    has no part in what is embedded."""

    class Late(Waiting):
        def loss(self, pair):
            return replace(super().loss(pair), final=pair.step.iteration > 3)

    watch = Watch()
    base = Mvgrl(objective="nodes", epochs=50, hidden=WIDTH, patience=4, lr=1e-9)
    base.fit(graph, torch.full((NODES,), -1), Streams(0), watch, Waits(Late()))
    assert watch.reached >= 8, (
        "at a loss that does not fall, four iterations after the first that counts"
    )
    for strategy in (
        ProgclWeight(start_epoch=20, sampled_columns=8),
        Augcl(base=0.5, passes=1, pairs=4, batch_size=32),
    ):
        base = Mvgrl(objective="nodes", epochs=40, hidden=WIDTH, patience=2, lr=0.05)
        plain, weighted = (
            base.fit(graph, torch.full((NODES,), -1), Streams(0), Watch(), each)
            for each in (Uniform(), strategy)
        )
        assert not torch.equal(plain.z, weighted.z)
        watch = Watch()
        found = base.fit(graph, torch.full((NODES,), -1), Streams(0), watch, strategy).findings
        assert watch.reached > 20
        # What both of them tell.
        assert found["steps_kept"] > 18 and found.keys() > plain.findings.keys() == {"steps_kept"}


def test_reports_of_mixed_inputs_see_the_mixed_view_and_the_embedding_does_not(graph):
    """The shares that are told are those of the view that is told."""
    base = Mvgrl(objective="nodes", epochs=0, hidden=WIDTH)
    plain, mixed = (
        base.fit(graph, torch.full((NODES,), -1), Streams(0), Watch(), negatives)
        for negatives in (Uniform(), Imix())
    )
    assert torch.equal(mixed.z, plain.z) and torch.equal(mixed.contrast.v, plain.contrast.v)
    shares = mixed.contrast.mixture(0, NODES)
    s, _ = views_of(graph.edge_index)
    with Streams(0).seeded("init"):
        encoder = Convolution(INPUTS, WIDTH, "prelu")
    u = encoder.activation(s @ (shares @ graph.x) @ encoder.weight)
    torch.testing.assert_close(mixed.contrast.u, unit_rows(u.detach()), rtol=1e-3, atol=1e-4)
    assert not torch.allclose(mixed.contrast.u, plain.contrast.u, atol=1e-2)


class Seen(UniformNegatives):
    """Notes the pairs that it is handed."""

    def __init__(self):
        super().__init__()
        self.learned_from: list[Pair] = []
        self.given: list[Pair] = []
        self.asked: list[Pair] = []

    def update(self, pair):
        self.learned_from.append(pair)

    def report(self, pair):
        self.asked.append(pair)
        return super().report(pair)

    def loss(self, pair):
        self.given.append(pair)
        return super().loss(pair)


def test_a_step_averages_over_its_sub_graphs_and_the_strategy_learns_from_the_first(graph):
    strategy, watch = Waits(Seen()), Watch()
    method = Mvgrl(
        objective="nodes", epochs=2, hidden=WIDTH, patience=0, subgraphs=3, subgraph_nodes=6
    )
    method.fit(graph, torch.full((NODES,), -1), Streams(0), watch, strategy)
    given, learned_from = strategy.made.given, strategy.made.learned_from
    assert [pair.step.iteration for pair in given] == [1, 1, 1, 2, 2, 2]
    assert [pair.u.data_ptr() for pair in learned_from] == [
        given[0].u.data_ptr(),
        given[3].u.data_ptr(),
    ]
    assert {pair.u.shape for pair in given} == {(6, WIDTH)} and all(
        pair.is_batch and pair.nodes == NODES for pair in given
    )
    (last,) = strategy.made.asked
    assert len(last.u) == NODES and last.batch is None and last.is_batch, (
        "reports are on the whole graph, by a strategy that has seen sub-graphs"
    )
    generator, adjacency = Streams(0).torch("subgraphs"), torch.zeros(NODES, NODES)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    for pair in given:
        among = torch.randperm(NODES, generator=generator)[:6].sort().values
        found = torch.zeros(6, 6)
        found[pair.edges[0], pair.edges[1]] = 1
        assert torch.equal(pair.batch, among)
        assert torch.equal(found, adjacency[among[:, None], among])
    losses = [UniformNegatives()(pair).value.item() for pair in given]
    assert [loss for _, loss in watch.curve] == pytest.approx(
        [sum(losses[:3]) / 3, sum(losses[3:]) / 3], rel=1e-5
    )


@pytest.mark.parametrize("objective", ["summary", "nodes"])
def test_sub_graphs_of_all_nodes_are_the_whole_graph(graph, objective):
    fits = [
        Mvgrl(objective=objective, epochs=4, hidden=WIDTH, **settings).fit(
            graph, torch.full((NODES,), -1), Streams(0), Watch(), Uniform()
        )
        for settings in (
            {},
            {"subgraphs": 3, "subgraph_nodes": NODES},
            {"subgraphs": 3, "subgraph_nodes": NODES - 1},
        )
    ]
    assert torch.equal(fits[0].z, fits[1].z)
    assert not torch.equal(fits[0].z, fits[2].z)


class Breaks(UniformNegatives):
    """A loss whose one term is not finite on the first sub-graph of the second iteration."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def loss(self, pair):
        self.calls += 1
        contrast = super().loss(pair).value * (torch.inf if self.calls == 3 else 1)
        return Loss(contrast, {"contrast": contrast.detach(), "other": torch.zeros(())})


def test_a_term_that_breaks_on_any_sub_graph_is_named(graph):
    method = Mvgrl(objective="nodes", epochs=5, hidden=WIDTH, subgraphs=2, subgraph_nodes=6)
    with pytest.raises(Diverged, match=r"contrast"):
        method.fit(graph, torch.full((NODES,), -1), Streams(0), Watch(), Waits(Breaks()))


def test_a_sub_graph_of_one_node_is_refused(capsys):
    assert (
        main(["method=mvgrl", "dataset=cora", "method.subgraphs=2", "method.subgraph_nodes=1"]) == 2
    )
    assert (
        capsys.readouterr().err
        == "gclbench: method.subgraph_nodes=1 is out of range: it must be ≥ 2, for example 2000\n"
    )


@pytest.mark.parametrize("objective", ["summary", "nodes"])
def test_randomised_slopes_are_drawn_in_training_only(graph, objective):
    """`rrelu_mean` has the mean slope throughout: without a step the two are the same, in reports
    too."""

    def fit(activation, epochs):
        method = Mvgrl(
            objective=objective, epochs=epochs, hidden=WIDTH, activation=activation, patience=0
        )
        found = method.fit(graph, torch.full((NODES,), -1), Streams(0), Watch(), Uniform())
        return torch.cat(
            [found.z, *([] if found.contrast is None else [found.contrast.u, found.contrast.v])],
            dim=1,
        )

    assert torch.equal(fit("rrelu", 3), fit("rrelu", 3))
    assert torch.equal(fit("rrelu", 0), fit("rrelu_mean", 0))
    assert not torch.allclose(fit("rrelu", 3), fit("rrelu_mean", 3), rtol=1e-6)


@pytest.mark.parametrize("objective, negatives", [("summary", None), ("nodes", Mmix())])
def test_a_branch_is_one_of_the_two_that_are_added(graph, way, objective, negatives) -> None:
    """One training, and what is evaluated of it (M-Mix KDD 2022, Table 6)."""
    found = {}
    for branch in ("both", "a", "b"):
        method = Mvgrl(objective=objective, epochs=2, hidden=WIDTH, branch=branch)
        found[branch] = method.fit(
            graph, torch.full((NODES,), -1), Streams(1), Watch(), negatives or Uniform()
        ).z
    assert torch.equal(found["a"] + found["b"], found["both"])
    assert not torch.equal(found["a"], found["b"])


@pytest.mark.parametrize("objective, negatives", [("summary", None), ("nodes", Mmix())])
def test_branch_a_is_the_graph_s_and_b_its_diffusion_s(graph, way, objective, negatives) -> None:
    """Which encoder, by what changes with its weights."""
    for branch, reads in (("a", "first"), ("b", "second")):
        method = Mvgrl(objective=objective, epochs=1, hidden=WIDTH, branch=branch)
        model = method.model(graph, torch.empty(0), Streams(1), negatives).eval()
        for encoder in ("first", "second"):
            with torch.no_grad():
                before = model.evaluated(Step(1, 1)).z
                next(getattr(model, encoder).parameters()).mul_(-1)
                after = model.evaluated(Step(1, 1)).z
            assert torch.equal(before, after) == (encoder != reads)
