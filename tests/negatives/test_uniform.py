"""The strategy `uniform`: GRACE's loss, DMAT-i's and plain InfoNCE, against plain double loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.contrast import objectives
from gclbench.contrast.objectives import inter_view_nce, multi_view_nce
from gclbench.contrast.panel import panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.strategy import Negatives, Pair
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams


def rows(count: int, seed: int) -> Tensor:
    """Of any length: the strategy scales them itself."""
    return 3 * torch.randn(
        count, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)


def plain(u: Tensor, v: Tensor, tau: float, intra: bool) -> float:
    """Equations 1 and 2 of the GRACE paper, one pair after the other.

    Without `intra` the sum over the anchor's own view is left out.
    """
    losses = []
    for anchors, others in ((u.tolist(), v.tolist()), (v.tolist(), u.tolist())):
        for i, anchor in enumerate(anchors):
            below = sum(math.exp(cosine(anchor, other) / tau) for other in others)
            if intra:
                below += sum(
                    math.exp(cosine(anchor, other) / tau)
                    for k, other in enumerate(anchors)
                    if k != i
                )
            losses.append(math.log(below) - cosine(anchor, others[i]) / tau)
    return sum(losses) / len(losses)


def loss(
    u: Tensor, v: Tensor, tau: float = 0.4, intra: bool = True, block: int | None = None
) -> Tensor:
    negatives = Uniform().build(4, len(u), Streams(0), torch.device("cpu"))
    return negatives(Pair(u, (v,), tau, Step(1, 1), intra=intra, block=block)).value


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("tau", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("block", [None, 1, 2, 4, 7])
def test_equals_a_double_loop(intra: bool, tau: float, block: int | None) -> None:
    u, v = rows(7, 0), rows(7, 1)
    assert loss(u, v, tau, intra, block).item() == pytest.approx(plain(u, v, tau, intra), rel=1e-12)


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("block", [None, 2])
def test_gradient_equals_finite_differences(intra: bool, block: int | None) -> None:
    u, v = rows(4, 0).requires_grad_(), rows(4, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: loss(a, b, intra=intra, block=block), (u, v))


def test_all_negatives_weigh_one() -> None:
    strategy = NEGATIVES.load("uniform")()
    negatives = strategy.build(4, 5, Streams(0), torch.device("cpu"))
    report = negatives.report(Pair(rows(5, 0), (rows(5, 1),), 0.4, Step(1, 1)))
    assert report.weights is not None and report.mixture is None
    assert report.weights(1, 4).tolist() == [[1.0] * 5] * 3
    assert report.weights(1, 4).dtype == torch.float64, "that of the views"
    assert list(negatives.parameters()) == []


class ViewByView(UniformNegatives):
    """The same loss, one pair of views after the other."""

    def forward(self, pair: Pair) -> Loss:
        return Negatives.forward(self, pair)


def several(intra: bool = True, block: int | None = None) -> Pair:
    """An anchor view and three others."""
    views = tuple(rows(7, seed).requires_grad_() for seed in (1, 2, 3))
    anchor = rows(7, 0).requires_grad_()
    return Pair(anchor, views, 0.4, Step(1, 1), intra=intra, block=block)


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("block", [None, 2])
def test_several_views_are_the_mean_over_the_pairs(intra: bool, block: int | None) -> None:
    pair = several(intra, block)
    together, one_by_one = UniformNegatives()(pair), ViewByView()(pair)
    wanted = sum(plain(pair.u.detach(), view.detach(), 0.4, intra) for view in pair.views) / 3
    assert together.value.item() == pytest.approx(wanted, rel=1e-12)
    torch.testing.assert_close(together.value, one_by_one.value)
    torch.testing.assert_close(together.terms, one_by_one.terms)
    torch.testing.assert_close(
        torch.autograd.grad(together.value, (pair.u, *pair.views)),
        torch.autograd.grad(one_by_one.value, (pair.u, *pair.views)),
    )


def test_several_views_are_the_papers_objective_to_the_bit() -> None:
    """That of the DMAT-i paper, Eqs. 6 and 7; and the plain one where it is asked for."""
    pair = several()
    u, views = unit_rows(pair.u), [unit_rows(view) for view in pair.views]
    assert torch.equal(UniformNegatives()(pair).value, multi_view_nce(u, views, 0.4))
    apart = torch.stack([inter_view_nce(u, view, 0.4) for view in views]).mean()
    assert torch.equal(UniformNegatives()(several(intra=False)).value, apart)


def test_similarities_among_the_anchors_are_computed_once_for_all_views(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[tuple[int, int]] = []

    def noted(anchors: Tensor, candidates: Tensor, *more: Any, **settings: Any) -> Any:
        computed.append((anchors.data_ptr(), candidates.data_ptr()))
        return panel(anchors, candidates, *more, **settings)

    monkeypatch.setattr(objectives, "panel", noted)
    for strategy, among_anchors in ((UniformNegatives(), 1), (ViewByView(), 3)):
        computed.clear()
        strategy(several())
        # Each view meets the anchors once and itself once.
        assert len(computed) == 2 * 3 + among_anchors
    computed.clear()
    UniformNegatives()(several())
    assert len(set(computed)) == len(computed), "no panel is computed twice"
