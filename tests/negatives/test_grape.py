"""GRAPE: the loss against plain loops over pairs, C against autograd on dense matrices."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind
from gclbench.graph import Unsupported
from gclbench.negatives import self_expression
from gclbench.negatives.grape import Grape, GrapeNegatives
from gclbench.negatives.self_expression import Moved, SelfExpression, scaled, within_hops
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH, INPUTS = 9, 5, 7
PATH = torch.tensor([[0, 1, 2, 3, 5, 6], [1, 2, 3, 4, 6, 7]])
EDGES = torch.cat([PATH, PATH.flip(0)], dim=1)


def random(seed: int) -> Tensor:
    return torch.randn(
        NODES, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


Z = random(7)


def a_pair(iteration: int = 1, **more) -> Pair:
    known = {
        "edge_index": EDGES,
        "features": torch.ones(NODES, INPUTS),
        "plain": lambda: Z,
        **more,
    }
    return Pair(
        random(1).requires_grad_(),
        (random(2).requires_grad_(),),
        0.4,
        Step(iteration, 10),
        **known,
    )


def built(**settings) -> GrapeNegatives:
    made = Grape(**settings).build(WIDTH, NODES, Streams(0), torch.device("cpu"))
    assert isinstance(made, GrapeNegatives)
    return made


def learned(**settings) -> tuple[GrapeNegatives, Tensor]:
    """A strategy after its first learning, and its S as N×N."""
    strategy = built(**settings)
    strategy.update(a_pair().detached())
    pairs, share = strategy._pairs, strategy._share
    assert pairs is not None and share is not None
    dense = torch.zeros(NODES, NODES, dtype=torch.float64)
    dense[pairs[0], pairs[1]] = share.double()
    return strategy, dense


def reference(pair: Pair, s: Tensor, scheme: str) -> Tensor:
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    losses = []
    for a, b in ((u, v), (v, u)):
        theta, rho = torch.exp(a @ b.T / pair.tau), torch.exp(a @ a.T / pair.tau)
        for i in range(NODES):
            above, negatives = theta[i, i], torch.zeros((), dtype=theta.dtype)
            for j in range(NODES):
                if j != i:
                    kept = 1 - s[i, j] if scheme == "mask" else 1.0
                    negatives = negatives + kept * theta[i, j]
                    if pair.intra:
                        negatives = negatives + kept * rho[i, j]
                    if scheme == "weight":
                        above = above + s[i, j] * rho[i, j]
            losses.append(-torch.log(above / (above + negatives)))
    return torch.stack(losses).mean()


@pytest.mark.parametrize("hops", [1, 2, 3, 9])
def test_the_pattern_is_all_pairs_within_hops(hops):
    distance = torch.full((NODES, NODES), 99)
    distance[EDGES[0], EDGES[1]] = 1
    for k in range(NODES):
        distance = torch.minimum(distance, distance[:, k, None] + distance[k])
    distance.fill_diagonal_(99)
    assert torch.equal(within_hops(EDGES, NODES, hops), (distance <= hops).nonzero().T)


def test_a_pattern_that_is_too_dense_is_refused_with_its_memory(monkeypatch):
    monkeypatch.setattr(self_expression, "MOST_PAIRS", 1 << 24)
    monkeypatch.setattr(self_expression, "BLOCK_ENTRIES", 1 << 22)
    nodes = 6000
    star = torch.stack([torch.zeros(nodes - 1, dtype=torch.int64), torch.arange(1, nodes)])
    edges = torch.cat([star, star.flip(0)], dim=1)
    assert within_hops(edges, nodes, 1).shape[1] == 2 * (nodes - 1)
    with pytest.raises(Unsupported) as refused:
        within_hops(edges, nodes, 2)
    assert refused.value.reason == (
        "negatives=grape keeps a number for every pair of nodes within negatives.hops=2: about"
        " 3.6e+07 of 6,000 nodes, which take 4.7 GiB, and 2.2 GiB are the most; negatives.hops=1"
        " has fewer"
    )
    monkeypatch.setattr(self_expression, "MOST_PAIRS", 1 << 10)
    with pytest.raises(Unsupported, match=r"0\.0 GiB are the most; negatives=homogcl keeps edges"):
        within_hops(edges, nodes, 1)


@pytest.mark.parametrize("active", ["all", "positive", "some", "none"])
def test_the_gradient_of_c_is_that_of_dense_matrices(active):
    pairs = within_hops(EDGES, NODES, 2)
    generator = torch.Generator().manual_seed(0)
    value = torch.randn(pairs.shape[1], generator=generator, dtype=torch.float64)
    moved = {
        "all": torch.ones_like(value, dtype=torch.bool),
        "positive": value > 0,
        "some": torch.rand(len(value), generator=generator) < 0.5,
        "none": torch.zeros_like(value, dtype=torch.bool),
    }[active]
    dense = torch.zeros(NODES, NODES, dtype=torch.float64)
    dense[pairs[0], pairs[1]] = value
    dense.requires_grad_()
    columns = dense.abs().sum(dim=0).sum() * 0.3
    # A column of zeros has no gradient of its length.
    lengths = [column.norm() for column in dense.T if bool(column.any())]
    loss = (Z - dense.relu() @ Z).norm() / INPUTS
    loss = loss + 2.0 * (columns + 0.35 * torch.stack(lengths).sum())
    (wanted,) = torch.autograd.grad(loss, dense)
    expression = SelfExpression(pairs, value, moved, NODES, INPUTS, 2.0, 0.3)
    gradient = Moved(expression, Z).gradient()
    torch.testing.assert_close(gradient, wanted[pairs[0], pairs[1]][moved])


def test_only_the_active_set_is_moved_and_it_follows_the_residuals():
    pairs = within_hops(EDGES, NODES, 3)
    value = torch.randn(pairs.shape[1], generator=torch.Generator().manual_seed(0)).double()
    edges = torch.isin(pairs[0] * NODES + pairs[1], EDGES[0] * NODES + EDGES[1])
    expression = SelfExpression(pairs, value.clone(), edges, NODES, INPUTS, 1.0, 0.5)
    expression._descend(Z, 3, 0.1)
    assert torch.equal(expression.value != value, edges)
    assert torch.equal(edges, torch.isin(pairs[0] * NODES + pairs[1], EDGES[0] * NODES + EDGES[1]))
    dense = torch.zeros(NODES, NODES, dtype=torch.float64)
    dense[pairs[0], pairs[1]] = expression.value.clamp(min=0)
    residual = normalize(Z - dense @ Z, dim=1) @ normalize(Z, dim=1).T
    expression.fit(Z, 0, 0.1)
    assert torch.equal(expression.active, (residual.abs() >= 0.5)[pairs[0], pairs[1]])


def test_s_is_symmetric_and_scaled():
    _, s = learned(hops=3)
    torch.testing.assert_close(s, s.T)
    assert float(s.max()) == 1.0 and float(s.min()) == 0.0
    share = torch.tensor([0.0, 0.5, 2.0])
    generator = torch.Generator().manual_seed(0)
    torch.testing.assert_close(scaled(share, generator), torch.tensor([0.0, 0.25, 1.0]))
    assert torch.equal(scaled(torch.zeros(3), generator), torch.zeros(3))


@pytest.mark.parametrize("block", [None, 1, 4])
@pytest.mark.parametrize(("scheme", "intra"), [("mask", True), ("mask", False), ("weight", True)])
def test_loss_and_gradient_equal_those_of_a_loop_over_pairs(scheme, intra, block):
    strategy, s = learned(scheme=scheme, hops=3)
    assert bool((s > 0).any())
    ours, plain = a_pair(2, block=block, intra=intra), a_pair(2, intra=intra)
    loss, wanted = strategy(ours).value, reference(plain, s, scheme)
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(loss, (ours.u, ours.v)), torch.autograd.grad(wanted, (plain.u, plain.v))
    )


@pytest.mark.parametrize("scheme", ["mask", "weight"])
def test_gradient_equals_finite_differences(scheme):
    strategy, _ = learned(scheme=scheme)
    pair = a_pair(2, block=4)

    def loss(u: Tensor, v: Tensor) -> Tensor:
        return strategy(replace(pair, u=u, views=(v,))).value

    assert torch.autograd.gradcheck(loss, (pair.u, pair.v), fast_mode=True)


def test_c_is_learned_every_so_many_iterations():
    strategy = built(interval=3)
    seen = []
    for iteration in range(1, 8):
        strategy.update(a_pair(iteration).detached())
        assert strategy._c is not None
        seen.append(strategy._c.clone())
    same = [torch.equal(first, second) for first, second in zip(seen, seen[1:], strict=False)]
    assert same == [True, True, False, True, True, False]


def test_in_a_batch_the_pairs_among_its_nodes_are_learned_and_count():
    strategy = built(hops=3)
    batch = torch.tensor([3, 0, 1, 8, 2])
    pair = a_pair(batch=batch, nodes=NODES, batched=True)
    part = replace(pair, u=pair.u[:5], views=(pair.v[:5],), plain=lambda: Z[batch])
    strategy.update(part.detached())
    pairs, share = strategy._pairs, strategy._share
    assert pairs is not None and share is not None
    among = torch.isin(pairs, batch).all(dim=0)
    assert bool(share[among].any()) and not bool(share[~among].any())
    dense = torch.zeros(NODES, NODES, dtype=torch.float64)
    dense[pairs[0], pairs[1]] = share.double()
    near = strategy._near(part)
    found = torch.zeros(5, 5, dtype=torch.float64)
    found[near.row, near.column] = near.numbers(part.u)
    torch.testing.assert_close(found, dense[batch][:, batch])


def test_the_report_is_one_less_s():
    strategy, s = learned()
    report = strategy.report(a_pair(2))
    assert report.weights is not None
    weight, kept = report.weights(0, NODES), 1 - s
    for i in range(NODES):
        mean = (kept[i].sum() - 1) / (NODES - 1)
        for j in range(NODES):
            if j != i:
                assert float(weight[i, j]) == pytest.approx(float(kept[i, j] / mean))
    assert report.findings == {"grape_masked": pytest.approx(float(s.sum()) / 72)}
    plain = learned(scheme="weight")[0].report(a_pair(2)).weights
    assert plain is not None and bool((plain(0, 3) == 1).all())


def test_what_it_needs_is_said():
    with pytest.raises(Unsupported, match="needs two nodes or more, and this graph has 1"):
        Grape().build(WIDTH, 1, Streams(0), torch.device("cpu"))
    with pytest.raises(Unsupported, match="within hops of the graph, and this method shows no"):
        built().update(a_pair(edge_index=None).detached())
    with pytest.raises(Unsupported, match=r"contrasts none \(method.intra=false\)"):
        learned(scheme="weight")[0](a_pair(2, intra=False))
    errors: list[str] = []
    assert bind(Grape, {"hops": 0, "scheme": "masks"}, "negatives", errors) is None
    assert errors == [
        "negatives.hops=0 is out of range: it must be ≥ 1, for example 2",
        "negatives.scheme='masks' must be one of mask, weight. Did you mean 'mask'?",
    ]
