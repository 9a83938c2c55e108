"""Random features against the exact sums."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gclbench.contrast.kernel_sums import log_kernel_sums, projections
from gclbench.contrast.unit_rows import unit_rows

NODES, WIDTH = 60, 8


def rows(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return unit_rows(torch.randn(NODES, WIDTH, generator=generator, dtype=torch.float64))


def exact(z: Tensor, tau: float) -> Tensor:
    return torch.logsumexp(z @ z.T / tau, dim=1)


def drawn(count: int, seed: int = 0) -> Tensor:
    return projections(WIDTH, count, torch.Generator().manual_seed(seed)).double()


def test_projections_are_orthogonal_in_groups_and_have_normal_lengths():
    found = drawn(3 * WIDTH)
    for group in found.split(WIDTH, dim=1):
        products = group.T @ group
        off = products - torch.diag(products.diagonal())
        torch.testing.assert_close(off, torch.zeros_like(off), atol=1e-5, rtol=0)
    assert drawn(5).shape == (WIDTH, 5)
    many = drawn(4000)
    assert float(many.square().sum(dim=0).mean()) == pytest.approx(WIDTH, rel=0.03)


@pytest.mark.parametrize("tau", [0.5, 1.0])
def test_more_features_come_closer_to_the_exact_sums(tau):
    z = rows()
    errors = []
    for count in (16, 256, 4096):
        sums = [log_kernel_sums(z, tau, drawn(count, seed)) for seed in range(5)]
        errors.append(float((torch.stack(sums) - exact(z, tau)).abs().mean()))
    assert errors[0] > 2 * errors[1] > 4 * errors[2] and errors[2] < 0.02


@pytest.mark.parametrize("length", [0.0, 1.0])
def test_sums_of_equal_rows_are_exact(length):
    """cos² + sin² of the same angle is 1, whatever was drawn."""
    z = length * rows()[:1].expand(NODES, -1)
    found = log_kernel_sums(z, 0.5, drawn(3))
    torch.testing.assert_close(found, exact(z, 0.5), atol=1e-9, rtol=0)


def test_rows_of_zeros_are_right_too():
    z = rows()
    z[3] = 0
    found, wanted = log_kernel_sums(z, 0.5, drawn(20_000)), exact(z, 0.5)
    torch.testing.assert_close(found, wanted, atol=0.02, rtol=0)


def test_a_sum_is_never_below_the_rows_own_term():
    """At a small temperature the features alone would give sums below zero."""
    found = log_kernel_sums(rows(), 0.02, drawn(4))
    assert bool((found >= 1 / 0.02 - 1e-9).all())


def test_gradient_equals_finite_differences():
    z, projection = rows()[:7].clone().requires_grad_(), drawn(9)
    assert torch.autograd.gradcheck(lambda z: log_kernel_sums(z, 0.5, projection), (z,))


def test_a_row_of_zeros_is_finite_at_a_small_temperature():
    """e^{−1/2τ} is no number of float32 there."""
    z = rows().float()
    z[3] = 0
    z.requires_grad_()
    found = log_kernel_sums(z, 0.005, drawn(16).float())
    assert found[3].item() == pytest.approx(math.log(NODES))
    found.sum().backward()
    assert bool(found.isfinite().all()) and bool(z.grad.isfinite().all())
