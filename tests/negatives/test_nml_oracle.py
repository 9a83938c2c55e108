"""The closed form of NML's inner problem, and what the NML-GCL paper proves with it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.negatives.nml import Nml
from gclbench.negatives.nml_oracle import optimal_weights
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH = 9, 4


def unit(seed: int, count: int = NODES) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(count, WIDTH, generator=generator, dtype=torch.float64), dim=1)


def objective(m: Tensor, similarities: Tensor, alpha: float) -> Tensor:
    """ℓ_i + α·reg_i of each anchor, (N,)."""
    count = len(m)
    own = similarities.diagonal()
    contrast = torch.log(own.exp() + (count - 1) * (m * similarities.exp()).sum(dim=1)) - own
    return contrast + alpha * (count - 1) * (-math.log(count) - m.log().mean(dim=1))


@pytest.mark.parametrize("block", [None, 1, 4])
@pytest.mark.parametrize("tau", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 0.125, 1.0, 100.0])  # α(N−1) below, at and above 1
def test_rows_sum_to_one_and_satisfy_the_conditions_of_an_optimum(alpha, tau, block):
    u, v = unit(0), unit(1)
    m = optimal_weights(u, v, tau, alpha, block)(0, NODES)
    torch.testing.assert_close(
        m.sum(dim=1), torch.ones(NODES, dtype=torch.float64), rtol=1e-12, atol=1e-12
    )
    assert bool((m > 0).all())
    m = m.clone().requires_grad_()
    (slope,) = torch.autograd.grad(objective(m, u @ v.T / tau, alpha).sum(), m)
    # On the simplex the slopes of a row are all the same, so no weight is better placed elsewhere.
    # A slope is a difference of two terms, of which the regulariser's grows without bound as a
    # weight vanishes: it is the measure.
    level = slope.gather(1, m.argmax(dim=1, keepdim=True))
    off = (slope - level).abs() * m.detach() * NODES / (alpha * (NODES - 1))
    assert off.max() < 1e-9


def test_it_is_what_gradient_descent_over_all_rows_finds():
    u, v, tau, alpha = unit(0), unit(1), 0.5, 0.1
    similarities = u @ v.T / tau
    raw = torch.zeros(NODES, NODES, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [raw],
        max_iter=500,
        tolerance_grad=1e-12,
        tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = objective(torch.softmax(raw, dim=1), similarities, alpha).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    torch.testing.assert_close(
        optimal_weights(u, v, tau, alpha)(0, NODES),
        torch.softmax(raw, dim=1).detach(),
        rtol=1e-5,
        atol=1e-7,
    )


def test_look_alikes_get_less_weight_and_a_large_alpha_gives_uniform_rows():
    u, v = unit(0), unit(1)
    m = optimal_weights(u, v, 0.5, 0.1)(0, NODES)
    order = (u @ v.T).argsort(dim=1)
    assert bool((m.gather(1, order).diff(dim=1) < 0).all())
    torch.testing.assert_close(
        optimal_weights(u, v, 0.5, 1e6)(0, NODES), torch.full_like(m, 1 / NODES), rtol=1e-4, atol=0
    )


def test_the_divergence_is_that_of_the_weights_and_blocks_do_not_matter():
    u, v = unit(0), unit(1)
    whole = optimal_weights(u, v, 0.3, 0.2)
    torch.testing.assert_close(whole.mean_log, whole(0, NODES).log().mean(dim=1))
    cut = optimal_weights(u, v, 0.3, 0.2, block=2)
    torch.testing.assert_close(
        torch.cat([cut(0, 5), cut(5, NODES)]), whole(0, NODES), rtol=1e-13, atol=0
    )


def test_single_precision_views_give_weights_that_sum_to_one():
    m = optimal_weights(unit(0).float(), unit(1).float(), 0.05, 0.01)(0, NODES)
    assert m.dtype == torch.float32
    torch.testing.assert_close(m.sum(dim=1), torch.ones(NODES))


def test_the_strategys_gradient_is_that_of_the_inner_optimum():
    """By the envelope theorem constant weights lose nothing: the gradient of min over m is the
    gradient at the minimum."""
    strategy = Nml(metric="oracle", alpha=0.2).build(WIDTH, NODES, Streams(0), torch.device("cpu"))
    few = [unit(seed, 4).requires_grad_() for seed in (0, 1)]
    assert torch.autograd.gradcheck(
        lambda a, b: strategy(Pair(a, (b,), 0.5, Step(1, 1), block=3)).value, few
    )
    u, v = unit(0), unit(1)
    wanted = 0.5 * sum(
        objective(optimal_weights(a, b, 0.5, 0.2)(0, NODES), a @ b.T / 0.5, 0.2).mean()
        for a, b in ((u, v), (v, u))
    )
    torch.testing.assert_close(strategy(Pair(u, (v,), 0.5, Step(1, 1))).value, wanted)


def nce(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """Eq. 2, the mean of both directions: every other node with weight 1."""
    similarities = u @ v.T / tau
    return (
        0.5
        * (
            similarities.logsumexp(dim=1)
            + similarities.logsumexp(dim=0)
            - 2 * similarities.diagonal()
        ).mean()
    )


def best_contrast(u: Tensor, v: Tensor, tau: float, alpha: float) -> float:
    """Eq. 5 at the optimum of Eq. 7, the mean of both directions."""
    strategy = Nml(metric="oracle", alpha=alpha).build(
        WIDTH, len(u), Streams(0), torch.device("cpu")
    )
    return float(strategy(Pair(u, (v,), tau, Step(1, 1))).terms["contrast"])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tau,room", [(0.1, 8.0), (0.5, 0.9), (2.0, 0.07)])
def test_theorem_1_the_bound_of_nml_is_the_tighter_one(tau, room, seed):
    """I_NML = log N − min_m ℓ_NML ≥ I_NCE = log N − ℓ_NCE: m_ij = 1/(N−1) off the diagonal is one
    choice of m, the optimum no worse.

    With a regulariser the optimum of the sum is compared through its contrast term alone, which
    rises with α: proven is the order for α → 0 only. Of independent views it holds at the method's
    α too, there with little room where τ is high.
    """
    u, v = unit(seed), unit(seed + 100)
    plain = float(nce(u, v, tau))
    contrasts = [best_contrast(u, v, tau, alpha) for alpha in (1e-6, 1e-3, 1e-2, Nml().alpha, 1.0)]
    assert contrasts == sorted(contrasts)
    assert contrasts[0] < contrasts[3] and plain - room < contrasts[3] < plain


@pytest.mark.parametrize(
    "nodes,tau,room", [(50, 0.5, 0.15), (50, 2.0, 0.002), (300, 0.5, 0.02), (300, 2.0, 0.0002)]
)
def test_at_the_methods_alpha_the_bound_of_nml_is_hardly_tighter_on_many_nodes(nodes, tau, room):
    """Of two views that resemble each other: where α(N−1) is large, the weights are all but
    uniform, and so are those of NCE."""
    u = unit(0, nodes)
    v = normalize(u + 0.3 * unit(1, nodes), dim=1)
    plain = float(nce(u, v, tau))
    assert plain - room < best_contrast(u, v, tau, Nml().alpha) < plain


def test_at_the_methods_alpha_theorem_1_is_no_theorem():
    """Of few nodes with perfect positives, the weight that the regulariser leaves on these costs
    more than the others gain."""
    u = unit(0)
    assert (
        best_contrast(u, u, 0.1, 1e-6)
        < float(nce(u, u, 0.1))
        < best_contrast(u, u, 0.1, Nml().alpha)
    )


@pytest.mark.parametrize("metric", ["separable", "pairwise", "uniform"])
def test_no_metric_has_a_lower_objective_than_the_oracle(metric):
    u, v = unit(0), unit(1)
    best = Nml(metric="oracle", alpha=0.1).build(WIDTH, NODES, Streams(0), torch.device("cpu"))
    learned = Nml(metric=metric, alpha=0.1, inner_steps=100, lr=0.02, hidden=16).build(
        WIDTH, NODES, Streams(0), torch.device("cpu")
    )
    pair = Pair(u, (v,), 0.5, Step(1, 1))
    learned.double().eval()
    start = float(learned(pair).value)
    learned.update(pair)
    end, least = float(learned(pair).value), float(best(pair).value)
    assert least < end <= start
    if metric == "pairwise":
        # A network of the pair can imitate the optimum: most of what there is to gain it gains.
        assert end - least < 0.2 * (start - least)
