"""NML against a plain double loop of Eqs. 3, 5 and 8 of the NML-GCL paper, with every metric."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import kl_div, normalize, relu

from gclbench.component.settings import bind
from gclbench.contrast import blocks, panel
from gclbench.contrast.tiles import Weights
from gclbench.graph import Unsupported
from gclbench.negatives import nml_metrics
from gclbench.negatives.nml import LEAST_ORACLE_ALPHA, Nml, NmlNegatives
from gclbench.negatives.nml_metrics import SeparableMetric, exponentials
from gclbench.negatives.nml_pairwise import PairwiseMetric
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH, HIDDEN = 7, 5, 6
METRICS = ("separable", "pairwise", "oracle", "uniform", "cosine")
BLOCKS = (None, 1, 2, 3, 7)


def random(rows: int, columns: int, seed: int) -> Tensor:
    return torch.randn(
        rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def a_pair(tau: float = 0.4, block: int | None = None) -> Pair:
    u, v = random(NODES, WIDTH, 1), random(NODES, WIDTH, 2)
    return Pair(u, (v,), tau, Step(1, 10), block=block)


def built(metric: str, **settings) -> NmlNegatives:
    made = (
        Nml(metric=metric, hidden=HIDDEN, **settings)
        .build(WIDTH, NODES, Streams(3), torch.device("cpu"))
        .double()
    )
    # The random slopes belong to training; outside it every pass is the same.
    made.eval()
    assert isinstance(made, NmlNegatives)
    return made


def logits(strategy: NmlNegatives, u: Tensor, v: Tensor) -> Tensor:
    """a_ij as the papers define it, on the whole matrix."""
    metric = strategy.metric
    if isinstance(metric, SeparableMetric):
        images = [
            normalize(metric.second(torch.where((h := metric.first(z)) < 0, h * 11 / 48, h)), dim=1)
            for z in (u, v)
        ]
        return images[0] @ images[1].T
    if isinstance(metric, PairwiseMetric):
        pairs = torch.cat([u.repeat_interleave(len(v), dim=0), v.repeat(len(u), 1)], dim=1)
        return metric.last(relu(metric.second(relu(metric.first(pairs))))).view(len(u), len(v))
    if strategy.settings.metric == "cosine":
        return -normalize(u, dim=1) @ normalize(v, dim=1).T
    return torch.zeros(len(u), len(v), dtype=u.dtype)


def direction(m: Tensor, similarities: Tensor, alpha: float) -> Tensor:
    """Mean of ℓ_i + α·reg_i, pair by pair. m: N×N rows that sum to 1. similarities: θ/τ."""
    count, losses = len(m), []
    for i in range(count):
        own = torch.exp(similarities[i, i])
        pushed = sum(m[i, j] * torch.exp(similarities[i, j]) for j in range(count))
        divergence = sum((math.log(1 / count) - torch.log(m[i, j])) / count for j in range(count))
        losses.append(
            -torch.log(own / (own + (count - 1) * pushed)) + alpha * (count - 1) * divergence
        )
    return torch.stack(losses).mean()


def reference(strategy: NmlNegatives, pair: Pair, m: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """The loss on whole matrices."""
    similarities = normalize(pair.u, dim=1) @ normalize(pair.v, dim=1).T / pair.tau
    if m is None:
        m = (
            torch.softmax(logits(strategy, pair.u, pair.v), dim=1),
            torch.softmax(logits(strategy, pair.v, pair.u), dim=1),
        )
    alpha = 0.0 if strategy.settings.metric == "cosine" else strategy.settings.alpha
    return 0.5 * (direction(m[0], similarities, alpha) + direction(m[1], similarities.T, alpha))


def with_gradients(pair: Pair) -> Pair:
    v = pair.v.clone().requires_grad_()
    return replace(pair, u=pair.u.clone().requires_grad_(), views=(v,))


def gradients(loss: Tensor, pair: Pair) -> tuple[Tensor, Tensor]:
    return torch.autograd.grad(loss, (pair.u, pair.v))


@pytest.mark.parametrize("tau", [0.02, 0.4, 2.0])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("metric", ["separable", "pairwise", "uniform", "cosine"])
def test_loss_and_gradient_equal_those_of_the_plain_double_loop(metric, block, tau):
    strategy = built(metric, alpha=0.3)
    ours, plain = with_gradients(a_pair(tau, block)), with_gradients(a_pair(tau))
    loss, wanted = strategy(ours).value, reference(strategy, plain)
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(gradients(loss, ours), gradients(wanted, plain))


@pytest.mark.parametrize("metric", ["separable", "pairwise"])
@pytest.mark.parametrize("block", [None, 2])
def test_the_metrics_own_gradient_equals_that_of_the_double_loop(metric, block):
    strategy = built(metric, alpha=0.3)
    pair = a_pair(block=block)
    objective = strategy.metric.objective(nml_metrics.Views.of(pair), frozen=False, alpha=0.3)
    parameters = list(strategy.metric.parameters())
    found = torch.autograd.grad(objective.value, parameters)
    wanted = torch.autograd.grad(reference(strategy, pair), parameters)
    assert all(float(gradient.abs().max()) > 1e-4 for gradient in wanted[:2])
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("metric", ["separable", "pairwise", "uniform", "cosine"])
def test_gradient_equals_finite_differences(metric):
    strategy = built(metric)
    few = [random(4, WIDTH, seed).requires_grad_() for seed in (1, 2)]
    assert torch.autograd.gradcheck(
        lambda u, v: strategy(Pair(u, (v,), 0.4, Step(1, 1), block=3)).value, few
    )


@pytest.mark.parametrize("metric", ["separable", "pairwise", "cosine"])
def test_detached_weights_are_constants(metric):
    strategy = built(metric, detach=True)
    ours, plain = with_gradients(a_pair(block=2)), with_gradients(a_pair())
    m = tuple(
        torch.softmax(logits(strategy, *views), dim=1).detach()
        for views in ((plain.u, plain.v), (plain.v, plain.u))
    )
    loss, wanted = strategy(ours).value, reference(strategy, plain, m)
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(gradients(loss, ours), gradients(wanted, plain))
    flowing = built(metric)(again := with_gradients(a_pair())).value
    constant = strategy(ours).value
    assert not torch.allclose(gradients(flowing, again)[0], gradients(constant, ours)[0])


def test_the_encoders_step_leaves_the_metric_alone():
    for metric in ("separable", "pairwise"):
        strategy = built(metric)
        strategy(with_gradients(a_pair())).value.backward()
        assert all(parameter.grad is None for parameter in strategy.parameters())
        assert strategy.joint_parameters() == []


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("metric", ["separable", "pairwise"])
def test_update_takes_the_metrics_steps_and_lowers_the_loss(metric, detach):
    """`detach` is about the encoder's step alone."""
    strategy = built(metric, inner_steps=3, lr=0.01, weight_decay=0.1, alpha=0.3, detach=detach)
    by_hand = built(metric, inner_steps=3, lr=0.01, weight_decay=0.1, alpha=0.3)
    pair = a_pair()
    before = strategy(pair).value
    optimiser = torch.optim.Adam(by_hand.metric.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        reference(by_hand, pair).backward()
        optimiser.step()
    strategy.update(pair)
    for found, wanted in zip(
        strategy.metric.parameters(), by_hand.metric.parameters(), strict=True
    ):
        torch.testing.assert_close(found, wanted)
    assert strategy(pair).value < before


def another_pair() -> Pair:
    return Pair(random(NODES, WIDTH, 8), (random(NODES, WIDTH, 9),), 0.4, Step(1, 10))


def test_similarities_kept_from_the_update_are_those_of_the_same_pair_only():
    strategy, fresh = built("separable"), built("separable")
    first, second = a_pair(), another_pair()
    strategy.update(first.detached())
    fresh.metric.load_state_dict(strategy.metric.state_dict())
    torch.testing.assert_close(strategy(second).value, fresh(second).value)
    # Pairs without anything kept, of the same views.
    torch.testing.assert_close(strategy(first).value, fresh(a_pair()).value)
    several = replace(first, views=(first.v, second.v), kept={})
    strategy.update(several.detached())
    fresh.metric.load_state_dict(strategy.metric.state_dict())
    by_hand = [fresh(replace(a_pair(), views=(view,), kept={})).value for view in several.views]
    torch.testing.assert_close(strategy(several).value, torch.stack(by_hand).mean())


def test_the_metrics_steps_and_the_encoders_step_compute_the_similarities_once(monkeypatch):
    computed = []

    def noted(anchors: Tensor, candidates: Tensor, scale: float, bound: float) -> Weights:
        if scale == 1 / 0.4:
            computed.append((anchors, candidates))
        return exponentials(anchors, candidates, scale, bound)

    monkeypatch.setattr(nml_metrics, "exponentials", noted)
    strategy, pair = built("separable", inner_steps=3), with_gradients(a_pair())
    strategy.update(pair.detached())
    assert len(computed) == 1, "once for three steps"
    strategy(pair)
    assert len(computed) == 1, "and they serve the encoder's step"
    strategy(another_pair())
    assert len(computed) == 2, "another pair has similarities of its own"
    strategy(pair)
    assert len(computed) == 3, "they are given away with the encoder's step"
    assert not pair.kept, "and hold no memory then"


@pytest.mark.parametrize("metric", METRICS)
def test_large_panels_are_recomputed_and_give_the_same(metric, monkeypatch):
    pair, again = with_gradients(a_pair()), with_gradients(a_pair())
    strategy = built(metric)
    kept = strategy(pair).value
    weights = strategy.report(pair).weights(0, NODES)
    monkeypatch.setattr(panel, "KEPT_BYTES", 1)
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 1)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 3 * NODES)
    recomputed = strategy(again).value
    torch.testing.assert_close(kept, recomputed)
    torch.testing.assert_close(gradients(kept, pair), gradients(recomputed, again))
    rows = strategy.report(pair).weights
    torch.testing.assert_close(torch.cat([rows(0, 4), rows(4, NODES)]), weights)


@pytest.mark.parametrize("metric", METRICS)
def test_reported_weights_are_the_rows_of_m_with_mean_one_over_the_negatives(metric):
    strategy = built(metric)
    pair = a_pair()
    rows = strategy.report(pair).weights(0, NODES)
    others = ~torch.eye(NODES, dtype=torch.bool)
    torch.testing.assert_close(
        rows[others].view(NODES, -1).mean(dim=1), torch.ones(NODES, dtype=torch.float64)
    )
    if metric != "oracle":
        m = torch.softmax(logits(strategy, pair.u, pair.v), dim=1)
        torch.testing.assert_close(rows / rows.sum(dim=1, keepdim=True), m.detach())


def test_the_regulariser_is_the_divergence_of_torch():
    strategy = built("separable", alpha=0.3)
    pair = a_pair()
    terms = strategy(pair).terms
    uniform = torch.full((NODES, NODES), 1 / NODES, dtype=torch.float64)
    both = [
        kl_div(torch.log_softmax(logits(strategy, *views), dim=1), uniform, reduction="batchmean")
        for views in ((pair.u, pair.v), (pair.v, pair.u))
    ]
    torch.testing.assert_close(
        terms["regulariser"], 0.3 * (NODES - 1) * torch.stack(both).mean().detach()
    )
    assert terms["contrast"] > 0


def test_without_a_metric_it_is_nce_with_every_weight_n_minus_one_over_n():
    pair = a_pair()
    similarities = normalize(pair.u, dim=1) @ normalize(pair.v, dim=1).T / pair.tau
    own = similarities.diagonal()
    share = math.log((NODES - 1) / NODES)
    forth = torch.logaddexp(own, similarities.logsumexp(dim=1) + share) - own
    back = torch.logaddexp(own, similarities.logsumexp(dim=0) + share) - own
    torch.testing.assert_close(built("uniform")(pair).value, 0.5 * (forth + back).mean())


def test_random_slopes_are_drawn_in_training_only_and_a_checkpoint_holds_their_generator():
    strategy, other = built("separable"), built("separable")
    pair = a_pair()
    assert strategy(pair).value == strategy(pair).value
    strategy.train()
    state = strategy.state_dict()
    first, second = strategy(pair).value, strategy(pair).value
    assert first != second
    other.train()
    other(pair)
    other.load_state_dict(state)
    strategy.load_state_dict(state)
    assert strategy(pair).value == other(pair).value


def test_a_checkpoint_holds_the_metrics_adam():
    strategy, other = built("separable"), built("separable")
    strategy.update(a_pair())
    # An optimiser takes the very tensors it is given.
    other.load_state_dict(copy.deepcopy(strategy.state_dict()))
    strategy.update(a_pair())
    other.update(a_pair())
    torch.testing.assert_close(
        list(strategy.parameters()), list(other.parameters()), rtol=0, atol=0
    )


@pytest.mark.parametrize("metric", METRICS)
def test_single_precision_holds_small_temperatures(metric):
    strategy, precise = built(metric), built(metric)
    pair, small = with_gradients(a_pair(0.01)), a_pair(0.01)
    small = with_gradients(replace(small, u=small.u.float(), views=(small.v.float(),)))
    strategy.float()
    loss, wanted = strategy(small).value, precise(pair).value
    torch.testing.assert_close(loss.double(), wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        gradients(loss, small)[0].double(), gradients(wanted, pair)[0], rtol=1e-2, atol=1e-3
    )


def test_nodes_without_direction_have_no_gradient():
    pair = with_gradients(
        replace(
            a_pair(),
            u=torch.cat([torch.zeros(1, WIDTH, dtype=torch.float64), random(NODES - 1, WIDTH, 4)]),
        )
    )
    loss = built("uniform")(pair).value
    found, _ = gradients(loss, pair)
    assert torch.isfinite(loss) and bool((found[0] == 0).all()) and bool((found[1] != 0).any())


def test_a_batch_of_one_node_has_no_negatives():
    strategy = built("separable")
    one = {"batch": torch.tensor([3]), "nodes": NODES}
    pair = Pair(random(1, WIDTH, 1), (random(1, WIDTH, 2),), 0.4, Step(1, 10), **one)
    pair = with_gradients(pair)
    before = [parameter.clone() for parameter in strategy.parameters()]
    strategy.update(pair.detached())
    torch.testing.assert_close(list(strategy.parameters()), before, rtol=0, atol=0)
    loss = strategy(pair).value
    assert loss.item() == 0 and bool((gradients(loss, pair)[0] == 0).all())


def test_a_graph_of_one_node_is_refused():
    with pytest.raises(Unsupported, match="needs two nodes or more, and this graph has 1"):
        Nml().build(WIDTH, 1, Streams(0), torch.device("cpu"))


@pytest.mark.parametrize(
    "values,message",
    [
        ({"inner_steps": 0}, r"negatives.inner_steps=0 is out of range: it must be ≥ 1"),
        ({"alpha": -0.1}, r"negatives.alpha=-0.1 is out of range: it must be ≥ 0"),
        (
            {"metric": "pairwize"},
            (
                r"must be one of separable, pairwise, oracle, uniform, cosine. Did you mean"
                r" 'pairwise'\?"
            ),
        ),
        (
            {"metric": "oracle", "alpha": 0.0},
            r"metric=oracle needs alpha ≥ 1e-09.*try negatives.alpha=0.1",
        ),
        ({"metric": "oracle", "alpha": 1e-16}, r"metric=oracle needs alpha ≥ 1e-09"),
    ],
)
def test_settings_out_of_range(values, message):
    errors: list[str] = []
    assert bind(Nml, values, "negatives", errors) is None
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(errors[0])


def test_the_oracle_is_finite_at_its_least_alpha():
    strategy = built("oracle", alpha=LEAST_ORACLE_ALPHA)
    assert math.isfinite(float(strategy(a_pair()).value))
    m = strategy.metric.unscaled(nml_metrics.Views.of(a_pair()))(0, NODES)
    torch.testing.assert_close(m.sum(dim=1), torch.ones(NODES, dtype=m.dtype))


@pytest.mark.parametrize("metric", METRICS)
def test_who_learns_has_an_optimiser(metric):
    assert built(metric).settings.learns == bool(built(metric).optimisers)
