"""HomoGCL against plain loops over pairs, with the clusters' centres given."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind
from gclbench.graph import Unsupported
from gclbench.negatives.homogcl import Homogcl, HomogclNegatives
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH = 9, 5
EDGES = torch.tensor([[0, 1, 1, 2, 2, 0, 3, 4, 5, 6, 3, 0], [1, 0, 2, 1, 0, 2, 4, 3, 6, 5, 0, 3]])
KEPT = (
    torch.tensor([1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1], dtype=torch.bool),
    torch.tensor([1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1], dtype=torch.bool),
)


def random(seed: int) -> Tensor:
    return torch.randn(
        NODES, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


Z, CENTRES = 0.3 * random(7), 0.3 * random(8)[:3]


def a_pair(seed: int = 1, **more) -> Pair:
    z = Z.clone().requires_grad_()
    known = {"edge_index": EDGES, "kept_edges": KEPT, "plain": lambda: z, **more}
    return Pair(
        random(seed).requires_grad_(),
        (random(seed + 1).requires_grad_(),),
        0.4,
        Step(1, 10),
        **known,
    )


def built(**settings) -> HomogclNegatives:
    made = Homogcl(**{"clusters": 3, "sigma": 0.5, **settings}).build(
        WIDTH, NODES, Streams(0), torch.device("cpu")
    )
    assert isinstance(made, HomogclNegatives)
    return made


@pytest.fixture
def given_centres(monkeypatch):
    monkeypatch.setattr(HomogclNegatives, "_centres", lambda *_: CENTRES)


def reference(pair: Pair, sigma: float, alpha: float, mean: bool) -> Tensor:
    u, v, z = normalize(pair.u, dim=1), normalize(pair.v, dim=1), pair.embedding
    p = torch.stack(
        [torch.softmax(torch.stack([-(z[i] - c).square().sum() / sigma for c in CENTRES]), 0)
         for i in range(NODES)]
    )  # fmt: skip
    masks = pair.kept_edges or (torch.ones_like(KEPT[0]),) * 2
    near = [set(map(tuple, EDGES[:, kept].T.tolist())) for kept in masks]
    losses = []
    for a, b, mine, other in ((u, v, *near), (v, u, *near[::-1])):
        theta, rho = torch.exp(a @ b.T / pair.tau), torch.exp(a @ a.T / pair.tau)
        for i in range(NODES):
            positive, negative, count = theta[i, i], torch.zeros(()), 0
            extra = torch.zeros((), dtype=theta.dtype)
            for j in range(NODES):
                if (i, j) in mine:
                    trust = p[i] @ p[j] / (p[i].norm() * p[j].norm())
                    extra, count = extra + trust * rho[i, j], count + 1
                elif j != i and pair.intra:
                    negative = negative + rho[i, j]
                if j != i and (i, j) not in other:
                    negative = negative + theta[i, j]
            positive = positive + (extra / max(1, count) if mean else extra)
            losses.append(-torch.log(positive / (positive + negative)))
    homophily = torch.stack([(p[i] - p[j]).square().mean() for i, j in EDGES.T.tolist()]).mean()
    return torch.stack(losses).mean() + alpha * homophily


@pytest.mark.usefixtures("given_centres")
@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("block", [None, 1, 4])
def test_loss_and_gradient_equal_those_of_a_loop_over_pairs(block, intra, mean):
    ours, plain = a_pair(block=block, intra=intra), a_pair(intra=intra)
    loss = built(mean=mean, alpha=0.7)(ours).value
    wanted = reference(plain, 0.5, 0.7, mean)
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(loss, (ours.u, ours.v, ours.embedding)),
        torch.autograd.grad(wanted, (plain.u, plain.v, plain.embedding)),
    )


@pytest.mark.usefixtures("given_centres")
def test_views_that_keep_all_edges_and_two_views():
    """As DMAT-i's and MVGRL's do."""
    pair = a_pair(kept_edges=None)
    torch.testing.assert_close(built(alpha=0)(pair).value, reference(pair, 0.5, 0.0, False))
    other = a_pair(3)
    both = replace(pair, views=(pair.v, other.v), kept_edges=(*KEPT, KEPT[0]))
    first = replace(pair, kept_edges=KEPT)
    second = replace(pair, views=(other.v,), kept_edges=(KEPT[0], KEPT[0]))
    wanted = (reference(first, 0.5, 1.0, False) + reference(second, 0.5, 1.0, False)) / 2
    torch.testing.assert_close(built()(both).value, wanted)


@pytest.mark.usefixtures("given_centres")
def test_gradient_equals_finite_differences():
    pair, strategy = a_pair(block=4), built()

    def loss(u: Tensor, v: Tensor, z: Tensor) -> Tensor:
        return strategy(replace(pair, u=u, views=(v,), plain=lambda: z)).value

    z = Z.clone().requires_grad_()
    assert torch.autograd.gradcheck(loss, (pair.u, pair.v, z), fast_mode=True)


def test_k_means_has_another_seed_in_each_iteration_and_the_same_when_asked_again():
    strategy = built(clusters=4, steps=1)
    z = random(3)
    first, again, later = (strategy._centres(z, at) for at in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, later)


def test_more_clusters_than_distinct_rows_are_as_many_as_there_are_and_said():
    two = torch.eye(2, WIDTH, dtype=torch.float64)[torch.arange(NODES) % 2]
    strategy = built(clusters=6)
    pair = a_pair(plain=lambda: two)
    assert strategy._assigned(pair).shape == (NODES, 2)
    assert bool(strategy(pair).value.isfinite())
    report = strategy.report(pair)
    assert report.findings == {"homogcl_clusters": 2.0}
    assert list(report.remarks) == [
        "HomoGCL asked k-means for 6 clusters, and the embedding had 2 distinct rows at the fewest:"
        " negatives.clusters=2 asks for no more"
    ]
    few = built(clusters=50)
    few(a_pair())
    assert few.report(pair).findings == {"homogcl_clusters": float(NODES)}
    enough = built()
    enough(a_pair())
    assert (enough.report(pair).findings, list(enough.report(pair).remarks)) == ({}, [])


def test_the_report_has_no_weight_on_the_other_views_neighbours():
    found = built().report(a_pair()).weights
    assert found is not None
    weight = found(0, NODES)
    away = {tuple(pair) for pair in EDGES[:, KEPT[1]].T.tolist()}
    for i in range(NODES):
        others = [j for j in range(NODES) if j != i and (i, j) not in away]
        for j in range(NODES):
            if j != i:
                wanted = (NODES - 1) / len(others) if j in others else 0.0
                assert float(weight[i, j]) == pytest.approx(wanted)


def test_a_node_next_to_all_others_has_no_negatives():
    everyone = torch.combinations(torch.arange(NODES)).T
    pair = a_pair(edge_index=torch.cat([everyone, everyone.flip(0)], dim=1), kept_edges=None)
    loss = built(alpha=0)(pair)
    assert float(loss.value.detach()) == pytest.approx(0.0, abs=1e-9)
    assert all(bool(g.isfinite().all()) for g in torch.autograd.grad(loss.value, (pair.u, pair.v)))
    found = built().report(pair).weights
    assert found is not None and torch.equal(found(0, 2), torch.ones(2, NODES, dtype=pair.v.dtype))


def test_what_it_needs_is_said():
    with pytest.raises(Unsupported, match="needs two nodes or more, and this graph has 1"):
        Homogcl().build(WIDTH, 1, Streams(0), torch.device("cpu"))
    with pytest.raises(Unsupported, match="takes neighbours for positives"):
        built()(a_pair(edge_index=None))
    errors: list[str] = []
    assert bind(Homogcl, {"clusters": 0, "sigma": 0}, "negatives", errors) is None
    assert [error.partition(" is out")[0] for error in errors] == [
        "negatives.clusters=0",
        "negatives.sigma=0",
    ]
