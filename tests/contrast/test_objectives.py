"""Eqs. 4 to 7 of the DMT / DMAT / DMAT-i paper against plain double loops.

What the paper proves about them is in test_theory.py.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.objectives import (
    labelled_tuple,
    labelled_two_view,
    multi_view_nce,
    others_nce,
    same_label,
)

BLOCKS = (None, 1, 2, 5)
TEMPERATURES = (0.01, 0.2, 1.0, 4.0)


def unit(count: int, seed: int, width: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(count, width, generator=generator, dtype=torch.float64), dim=1)


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b))


def logarithm_of_sum(exponents: list[float]) -> float:
    top = max(exponents)
    return top + math.log(sum(math.exp(exponent - top) for exponent in exponents))


def tuple_loss(z: Tensor, labels: list[int], tau: float) -> float:
    """Eq. 4: x counts as one positive sample of itself."""
    entries, losses = z.tolist(), []
    for i, x in enumerate(entries):
        everything = [dot(x, other) / tau for other in entries]
        positives = [value for value, label in zip(everything, labels) if label == labels[i]]
        losses.append(logarithm_of_sum(everything) - logarithm_of_sum(positives))
    return sum(losses) / len(losses)


def two_view_loss(u: Tensor, v: Tensor, labels: list[int], tau: float) -> float:
    """Eq. 5 over the 2M-tuple.

    The counterpart and the entries of the same class are positives, x itself is not there.
    """
    entries, classes, losses = u.tolist() + v.tolist(), labels * 2, []
    for i, x in enumerate(entries):
        everything, positives = [], []
        for j, other in enumerate(entries):
            if i == j:
                continue
            everything.append(dot(x, other) / tau)
            counterpart = abs(i - j) == len(u)
            if counterpart or classes[i] == classes[j]:
                positives.append(dot(x, other) / tau)
        losses.append(logarithm_of_sum(everything) - logarithm_of_sum(positives))
    return sum(losses) / len(losses)


def label_free_loss(u: Tensor, v: Tensor, tau: float) -> float:
    """Eq. 7: the mean over both directions of the label-free form of Eq. 6."""
    entries, losses = u.tolist() + v.tolist(), []
    count = len(u)
    for i, x in enumerate(entries):
        others = [dot(x, other) / tau for j, other in enumerate(entries) if j != i]
        counterpart = entries[i + count if i < count else i - count]
        losses.append(logarithm_of_sum(others) - dot(x, counterpart) / tau)
    return sum(losses) / (2 * count)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("tau", TEMPERATURES)
def test_labelled_tuple_is_equation_4(tau, block):
    z, labels = unit(8, 0), [0, 1, 0, 2, 1, 0, 3, 3]
    assert labelled_tuple(z, torch.tensor(labels), tau, block).item() == pytest.approx(
        tuple_loss(z, labels, tau), rel=1e-9
    )


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("tau", TEMPERATURES)
def test_labelled_two_view_is_equation_5(tau, block):
    u, v, labels = unit(6, 0), unit(6, 1), [0, 1, 0, 2, 1, 0]
    found = labelled_two_view(u, v, torch.tensor(labels), tau, block)
    assert found.item() == pytest.approx(two_view_loss(u, v, labels, tau), rel=1e-9)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("tau", TEMPERATURES)
def test_multi_view_nce_is_equation_7_averaged_over_views(tau, block):
    anchor, views = unit(6, 0), [unit(6, seed) for seed in (1, 2, 3)]
    wanted = sum(label_free_loss(anchor, view, tau) for view in views) / 3
    assert multi_view_nce(anchor, views, tau, block).item() == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("tau", [0.2, 1.0])
@pytest.mark.parametrize("block", [None, 2])
def test_others_nce_leaves_the_positive_out_of_the_denominator(tau, block):
    u, v = unit(5, 0).double(), unit(5, 1).double()
    expected = 0.0
    for i in range(5):
        scores = [dot(u[i].tolist(), v[j].tolist()) / tau for j in range(5)]
        expected += logarithm_of_sum(scores[:i] + scores[i + 1 :]) - scores[i]
    assert float(others_nce(u, v, tau, block)) == pytest.approx(expected / 5, rel=1e-9)


def test_float32_is_as_good_as_its_rounding():
    anchor, view, labels = unit(6, 0), unit(6, 1), [0, 1, 0, 2, 1, 0]
    single = [anchor.float(), view.float()]
    for tau in (0.01, 0.2, 1.0):
        assert multi_view_nce(single[0], [single[1]], tau).item() == pytest.approx(
            label_free_loss(anchor, view, tau), rel=1e-4
        )
        assert labelled_tuple(single[0], torch.tensor(labels), tau).item() == pytest.approx(
            tuple_loss(anchor, labels, tau), rel=1e-4
        )
        found = labelled_two_view(*single, torch.tensor(labels), tau).item()
        assert found == pytest.approx(two_view_loss(anchor, view, labels, tau), rel=1e-4)


@pytest.mark.parametrize("block", [None, 2])
def test_gradients_equal_finite_differences(block):
    u, v, labels = (
        unit(5, 0).requires_grad_(),
        unit(5, 1).requires_grad_(),
        torch.tensor([0, 1, 0, 2, 1]),
    )

    # Rows are made unit inside, as training does: the engine's bound holds for unit rows only.
    def rows(*tensors: Tensor) -> list[Tensor]:
        return [normalize(tensor, dim=1) for tensor in tensors]

    assert torch.autograd.gradcheck(lambda z: labelled_tuple(*rows(z), labels, 0.5, block), (u,))
    assert torch.autograd.gradcheck(
        lambda a, b: labelled_two_view(*rows(a, b), labels, 0.5, block), (u, v)
    )
    assert torch.autograd.gradcheck(
        lambda a, b: multi_view_nce(rows(a)[0], rows(b, a + b), 0.5, block), (u, v)
    )


def test_views_are_interchangeable_and_nodes_have_no_order():
    u, v, labels = unit(6, 0), unit(6, 1), torch.tensor([0, 1, 0, 2, 1, 0])
    shuffled = torch.tensor([4, 0, 5, 2, 1, 3])
    torch.testing.assert_close(multi_view_nce(u, [v], 0.5), multi_view_nce(v, [u], 0.5))
    torch.testing.assert_close(
        multi_view_nce(u, [v], 0.5), multi_view_nce(u[shuffled], [v[shuffled]], 0.5)
    )
    torch.testing.assert_close(
        labelled_two_view(u, v, labels, 0.5), labelled_two_view(v, u, labels, 0.5)
    )
    torch.testing.assert_close(
        labelled_tuple(u, labels, 0.5), labelled_tuple(u[shuffled], labels[shuffled], 0.5)
    )


def test_one_class_only_and_every_class_its_own():
    z, u, v = unit(5, 2), unit(5, 0), unit(5, 1)
    one, own = torch.zeros(5, dtype=torch.long), torch.arange(5)
    assert labelled_tuple(z, one, 0.5).item() == pytest.approx(0.0, abs=1e-12)
    assert labelled_two_view(u, v, one, 0.5).item() == pytest.approx(0.0, abs=1e-12)
    torch.testing.assert_close(labelled_two_view(u, v, own, 0.5), multi_view_nce(u, [v], 0.5))


@pytest.mark.parametrize("tau", [0.01, 1.0])
def test_a_batch_of_one_node_is_finite_and_still_zero(tau):
    """A node has only its counterpart to be told from: nothing to learn, and no NaN."""
    u, v = unit(1, 0).requires_grad_(), unit(1, 1).requires_grad_()
    for loss in (
        multi_view_nce(u, [v], tau),
        labelled_two_view(u, v, torch.tensor([3]), tau),
        labelled_tuple(u, torch.tensor([3]), tau) + 0 * v.sum(),
    ):
        assert loss.item() == pytest.approx(0.0, abs=1e-12)
        slopes = torch.autograd.grad(loss, (u, v))
        torch.testing.assert_close(
            slopes, (torch.zeros_like(u), torch.zeros_like(v)), rtol=0, atol=1e-9
        )


def test_identical_views_and_opposite_views():
    u = unit(4, 0)
    assert multi_view_nce(u, [u], 0.5) < multi_view_nce(u, [-u], 0.5)
    assert bool(torch.isfinite(multi_view_nce(u, [-u], 0.01)))


def test_same_label_is_zero_or_one():
    weights = same_label(torch.tensor([0, 1, 0]))
    assert weights(0, 3).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert weights(1, 2).tolist() == [[0, 1, 0]]
