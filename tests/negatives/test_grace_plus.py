"""GRACE+ against plain loops over pairs, with R from dense matrices in float64."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind
from gclbench.contrast import blocks, panel
from gclbench.graph import Unsupported
from gclbench.negatives import grace_plus
from gclbench.negatives.affinity import Affinity
from gclbench.negatives.grace_plus import GracePlusNegatives, GracePlusWeights
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH, INPUTS = 9, 5, 7
EDGES = torch.tensor([[0, 1, 1, 2, 2, 0, 3, 4, 5, 6], [1, 0, 2, 1, 0, 2, 4, 3, 6, 5]])
X = torch.rand(NODES, INPUTS, generator=torch.Generator().manual_seed(9))
X[8] = 0


def random(seed: int) -> Tensor:
    return torch.randn(
        NODES, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def a_pair(seed: int = 1, **more) -> Pair:
    known = {"edge_index": EDGES, "features": X, **more}
    return Pair(
        random(seed).requires_grad_(),
        (random(seed + 1).requires_grad_(),),
        0.4,
        Step(1, 10),
        **known,
    )


def built(**settings) -> GracePlusNegatives:
    made = GracePlusWeights(**settings).build(WIDTH, NODES, Streams(0), torch.device("cpu"))
    assert isinstance(made, GracePlusNegatives)
    return made


def dense_affinity(share: float) -> Tensor:
    """R, N×N in float64, step by step."""
    adjacency = torch.eye(NODES, dtype=torch.float64)
    adjacency[EDGES[0], EDGES[1]] = 1
    degree = adjacency.sum(dim=1)
    s = adjacency / (degree[:, None] * degree).sqrt()
    ppr = torch.eye(NODES, dtype=torch.float64)
    for _ in range(20):
        ppr = 0.9 * s @ ppr + 0.1 * torch.eye(NODES, dtype=torch.float64)
    unit = normalize(X.double(), dim=1)
    cosine = unit @ unit.T
    return (1 - share) * ppr + share * ppr.mean() / cosine.mean() * cosine


def weights(similar: Tensor, tau_positive: float, tau_negative: float) -> tuple[Tensor, Tensor]:
    """(n, p), pair by pair."""
    count = len(similar)
    most = math.log(torch.finfo(torch.float32).max / (10 * count))
    n, p = torch.zeros_like(similar), torch.zeros_like(similar)
    for i in range(count):
        for j in range(count):
            p[i, j] = math.expm1(min(float(similar[i, j]) / tau_positive, most))
            if i == j:
                p[i, j] = max(1.0, float(p[i, j]))
            else:
                n[i, j] = math.exp(-float(similar[i, j]) / tau_negative)
        n[i] *= (count - 1) / n[i].sum()
        p[i] /= p[i].sum()
    return n, p


def reference(pair: Pair, n: Tensor, p: Tensor, anchors: list[int] | None = None) -> Tensor:
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    count, losses = len(u), []
    for a, b in ((u, v), (v, u)):
        theta, rho = a @ b.T / pair.tau, a @ a.T / pair.tau
        for i in range(count) if anchors is None else anchors:
            positive = torch.exp(sum(p[i, j] * theta[i, j] for j in range(count)))
            below = torch.exp(theta[i, i])
            if pair.intra:
                inner = (p[i, j] * rho[i, j] for j in range(count) if j != i)
                positive = positive + torch.exp(sum(inner))
            for j in range(count):
                if j != i:
                    below = below + n[i, j] * torch.exp(theta[i, j])
                    if pair.intra:
                        below = below + n[i, j] * torch.exp(rho[i, j])
            losses.append(-torch.log(positive / below))
    return torch.stack(losses).mean()


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_the_affinity_is_that_of_dense_matrices(share):
    affinity = Affinity(X, EDGES, share, entries=NODES)
    found = affinity.rows(torch.arange(NODES))
    torch.testing.assert_close(found.double(), dense_affinity(share), rtol=1e-5, atol=1e-6)
    batch = torch.tensor([7, 2, 0, 5])
    torch.testing.assert_close(affinity.rows(batch, batch), found[batch][:, batch])


def test_pagerank_takes_twenty_steps():
    """On a path a walk is far from its limit, so that one step more or less shows."""
    nodes = 40
    there = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    adjacency = torch.eye(nodes, dtype=torch.float64)
    adjacency[there[0], there[1]] = adjacency[there[1], there[0]] = 1
    root = adjacency.sum(dim=1).rsqrt()
    ppr = torch.eye(nodes, dtype=torch.float64)
    for _ in range(20):
        ppr = 0.9 * (root[:, None] * adjacency * root) @ ppr + 0.1 * torch.eye(nodes)
    edges = torch.cat([there, there.flip(0)], dim=1)
    found = Affinity(torch.ones(nodes, 2), edges, 0.0, entries=nodes).rows(torch.arange(nodes))
    torch.testing.assert_close(found.double(), ppr, rtol=1e-5, atol=1e-6)


def test_of_a_row_of_pagerank_the_largest_entries_are_kept():
    whole = dense_affinity(0.0)
    found = Affinity(X, EDGES, 0.0, entries=2).rows(torch.arange(NODES)).double()
    best = whole.topk(2, dim=1)
    wanted = torch.zeros_like(whole).scatter(1, best.indices, best.values)
    torch.testing.assert_close(found.sort().values, wanted.sort().values, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("block", [None, 1, 3, 4])
@pytest.mark.parametrize("kept", [True, False])
def test_loss_and_gradient_equal_those_of_a_loop_over_pairs(kept, block, intra, monkeypatch):
    if not kept:
        monkeypatch.setattr(grace_plus, "KEPT_BYTES", 1)
        monkeypatch.setattr(blocks, "KEPT_ENTRIES", 1)
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 6 * NODES)
    ours, plain = a_pair(block=block, intra=intra), a_pair(intra=intra)
    strategy = built(tau_positive=0.05, tau_negative=0.2, feature_share=0.4)
    loss = strategy(ours).value
    assert (strategy._kept is not None) == kept
    wanted = reference(plain, *weights(dense_affinity(0.4), 0.05, 0.2))
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        torch.autograd.grad(loss, (ours.u, ours.v)),
        torch.autograd.grad(wanted, (plain.u, plain.v)),
        rtol=1e-4,
        atol=1e-6,
    )


def test_weights_that_are_kept_are_computed_some_rows_at_a_time(monkeypatch):
    pair, rows = a_pair(), torch.arange(NODES)
    whole = built()._weights(pair, rows)
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 1)
    monkeypatch.setattr(panel, "TILE_ROWS", 2)
    strategy = built()
    in_parts = strategy._weights(pair, rows)
    assert strategy._kept is not None
    for first, second in zip(whole, in_parts, strict=True):
        torch.testing.assert_close(first, second)


def test_gradient_equals_finite_differences():
    strategy, pair = built(), a_pair(block=4)

    def loss(u: Tensor, v: Tensor) -> Tensor:
        return strategy(replace(pair, u=u, views=(v,))).value

    assert torch.autograd.gradcheck(loss, (pair.u, pair.v), fast_mode=True)


def test_anchors_are_drawn_for_both_directions_and_all_views():
    strategy, pair = built(anchors=4), a_pair()
    state = strategy.generators["anchors"].get_state()
    chosen = torch.randperm(NODES, generator=strategy.generators["anchors"])[:4].tolist()
    strategy.generators["anchors"].set_state(state)
    n, p = weights(dense_affinity(0.6), 0.1, 0.1)
    wanted = reference(pair, n, p, chosen)
    several = replace(pair, views=(pair.v, pair.v))
    torch.testing.assert_close(strategy(several).value, wanted, rtol=1e-5, atol=1e-6)
    other = strategy(pair).value
    assert abs((other - wanted).item()) > 1e-4, "the next iteration draws others"
    torch.testing.assert_close(
        built(anchors=50)(pair).value, reference(pair, n, p), rtol=1e-5, atol=1e-6
    )


def test_in_a_batch_the_weights_are_scaled_among_its_nodes():
    batch = torch.tensor([7, 2, 0, 5, 1])
    pair = a_pair(batch=batch, nodes=NODES, batched=True)
    part = replace(pair, u=pair.u[:5], views=(pair.v[:5],))
    similar = dense_affinity(0.6)[batch][:, batch]
    n, p = weights(similar, 0.1, 0.1)
    torch.testing.assert_close(built()(part).value, reference(part, n, p), rtol=1e-5, atol=1e-6)
    found = built().report(part).weights
    assert found is not None
    torch.testing.assert_close(found(0, 5).double(), n, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tau", [1e-3, 1e-6])
def test_a_small_temperature_leaves_the_weights_finite(tau):
    """e^{R/τ⁺} is beyond float32, and every e^{−R/τ⁻} below it."""
    strategy, pair = built(tau_positive=tau, tau_negative=tau), a_pair()
    n, p = strategy._weights(pair, torch.arange(NODES))
    torch.testing.assert_close(p.sum(dim=1), torch.ones(NODES))
    torch.testing.assert_close(n.sum(dim=1), torch.full((NODES,), NODES - 1.0))
    assert bool(strategy(pair).value.isfinite())


def test_features_of_zeros_leave_the_graph_alone():
    pair = a_pair(features=torch.zeros(NODES, 3))
    n, p = weights(0.4 * dense_affinity(0.0), 0.1, 0.1)
    torch.testing.assert_close(built()(pair).value, reference(pair, n, p), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["tau_positive", "tau_negative"])
def test_a_temperature_of_zero_is_refused(name):
    errors: list[str] = []
    assert bind(GracePlusWeights, {name: 0}, "negatives", errors) is None
    assert errors == [f"negatives.{name}=0 is out of range: it must be > 0, for example 0.1"]


def test_what_it_needs_is_said():
    with pytest.raises(Unsupported, match="needs two nodes or more, and this graph has 1"):
        GracePlusWeights().build(WIDTH, 1, Streams(0), torch.device("cpu"))
    with pytest.raises(Unsupported, match="weights nodes by edges and features"):
        built()(a_pair(features=None))
