"""GRACE's loss and plain InfoNCE, as the strategy `uniform` gives them, against plain double loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uniform import Uniform
from gclbench.training.streams import Streams


def rows(count: int, seed: int) -> Tensor:
    """Of any length: the strategy scales them itself."""
    return 3 * torch.randn(
        count, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)


def plain(u: Tensor, v: Tensor, tau: float, intra: bool) -> float:
    """GRACE's Eqs.

    1 and 2, one pair after the other; without `intra` the sum over the anchor's own view is left
    out.
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
    return negatives(Pair(u, v, tau, iteration=1, total=1, intra=intra, block=block))


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
    assert (
        negatives.weights(Pair(rows(5, 0), rows(5, 1), 0.4, 1, 1))(1, 4).tolist() == [[1.0] * 5] * 3
    )
    assert list(negatives.parameters()) == []
