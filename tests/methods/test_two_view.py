"""The shared loop of two-view methods: views, the strategy's hooks, reruns, checkpoints,
divergence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported, make_graph, with_features
from gclbench.methods.two_view import TwoView
from gclbench.negatives.strategy import Negatives, Pair, Report, RowMixture
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Preempted, Watch

NODES, INPUTS, WIDTH = 22, 10, 4
SETTINGS: dict[str, Any] = {"epochs": 4, "architecture": (6, WIDTH), "projector": 5, "lr": 0.01}


def small_graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, INPUTS, generator=generator)
    adjacency = (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1)
    return make_graph(x, (adjacency | adjacency.T).nonzero().T, None, "small")


class Spy(UniformNegatives):
    """GRACE's loss, and notes of everything the loop asks for. Each hook can be replaced."""

    joint = True

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Pair] = []
        self.calls: list[str] = []
        self.weight = nn.Parameter(torch.zeros(WIDTH))
        self.mixing: RowMixture | None = None
        self.objective: Callable[[Pair], Loss] = super().loss

    def mixture(self, nodes: int, device: torch.device) -> RowMixture | None:
        assert nodes == NODES
        self.calls.append("mixture")
        return self.mixing

    def update(self, pair: Pair) -> None:
        assert not pair.u.requires_grad and not pair.v.requires_grad
        self.calls.append("update")

    def loss(self, pair: Pair) -> Loss:
        self.calls.append("loss")
        self.seen.append(pair)
        return self.objective(pair)

    def embed(self, z: Tensor, edge_index: Tensor) -> Tensor:
        assert not self.training
        return torch.cat([z, z + 1], dim=1)

    def report(self, pair: Pair) -> Report:
        assert not self.training
        self.calls.append("report")
        return replace(
            super().report(pair),
            mixture=lambda start, stop: torch.full((stop - start, NODES), 1 / NODES),
            findings={"spied": 0.5},
            remarks=["a remark"],
        )


@dataclass(frozen=True)
class Spying:
    version: ClassVar[str] = "1"
    spy: Spy = field(default_factory=Spy)

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        assert (width, nodes) == (WIDTH, NODES)
        return self.spy


def fit(
    method: TwoView,
    negatives: Any = None,
    seed: int = 0,
    graph: Data | None = None,
    watch: Watch | None = None,
) -> Embedding:
    return method.fit(
        graph or small_graph(),
        torch.full((NODES,), -1),
        Streams(seed),
        watch or Watch(),
        negatives or Uniform(),
    )


def test_reruns_are_the_same_to_the_bit_whatever_the_global_random_state() -> None:
    method = TwoView(**SETTINGS, activation="rrelu")
    torch.manual_seed(0)
    first = fit(method)
    torch.manual_seed(99)
    second = fit(method)
    assert torch.equal(first.z, second.z)
    assert first.contrast is not None and second.contrast is not None
    assert torch.equal(first.contrast.u, second.contrast.u) and torch.equal(
        first.contrast.v, second.contrast.v
    )
    assert not torch.equal(first.z, fit(method, seed=1).z)


def test_the_global_random_state_is_not_read_and_not_moved() -> None:
    before = torch.random.get_rng_state()
    fit(TwoView(**SETTINGS, activation="rrelu"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_each_view_has_drops_of_its_own() -> None:
    spy = Spy()
    fit(
        TwoView(**{**SETTINGS, "epochs": 1}, edge_drop=(0.0, 0.0), feature_drop=(0.0, 0.0)),
        Spying(spy=spy),
    )
    torch.testing.assert_close(spy.seen[0].u, spy.seen[0].v)
    whole = spy.seen[0].u
    for drops in (
        {"edge_drop": (0.0, 0.6), "feature_drop": (0.0, 0.0)},
        {"edge_drop": (0.0, 0.0), "feature_drop": (0.0, 0.6)},
    ):
        one = Spy()
        fit(TwoView(**{**SETTINGS, "epochs": 1}, **drops), Spying(spy=one))
        torch.testing.assert_close(one.seen[0].u, whole)
        assert not torch.allclose(one.seen[0].v, whole)


def test_views_are_drawn_anew_in_every_iteration() -> None:
    spy = Spy()
    fit(
        TwoView(
            **{**SETTINGS, "lr": 1e-30, "weight_decay": 0.0},
            edge_drop=(0.5, 0.5),
            feature_drop=(0.5, 0.5),
        ),
        Spying(spy=spy),
    )
    assert not torch.allclose(spy.seen[0].u, spy.seen[1].u)


def test_what_the_pair_says() -> None:
    spy, graph = Spy(), small_graph()
    fit(TwoView(**SETTINGS, tau=0.7, intra=False), Spying(spy=spy), graph=graph)
    assert [pair.step for pair in spy.seen] == [Step(iteration, 4) for iteration in (1, 2, 3, 4)]
    first = spy.seen[0]
    assert (first.tau, first.intra, first.batch, first.is_batch) == (0.7, False, None, False)
    assert len(first.u) == NODES and len(first.views) == 1
    assert first.edge_index is not None and torch.equal(first.edge_index, graph.edge_index)


def test_hooks_are_called_in_order_once_per_iteration() -> None:
    spy = Spy()
    fit(TwoView(**{**SETTINGS, "epochs": 3}), Spying(spy=spy))
    assert spy.calls[:9] == ["mixture", "update", "loss"] * 3
    assert spy.calls[9:] == ["mixture", "report"], "the pair that is kept for reports"


def test_joint_parameters_learn_with_the_encoder_s_optimiser() -> None:
    spy = Spy()
    spy.objective = lambda pair: Loss(
        (pair.u.sum() + pair.v.sum()) * 0 + (spy.weight - 1).square().sum()
    )
    fit(TwoView(**{**SETTINGS, "epochs": 300, "weight_decay": 0.0}), Spying(spy=spy))
    torch.testing.assert_close(spy.weight.detach(), torch.ones(WIDTH), rtol=0, atol=0.05)


def test_a_mixture_mixes_the_features_of_the_first_view_only() -> None:
    graph = small_graph()
    mixture = RowMixture(
        torch.rand(NODES, 1, generator=torch.Generator().manual_seed(1)),
        torch.randperm(NODES, generator=torch.Generator().manual_seed(2)),
    )
    method = TwoView(**{**SETTINGS, "epochs": 1}, normalize_features=False)
    mixing, plain, by_hand = Spy(), Spy(), Spy()
    mixing.mixing = mixture
    fit(method, Spying(spy=mixing), graph=graph)
    fit(method, Spying(spy=plain), graph=graph)
    mixed = mixture.share * graph.x + (1 - mixture.share) * graph.x[mixture.partner]
    fit(method, Spying(spy=by_hand), graph=with_features(graph, mixed))
    torch.testing.assert_close(mixing.seen[0].u, by_hand.seen[0].u, rtol=1e-4, atol=1e-5)
    assert torch.equal(mixing.seen[0].v, plain.seen[0].v)
    assert not torch.allclose(mixing.seen[0].u, plain.seen[0].u)


def test_what_is_returned() -> None:
    """The strategy's embedding of the whole graph, and the last views for reports, without
    gradients."""
    behind_projector = TwoView(**SETTINGS, tau=0.7)
    assert torch.equal(fit(behind_projector, Spying()).z, fit(behind_projector).z), (
        "the projector's side is not evaluated"
    )
    method = TwoView(**{**SETTINGS, "projector": 0}, tau=0.7)
    embedding, plain = fit(method, Spying()), fit(method)
    assert embedding.z.shape == (NODES, 2 * WIDTH) and not embedding.z.requires_grad
    torch.testing.assert_close(embedding.z, torch.cat([plain.z, plain.z + 1], dim=1))
    contrast = embedding.contrast
    assert contrast is not None and contrast.tau == 0.7
    for view in (contrast.u, contrast.v):
        assert view.shape == (NODES, WIDTH) and not view.requires_grad
        torch.testing.assert_close(unit_rows(view), view)
    assert contrast.weights is not None and contrast.mixture is not None
    assert contrast.weights(2, 5).tolist() == [[1.0] * NODES] * 3
    assert contrast.mixture(2, 5).shape == (3, NODES)
    assert embedding.findings == {"spied": 0.5} and embedding.remarks == ["a remark"]
    assert not plain.findings and not plain.remarks


def test_no_epochs_leave_the_encoder_untrained() -> None:
    untrained = fit(TwoView(**{**SETTINGS, "epochs": 0}))
    assert torch.equal(untrained.z, fit(TwoView(**{**SETTINGS, "epochs": 0, "lr": 5.0})).z)
    assert untrained.contrast is not None


def test_normalised_features_know_no_scale() -> None:
    graph = small_graph()
    scaled = with_features(graph, graph.x * torch.arange(1, NODES + 1)[:, None])
    torch.testing.assert_close(
        fit(TwoView(**SETTINGS), graph=scaled).z,
        fit(TwoView(**SETTINGS), graph=graph).z,
        rtol=1e-4,
        atol=1e-6,
    )
    raw = TwoView(**SETTINGS, normalize_features=False)
    assert not torch.allclose(fit(raw, graph=scaled).z, fit(raw, graph=graph).z)


@pytest.mark.parametrize("activation", ["relu", "rrelu", "prelu"])
def test_a_training_that_is_stopped_goes_on_to_the_same_bits(
    tmp_path: Path, activation: str
) -> None:
    """Encoder, projector, strategy, optimiser and both streams are in the checkpoint."""

    class Wandering(UniformNegatives):
        """Draws from a stream of its own, so that a stream that is not restored shows."""

        def __init__(self, rng: Streams):
            super().__init__()
            self.generators["negatives"] = rng.torch("negatives")

        def loss(self, pair: Pair) -> Loss:
            loss = super().loss(pair)
            chance = torch.rand((), generator=self.generators["negatives"])
            return replace(loss, value=loss.value * (1 + chance))

    @dataclass(frozen=True)
    class Wanders:
        version: ClassVar[str] = "1"

        def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
            return Wandering(rng)

    method = TwoView(**{**SETTINGS, "epochs": 7}, activation=activation)
    straight = fit(method, Wanders())
    stop = threading.Event()

    def until(done: int, total: int, loss: float) -> None:
        if done == 3:
            stop.set()

    with pytest.raises(Preempted, match="stopped at iteration 3 of 7"):
        fit(
            method,
            Wanders(),
            watch=Watch(until, checkpoint=Checkpoint(tmp_path / "state", "key", 1e9), stop=stop),
        )
    heard: list[int] = []
    watch = Watch(
        lambda done, total, loss: heard.append(done),
        checkpoint=Checkpoint(tmp_path / "state", "key", 1e9),
    )
    resumed = fit(method, Wanders(), watch=watch)
    assert heard == [4, 5, 6, 7]
    assert torch.equal(resumed.z, straight.z)
    assert resumed.contrast is not None and straight.contrast is not None
    assert torch.equal(resumed.contrast.u, straight.contrast.u)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({}, "the loss became nan at iteration 2 of 4"),
        (
            {"contrast": 1.5, "regulariser": float("nan"), "later": float("inf")},
            "the loss became nan at iteration 2 of 4 (its term 'regulariser' is nan)",
        ),
        (
            {"contrast": float("-inf")},
            "the loss became nan at iteration 2 of 4 (its term 'contrast' is -inf)",
        ),
        (
            {"contrast": 3e38, "regulariser": 3e38},
            (
                "the loss became nan at iteration 2 of 4 (its terms contrast, regulariser are"
                " finite, their sum is not)"
            ),
        ),
    ],
)
def test_a_loss_that_is_not_finite_stops_with_the_epoch_and_the_term(
    terms: dict[str, float], said: str
) -> None:
    spy = Spy()

    def objective(pair: Pair) -> Loss:
        broken = pair.step.iteration == 2
        value = (pair.u.sum() + pair.v.sum()) * (float("nan") if broken else 1.0)
        found = {name: torch.tensor(value if broken else 1.0) for name, value in terms.items()}
        return Loss(value, found)

    spy.objective = objective
    with pytest.raises(Diverged) as caught:
        fit(TwoView(**SETTINGS), Spying(spy=spy))
    assert str(caught.value) == said


def test_an_encoder_that_explodes_is_noticed() -> None:
    with pytest.raises(Diverged, match="the loss became nan at iteration [23] of 4"):
        fit(TwoView(**{**SETTINGS, "lr": 1e30}, activation="identity"))


def test_a_graph_that_does_not_suit_the_strategy() -> None:
    @dataclass(frozen=True)
    class Refusing:
        version: ClassVar[str] = "1"

        def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
            raise Unsupported("too small")

    with pytest.raises(Unsupported, match="too small"):
        fit(TwoView(**SETTINGS), Refusing())


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(
        ValueError,
        match=r"architecture needs at least one width, for example method.architecture=\[256,128\]",
    ):
        TwoView(architecture=())
    with pytest.raises(
        ValueError,
        match=(
            r"edge_drop needs two probabilities, one per view, for example"
            r" method.edge_drop=\[0.2,0.4\]; got \[0.1\]"
        ),
    ):
        TwoView(edge_drop=(0.1,))
    with pytest.raises(ValueError, match="feature_drop needs two probabilities"):
        TwoView(feature_drop=(0.1, 0.2, 0.3))
