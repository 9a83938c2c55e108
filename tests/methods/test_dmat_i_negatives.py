"""DMAT-i against a strategy for negatives: what the strategy is handed; every one of them runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from gclbench.component.registry import NEGATIVES
from gclbench.contrast.objectives import multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph import Graph, make_graph
from gclbench.methods.dmat_i import DmatI
from gclbench.negatives.strategy import Negatives, Pair, Report, RowMixture
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.nn.sparse import edges_among
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

NODES, INPUTS, WIDTH = 30, 8, 4


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % 3
    x = torch.randn(NODES, INPUTS, generator=generator) + 2 * nn.functional.one_hot(y, INPUTS)
    near = (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1)
    return make_graph(x, near.nonzero().T, y, "toy", undirected=True)


class Spy(UniformNegatives):
    """The plain loss, and notes of what it was asked."""

    joint = True
    by_number = True

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))
        self.seen: list[Pair] = []
        self.updated: list[Pair] = []
        self.modes: list[tuple[str, bool]] = []
        self.mixing: RowMixture | None = None

    def mixture(self, nodes: int, device: torch.device) -> RowMixture | None:
        return self.mixing

    def update(self, pair: Pair) -> None:
        assert not any(rows.requires_grad for rows in (pair.u, *pair.views))
        self.updated.append(pair)

    def loss(self, pair: Pair) -> Loss:
        self.seen.append(pair)
        self.modes.append(("loss", self.training))
        loss = super().loss(pair)
        return replace(loss, value=loss.value + (self.weight - 1).square().sum())

    def embed(self, z: Tensor, edge_index: Tensor) -> Tensor:
        self.modes.append(("embedding", self.training))
        return torch.cat([z, z], dim=1)

    def report(self, pair: Pair) -> Report:
        self.seen.append(pair)
        self.modes.append(("report", self.training))
        return super().report(pair)


@dataclass(frozen=True)
class Spying:
    version: ClassVar[str] = "1"
    spy: Negatives = field(default_factory=Spy)

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        assert (width, nodes) == (WIDTH, NODES)
        return self.spy


def method(**settings: Any) -> DmatI:
    return DmatI(
        **{"epochs": 8, "architecture": (6, WIDTH), "batch_size": 8, "lr": 0.01, **settings}
    )


def fit(graph: Graph, negatives: Any, watch: Watch | None = None, **settings: Any) -> Embedding:
    return method(**settings).fit(
        graph, torch.full((NODES,), -1), Streams(0), watch or Watch(), negatives
    )


def test_uniform_is_the_method_s_own_loss_to_the_bit(graph):
    assert DmatI.takes_negatives
    alone = method().fit(graph, torch.full((NODES,), -1), Streams(0), Watch())
    assert torch.equal(fit(graph, Uniform()).z, alone.z)


class Papers(Negatives):
    """Eq. 7 of the DMAT-i paper on all views at once, without the strategy `uniform`."""

    by_number = False

    def forward(self, pair: Pair) -> Loss:
        views = [unit_rows(view) for view in pair.views]
        return Loss(multi_view_nce(unit_rows(pair.u), views, pair.tau))


@pytest.mark.parametrize("batch_size", [8, 10_000])
@pytest.mark.parametrize("views", [1, 3])
def test_the_method_s_own_loss_is_the_papers_to_the_bit(graph, views, batch_size):
    settings = {"views": views, "batch_size": batch_size, "tau": 0.7}
    own, papers = Watch(), Watch()
    z = fit(graph, Uniform(), own, **settings).z
    assert torch.equal(fit(graph, Spying(Papers()), papers, **settings).z, z)
    assert own.curve == papers.curve


class ViewByView(UniformNegatives):
    """The plain loss, one pair of views after the other."""

    def forward(self, pair: Pair) -> Loss:
        return Negatives.forward(self, pair)


def test_the_plain_loss_of_pairs_averaged_over_views_is_that_of_all_views(graph):
    """The same training through the path of the other strategies."""
    direct, through = Watch(), Watch()
    z = fit(graph, Uniform(), direct).z
    assert torch.allclose(fit(graph, Spying(ViewByView()), through).z, z, rtol=1e-3, atol=1e-4)
    for (_, a), (_, b) in zip(direct.curve, through.curve, strict=True):
        assert a == pytest.approx(b, rel=1e-4)


def test_what_the_strategy_is_handed(graph):
    spy = Spy()
    fit(graph, Spying(spy), views=2, tau=0.7, epochs=4)
    assert [pair.step for pair in spy.seen[:-1]] == [Step(at, 4) for at in (1, 2, 3, 4)]
    assert [len(pair.u) for pair in spy.seen[:-1]] == [8, 8, 8, 6]
    for pair, learned_from in zip(spy.seen[:-1], spy.updated, strict=True):
        first, second = pair.views
        assert not torch.equal(first, second)
        assert torch.equal(learned_from.u, pair.u) and torch.equal(learned_from.v, first), (
            "it learns from the first view"
        )
        assert learned_from.kept is pair.kept
        assert (pair.tau, pair.intra, pair.nodes, pair.is_batch) == (0.7, True, NODES, True)
    last = spy.seen[-1]
    assert len(last.u) == NODES and len(last.views) == 1 and last.is_batch, "what reports look at"
    assert last.batch is None and torch.equal(last.edges, graph.edge_index)


@pytest.mark.parametrize("batch_size", [8, 30, 100])
def test_edges_and_order_of_a_batch(graph, batch_size):
    """A frozen encoder, whose rows say which node they are."""
    spy = Spy()
    z = fit(graph, Uniform(), epochs=0).z
    fit(
        graph,
        Spying(spy),
        batch_size=batch_size,
        epochs=4,
        lr=1e-30,
        weight_decay=0.0,
        mask_fraction=0.0,
    )
    edges = set(map(tuple, graph.edge_index.T.tolist()))
    for pair in spy.seen[:-1]:
        ids = torch.cdist(pair.u.detach(), z).argmin(dim=1).tolist()
        assert len(set(ids)) == min(batch_size, NODES) or len(ids) == 6
        expected = {(a, b) for a, b in edges if a in ids and b in ids}
        assert {(ids[a], ids[b]) for a, b in pair.edges.T.tolist()} == expected
        assert pair.edges.shape[1] == len(expected)
        if batch_size >= NODES:
            assert ids == list(range(NODES)) and not pair.is_batch
        else:
            assert pair.batch.tolist() == ids
    assert spy.seen[-1].is_batch == (batch_size < NODES)


def test_edges_among_a_batch_by_hand():
    edges = torch.tensor([[0, 1, 2, 3, 4, 1], [1, 0, 3, 2, 1, 4]])
    assert edges_among(edges, torch.tensor([4, 1, 3]), 5).tolist() == [[0, 1], [1, 0]]


def test_a_mixture_mixes_the_inputs_of_the_unmasked_batch_only(graph):
    generator = torch.Generator().manual_seed(1)
    mixture = RowMixture(
        torch.rand(NODES, 1, generator=generator), torch.randperm(NODES, generator=generator)
    )
    mixed = make_graph(mixture.apply(graph.x), graph.edge_index, None, "mixed")
    spies = [Spy() for _ in range(3)]
    spies[0].mixing = mixture
    for spy, where in zip(spies, (graph, graph, mixed), strict=True):
        fit(where, Spying(spy), batch_size=NODES, epochs=1, unit_input=False)
    mixing, plain, by_hand = (spy.seen[0] for spy in spies)
    torch.testing.assert_close(mixing.u, by_hand.u, rtol=1e-4, atol=1e-5)
    assert torch.equal(mixing.v, plain.v) and not torch.allclose(mixing.u, plain.u)


def test_mixtures_are_of_unit_rows_in_training_and_in_reports(graph):
    generator = torch.Generator().manual_seed(1)
    mixture = RowMixture(
        torch.rand(NODES, 1, generator=generator), torch.randperm(NODES, generator=generator)
    )
    unit = make_graph(unit_rows(graph.x), graph.edge_index, None, "unit")
    assert not torch.allclose(unit.x, graph.x)
    found = []
    for where, unit_input in ((graph, True), (unit, False)):
        spy = Spy()
        spy.mixing = mixture
        embedding = fit(where, Spying(spy), batch_size=NODES, epochs=1, unit_input=unit_input)
        found.append((spy.seen[0].u, embedding.contrast.u, embedding.z))
    for ours, by_hand in zip(*found, strict=True):
        torch.testing.assert_close(ours, by_hand, rtol=1e-4, atol=1e-5)


def test_joint_parameters_learn_and_embed_is_asked(graph):
    spy = Spy()
    found = fit(graph, Spying(spy), epochs=60, lr=0.05, views=1, weight_decay=0.0)
    torch.testing.assert_close(spy.weight.detach(), torch.ones(3), rtol=0, atol=0.2)
    assert found.z.shape == (NODES, 2 * WIDTH) and torch.equal(
        found.z[:, :WIDTH], found.z[:, WIDTH:]
    )


def test_the_strategy_is_in_training_until_the_last_step_and_not_after(graph):
    """NML's slopes are random in training only."""
    spying = Spying()
    fit(graph, spying, epochs=2)
    losses, after = spying.spy.modes[:-2], spying.spy.modes[-2:]
    assert losses == [("loss", True)] * 2
    assert after == [("embedding", False), ("report", False)]


def test_what_reports_look_at(graph):
    plain, spied = fit(graph, Uniform()), fit(graph, Spying(Spy()))
    for embedding in (plain, spied):
        assert embedding.contrast is not None and embedding.contrast.tau == 1.0
        for view in (embedding.contrast.u, embedding.contrast.v):
            assert view.shape == (NODES, WIDTH) and not view.requires_grad
            torch.testing.assert_close(unit_rows(view), view)
    assert torch.allclose(plain.contrast.u, unit_rows(plain.z), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(plain.contrast.v, plain.contrast.u)
    assert spied.contrast.weights(2, 4).tolist() == [[1.0] * NODES] * 2


@pytest.mark.parametrize("batch_size", [8, 10_000])
@pytest.mark.parametrize("name", [name for name in NEGATIVES.names() if name != "uniform"])
def test_every_strategy_runs_reruns_and_goes_on_after_a_stop(
    graph, name, batch_size, tmp_path: Path
):
    # A tenth of the seven negatives in a batch of eight is none.
    strategy = NEGATIVES.load(name)(**({"most": 0.3} if name == "phases" else {}))
    straight = fit(graph, strategy, batch_size=batch_size)
    assert bool(torch.isfinite(straight.z).all()) and len(straight.z) == NODES
    assert not torch.allclose(straight.z[:, :WIDTH], fit(graph, Uniform(), batch_size=batch_size).z)
    if straight.contrast.weights is not None:
        rows = straight.contrast.weights(0, NODES)
        assert rows.shape == (NODES, NODES) and bool((rows >= 0).all())
        negatives = rows[~torch.eye(NODES, dtype=torch.bool)].view(NODES, NODES - 1)
        torch.testing.assert_close(negatives.mean(dim=1), torch.ones(NODES), rtol=1e-3, atol=1e-3)
    stop = threading.Event()

    def until(done: int, total: int, loss: float) -> None:
        if done == 6:
            stop.set()

    with pytest.raises(Preempted, match="stopped at iteration 6 of 8"):
        fit(
            graph,
            strategy,
            Watch(until, checkpoint=Checkpoint(tmp_path / "state", "key", 1e9), stop=stop),
            batch_size=batch_size,
        )
    resumed = fit(
        graph,
        strategy,
        Watch(checkpoint=Checkpoint(tmp_path / "state", "key", 1e9)),
        batch_size=batch_size,
    )
    assert torch.equal(resumed.z, straight.z)


@pytest.mark.parametrize("nodes", [25, 26, 27])
@pytest.mark.parametrize("name", NEGATIVES.names())
def test_a_small_last_batch_does_not_spoil_the_weights(name, nodes):
    """25 nodes in batches of 4 leave one, which has nothing to be told from; a pair and a triple
    are hardly more."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(nodes, INPUTS, generator=generator)
    near = (torch.rand(nodes, nodes, generator=generator) < 0.2).triu(1)
    graph = make_graph(x, near.nonzero().T, None, "few", undirected=True)
    found = method(batch_size=4, epochs=14, tau=0.5).fit(
        graph, torch.full((nodes,), -1), Streams(0), Watch(), NEGATIVES.load(name)()
    )
    assert bool(torch.isfinite(found.z).all())


def test_a_batch_of_one_node_asks_no_strategy(graph):
    spy = Spy()
    fit(graph, Spying(spy), batch_size=29, epochs=2)
    assert [len(pair.u) for pair in spy.seen] == [29, NODES]
    assert len(spy.updated) == 1


class Unordered(Spy):
    by_number = False


@pytest.mark.parametrize(("spy", "ordered"), [(Spy(), True), (Unordered(), False)])
def test_a_batch_of_the_whole_graph_knows_its_order(graph, spy, ordered):
    """Rows stand in the graph's order where a strategy counts on it. Else the pair names them, so
    that its edges are those of its rows."""
    fit(graph, Spying(spy), epochs=2, batch_size=NODES)
    pair = spy.seen[0]
    assert len(pair.u) == NODES and (pair.batch is None) == ordered
    if not ordered:
        assert pair.batch.tolist() != list(range(NODES))
        assert torch.equal(pair.edges, edges_among(graph.edge_index, pair.batch, NODES))
