"""ProGCL against plain loops over pairs, with B written out from SciPy's Beta densities."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind
from gclbench.contrast import blocks, panel
from gclbench.graph import Unsupported
from gclbench.negatives import progcl
from gclbench.negatives.probable_negatives import DEGENERATE, FITTED, WARMING, ProbableNegatives
from gclbench.negatives.progcl import ProgclMix, ProgclWeight
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uniform import UniformNegatives
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH = 9, 5
SETTINGS = {"progcl_weight": ProgclWeight, "progcl_mix": ProgclMix}


def random(seed: int, count: int = NODES) -> Tensor:
    return torch.randn(
        count, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def a_pair(seed: int = 1, iteration: int = 400, **more) -> Pair:
    return Pair(random(seed), (random(seed + 1),), 0.4, Step(iteration, 2000), **more)


def part(pair: Pair) -> Pair:
    """The same rows, as those of the first nodes of a graph of 50."""
    return replace(pair, batch=torch.arange(len(pair.u)), nodes=50)


def built(name: str, nodes: int = NODES, **settings) -> ProbableNegatives:
    if name == "progcl_mix":
        settings.setdefault("selected", 4)
    made = SETTINGS[name](**settings).build(WIDTH, nodes, Streams(0), torch.device("cpu"))
    assert isinstance(made, ProbableNegatives)
    return made


def fitted(name: str, **settings) -> ProbableNegatives:
    """Fitted at the pair of seed 1."""
    strategy = built(name, **settings)
    strategy.update(a_pair())
    assert int(strategy.state) == FITTED
    return strategy


def b_matrix(strategy: ProbableNegatives, u: Tensor, v: Tensor) -> np.ndarray:
    """B_ij = P(low | s)·s for the anchors u, with 0 on the diagonal."""
    s = ((normalize(u, dim=1) @ normalize(v, dim=1).T).numpy() + 1) / 2
    (a, b, w), (c, d, x) = strategy.components.tolist()
    low, high = w * stats.beta.pdf(s, a, b), x * stats.beta.pdf(s, c, d)
    hardness = low / (low + high) * s
    np.fill_diagonal(hardness, 0)
    return hardness


def weight_direction(b: np.ndarray, theta: Tensor, rho: Tensor | None, tau: float) -> Tensor:
    """ℓ_i of progcl_weight, pair by pair."""
    losses = []
    for i in range(len(theta)):
        own = torch.exp(theta[i, i] / tau)
        mean = sum(b[i, j] for j in range(len(theta)) if j != i) / (len(theta) - 1)
        negatives = torch.zeros((), dtype=theta.dtype)
        for j in range(len(theta)):
            if j != i:
                both = torch.exp(theta[i, j] / tau) + (
                    0 if rho is None else torch.exp(rho[i, j] / tau)
                )
                negatives = negatives + b[i, j] / mean * both
        losses.append(-torch.log(own / (own + negatives)))
    return torch.stack(losses)


def mix_direction(
    b: np.ndarray, theta: Tensor, rho: Tensor | None, tau: float, partner: list[int]
) -> Tensor:
    """ℓ_i of progcl_mix, pair by pair."""
    losses = []
    for i in range(len(theta)):
        total = torch.exp(theta[i] / tau).sum()
        if rho is not None:
            total = total + sum(torch.exp(rho[i, j] / tau) for j in range(len(theta)) if j != i)
        hardest = sorted((j for j in range(len(theta)) if j != i), key=lambda j: -b[i, j])[
            : len(partner)
        ]
        for first, other in enumerate(partner):
            j, k = hardest[first], hardest[other]
            mixed = (b[i, j] * theta[i, j] + b[i, k] * theta[i, k]) / (b[i, j] + b[i, k])
            total = total + torch.exp(mixed / tau)
        losses.append(torch.log(total) - theta[i, i] / tau)
    return torch.stack(losses)


def reference(
    strategy: ProbableNegatives, pair: Pair, at: Pair, permutations: list[list[int]]
) -> Tensor:
    """The loss of `pair`, with B of the pair `at`."""
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    both = []
    for number, (anchors, others, ref_anchors, ref_others) in enumerate(
        ((u, v, at.u, at.v), (v, u, at.v, at.u))
    ):
        b = b_matrix(strategy, ref_anchors.detach(), ref_others.detach())
        theta, rho = anchors @ others.T, (anchors @ anchors.T if pair.intra else None)
        if isinstance(strategy.settings, ProgclMix):
            both.append(mix_direction(b, theta, rho, pair.tau, permutations[number]))
        else:
            both.append(weight_direction(b, theta, rho, pair.tau))
    return 0.5 * (both[0].mean() + both[1].mean())


def permutations_of(strategy: ProbableNegatives) -> list[list[int]]:
    """The permutations of the next two directions, without drawing them."""
    generator = copy.deepcopy(strategy).generators["draws"]
    return [torch.randperm(4, generator=generator).tolist() for _ in range(2)]


def with_gradients(pair: Pair) -> Pair:
    v = pair.v.clone().requires_grad_()
    return replace(pair, u=pair.u.clone().requires_grad_(), views=(v,))


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("block", [None, 1, 2, 4, 9])
@pytest.mark.parametrize("name", SETTINGS)
def test_loss_and_gradient_equal_those_of_a_loop_over_pairs(name, block, intra):
    strategy = fitted(name)
    now = a_pair(5, 600, intra=intra)
    ours, plain = with_gradients(replace(now, block=block)), with_gradients(now)
    wanted = reference(strategy, plain, a_pair(), permutations_of(strategy))
    loss = strategy(ours).value
    torch.testing.assert_close(loss, wanted)
    found = torch.autograd.grad(loss, (ours.u, ours.v))
    torch.testing.assert_close(found, torch.autograd.grad(wanted, (plain.u, plain.v)))


@pytest.mark.parametrize("name", SETTINGS)
def test_gradient_equals_finite_differences(name):
    strategy = fitted(name)
    pair = with_gradients(a_pair(5, 600, block=4))
    state = strategy.generators["draws"].get_state()

    def loss(u: Tensor, v: Tensor) -> Tensor:
        strategy.generators["draws"].set_state(state)
        return strategy(replace(pair, u=u, views=(v,))).value

    assert torch.autograd.gradcheck(loss, (pair.u, pair.v), fast_mode=True)


def holds(strategy, pair: Pair) -> bool:
    """Whether what it needs in every iteration is in memory."""
    if isinstance(strategy, progcl.WeightedNegatives):
        first, second = strategy._matrices(pair), strategy._matrices(pair)
        assert all(a[0].data_ptr() == b[0].data_ptr() for a, b in zip(first, second, strict=True))
        return len(first) == 2
    return strategy._kept.get(True) is not None


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_too_large_to_keep_is_computed_again_and_is_the_same(name, monkeypatch):
    kept, again = fitted(name), fitted(name)
    pair, other = with_gradients(a_pair(5, 600)), with_gradients(a_pair(5, 600))
    loss = kept(pair).value
    monkeypatch.setattr(panel, "KEPT_BYTES", 1)
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 1)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 2 * NODES)
    recomputed = again(other).value
    assert holds(kept, pair) and not holds(again, other)
    torch.testing.assert_close(loss, recomputed)
    torch.testing.assert_close(
        torch.autograd.grad(loss, pair.u), torch.autograd.grad(recomputed, other.u)
    )


@pytest.mark.parametrize("intra", [True, False])
def test_both_directions_at_once_are_each_by_itself(intra):
    strategy = fitted("progcl_weight")
    pair = replace(with_gradients(a_pair(5, 600)), intra=intra)
    together = strategy._directions(pair)
    alone = strategy._direction(pair, True), strategy._direction(pair.swapped(), False)
    assert not torch.allclose(*alone), "the directions weigh alike, so that swapped ones would pass"
    for ours, wanted in zip(together, alone, strict=True):
        torch.testing.assert_close(ours, wanted)
        pull = torch.linspace(1, 2, len(ours), dtype=ours.dtype)
        torch.testing.assert_close(
            torch.autograd.grad(ours @ pull, (pair.u, pair.v), retain_graph=True),
            torch.autograd.grad(wanted @ pull, (pair.u, pair.v), retain_graph=True),
        )


@pytest.mark.parametrize("name", SETTINGS)
def test_warm_up_is_uniform_and_the_fit_comes_at_its_iteration(name):
    strategy = built(name, start_epoch=3)
    for iteration in (1, 2, 3, 4):
        pair = a_pair(iteration, iteration)
        strategy.update(pair)
        plain = UniformNegatives()(pair)
        assert int(strategy.state) == (WARMING if iteration < 3 else FITTED)
        loss = strategy(pair)
        assert bool(loss.value == plain.value) == (iteration < 3)
        assert loss.final == (iteration >= 3), "early stopping waits for the fit"
    # Once: the third pair stays the reference.
    torch.testing.assert_close(strategy.reference_u, normalize(a_pair(3).u, dim=1))


@pytest.mark.parametrize("total,expected", [(1, 1), (2, 2), (200, 101), (798, 400), (2000, 400)])
def test_a_short_training_is_weighted_in_its_second_half(total, expected):
    assert built("progcl_weight").start(replace(a_pair(), step=Step(400, total))) == expected


@pytest.mark.parametrize("name", SETTINGS)
def test_in_a_batch_b_is_that_of_the_batch_itself(name):
    strategy = built(name, nodes=50)
    pair = part(a_pair(5, 600))
    strategy.update(pair)
    assert int(strategy.state) == FITTED and not bool(strategy.referenced)
    wanted = reference(strategy, pair, pair, permutations_of(strategy))
    torch.testing.assert_close(strategy(pair).value, wanted)
    other = part(a_pair(7, 600))
    wanted = reference(strategy, other, other, permutations_of(strategy))
    torch.testing.assert_close(strategy(other).value, wanted)


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_batch_without_two_negatives_is_uniform_and_waits_with_the_fit(name, count, intra):
    views = (random(6, count),)
    few = part(replace(a_pair(5, 600, intra=intra), u=random(5, count), views=views))
    ours, plain = with_gradients(few), with_gradients(few)
    loss, wanted = fitted(name)(ours).value, UniformNegatives()(plain).value
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(loss, (ours.u, ours.v)), torch.autograd.grad(wanted, (plain.u, plain.v))
    )
    waiting = built(name)
    waiting.update(few)
    assert int(waiting.state) == WARMING


def test_the_sample_has_no_positives_and_as_many_columns_as_asked_for():
    strategy = built("progcl_weight", sampled_columns=4)
    u = normalize(random(1), dim=1)
    values = strategy._sample(u, u)
    assert values.shape == (4 * (NODES - 1),)
    assert float(values.max()) < 1 - 1e-9
    everything = built("progcl_weight")._sample(u, u)
    negatives = (u @ u.T + 1) / 2
    torch.testing.assert_close(
        everything.sort().values, negatives[~torch.eye(NODES, dtype=torch.bool)].sort().values
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_similarities_without_two_components_leave_the_negatives_uniform(name):
    strategy = built(name)
    same = torch.ones(NODES, WIDTH, dtype=torch.float64)
    strategy.update(replace(a_pair(), u=same, views=(same,)))
    report = strategy.report(a_pair())
    assert report.findings == {"progcl_degenerate": 1.0}
    assert list(report.remarks) == [
        "ProGCL found no two components in the similarities: its negatives stayed uniform"
    ]
    told = fitted(name).report(a_pair())
    assert (told.findings, list(told.remarks)) == ({"progcl_degenerate": 0.0}, [])
    assert int(strategy.state) == DEGENERATE
    later = a_pair(5, 600)
    strategy.update(later)
    assert int(strategy.state) == DEGENERATE
    loss = strategy(later)
    torch.testing.assert_close(loss.value, UniformNegatives()(later).value)
    assert loss.final, "nothing else is to come"


def test_a_row_in_which_no_negative_is_probable_counts_all_alike():
    strategy = fitted("progcl_weight")
    # Far from 1 the low component is certain to be out: B underflows to 0.
    strategy.components.copy_(torch.tensor([[1e9, 1e9, 0.5], [2.0, 1.0, 0.5]], dtype=torch.float64))
    strategy.reference_u, strategy.reference_v = (
        torch.ones_like(strategy.reference_u),
        torch.ones_like(strategy.reference_v),
    )
    strategy._kept = {}
    pair = a_pair(5, 600)
    torch.testing.assert_close(
        strategy.report(pair).weights(0, NODES), torch.ones(NODES, NODES, dtype=torch.float64)
    )
    torch.testing.assert_close(strategy(pair).value, UniformNegatives()(pair).value)


def test_reported_weights_are_b_with_mean_one_over_the_negatives():
    strategy = fitted("progcl_weight")
    rows = strategy.report(a_pair(5, 600)).weights(2, 6)
    b = b_matrix(strategy, a_pair().u, a_pair().v)
    wanted = torch.from_numpy(b / b.sum(axis=1, keepdims=True) * (NODES - 1)) + torch.eye(
        NODES, dtype=torch.float64
    )
    torch.testing.assert_close(rows, wanted[2:6])
    warming = built("progcl_weight").report(a_pair()).weights(0, 3)
    assert bool((warming == 1).all()) and warming.shape == (3, NODES)
    assert fitted("progcl_mix").report(a_pair()).weights is None


@pytest.mark.parametrize("name", SETTINGS)
def test_a_checkpoint_holds_the_fit_and_the_draws(name):
    strategy, other = fitted(name).float(), built(name)
    pair = replace(a_pair(5, 600), u=random(5).float(), views=(random(6).float(),))
    strategy(pair)
    # A fit of its own, whose kept weights must go.
    other.update(a_pair(11))
    other.float()(pair)
    other.load_state_dict(copy.deepcopy(strategy.state_dict()))
    for _ in range(2):
        assert strategy(pair).value == other(pair).value


def test_more_mixtures_than_negatives_are_as_many_as_there_are():
    wide, all_of_them = (
        fitted("progcl_mix", selected=1000),
        fitted("progcl_mix", selected=NODES - 1),
    )
    pair = a_pair(5, 600)
    torch.testing.assert_close(wide(pair).value, all_of_them(pair).value)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_graph_of_two_nodes_is_refused(name):
    with pytest.raises(
        Unsupported,
        match=(
            f"negatives={name} needs two negatives for an anchor, hence three nodes, and this graph"
            " has 2; negatives=uniform"
        ),
    ):
        SETTINGS[name]().build(WIDTH, 2, Streams(0), torch.device("cpu"))


@pytest.mark.parametrize(
    "cls,key,value,rule",
    [
        (ProgclWeight, "high_weight", 1.0, "> 0 and < 1, for example 0.05"),
        (ProgclWeight, "start_epoch", 0, "≥ 1, for example 400"),
        (ProgclMix, "selected", 1, "≥ 2, for example 1000"),
    ],
)
def test_settings_out_of_range(cls, key, value, rule):
    errors: list[str] = []
    assert bind(cls, {key: value}, "negatives", errors) is None
    assert errors == [f"negatives.{key}={value} is out of range: it must be {rule}"]


def test_rows_with_few_probable_negatives_are_filled_up_without_the_positive():
    """B is 0 for all but two candidates of each row: the others share equally, and the anchor's own
    node is never one of them."""
    strategy = fitted("progcl_mix", selected=NODES - 1)
    b = torch.zeros(NODES, NODES, dtype=torch.float64)
    for i in range(NODES):
        b[i, (i + 1) % NODES], b[i, (i + 2) % NODES] = 0.5, 0.25
    strategy._hardness = lambda pair, forth: lambda start, stop: b[start:stop].clone()
    index, best = strategy._hardest(a_pair(5, 600), forth=True)(0, NODES)
    for i in range(NODES):
        assert sorted(index[i].tolist()) == [j for j in range(NODES) if j != i]
    assert bool((best > 0).all()) and best[:, :2].tolist() == [[0.5, 0.25]] * NODES
    assert bool((best[:, 2:] == best[0, 2]).all()), "two of no weight share equally"
    assert bool(torch.isfinite(strategy(a_pair(5, 600)).value))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_mixture_that_is_never_fitted_is_told(name):
    strategy, pair = built(name), a_pair()
    few = part(replace(pair, u=pair.u[:2], views=(pair.v[:2],)))

    def findings(at: Step) -> dict[str, float]:
        return dict(strategy.report(replace(few, step=at)).findings)

    assert findings(Step(399, 2000)) == {}, "its time has not come"
    assert findings(Step(1, 0)) == {}, "nothing is trained"
    strategy.update(few)
    report = strategy.report(few)
    assert report.findings == {"progcl_unfitted": 1.0}
    assert list(report.remarks) == [
        "ProGCL never fitted its mixture, as no batch had three nodes: its negatives stayed uniform"
    ]
    strategy.update(pair)
    report = strategy.report(pair)
    assert report.findings == {"progcl_degenerate": 0.0} and not report.remarks
