"""Panels at temperatures whose exponentials float32 does not hold."""

from __future__ import annotations

import math

import pytest
import torch
from panel_loops import blockwise, naive, pair_weights, unit

from gclbench.contrast.panel import panel


@pytest.mark.parametrize("block", [None, 3])
@pytest.mark.parametrize("tau", [0.5, 0.05, 0.01, 0.005, 0.002])
def test_tiny_temperatures_are_finite_and_right(tau, block):
    """e^(1/τ) leaves float32 at τ = 0.01, and e^(2/τ) float64 at τ = 0.002; opposite vectors are
    the worst case."""
    base = unit(6, dtype=torch.float32)
    base[1] = -base[0]
    base[2] = base[0]
    found, wanted = base.clone().requires_grad_(), base.double().requires_grad_()
    reduced = panel(found, found, 1 / tau, skip_self=True, columns=True, block=block)
    loss = (reduced.rows[0] + reduced.columns[0]).sum()
    assert loss.dtype == torch.float32
    exact = sum(part.sum() for part in naive(wanted, wanted, 1 / tau, skip_self=True))
    loss.backward()
    exact.backward()
    assert bool(torch.isfinite(loss))
    torch.testing.assert_close(loss.double(), exact.detach(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.grad.double(), wanted.grad, rtol=1e-5, atol=1e-5 / tau)


@pytest.mark.parametrize("scale", [651.0, -1000.0, math.inf, math.nan])
def test_similarities_beyond_float64_are_refused(scale):
    with pytest.raises(
        ValueError,
        match=(
            r"have exponentials beyond float64; a panel takes up to 650, which is a temperature of"
            r" 0\.0015"
        ),
    ):
        panel(unit(3), unit(3), scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("block", [None, 2])
def test_tiny_temperatures_with_weights_and_columns(block, dtype):
    weights = pair_weights(6, 5)
    pull = torch.randn(4, 6, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    found = []
    for engine in (True, False):
        u, v = unit(6, dtype=dtype).requires_grad_(), unit(5, seed=1, dtype=dtype).requires_grad_()
        if engine:
            reduced = panel(u, v, 500.0, (None, blockwise(weights)), columns=True, block=block)
            outputs = [reduced.rows[0], reduced.columns[0], reduced.rows[1], reduced.columns[1]]
        else:
            outputs = [
                *naive(u.double(), v.double(), 500.0),
                *naive(u.double(), v.double(), 500.0, weights),
            ]
        sum(
            (factor[: len(output)] * output).sum() for factor, output in zip(pull, outputs)
        ).backward()
        found.append([part.double() for part in (*outputs, u.grad, v.grad)])
    assert all(bool(torch.isfinite(part).all()) for part in found[1])
    torch.testing.assert_close(
        *found,
        rtol=1e-5 if dtype == torch.float32 else 1e-9,
        atol=1e-3 if dtype == torch.float32 else 1e-9,
    )


def test_two_opposite_nodes_at_the_smallest_temperature():
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], requires_grad=True)
    reduced = panel(z, z, 100.0, skip_self=True)
    assert reduced.rows[0].tolist() == pytest.approx([-100.0, -100.0])
    reduced.rows[0].sum().backward()
    torch.testing.assert_close(z.grad, 200.0 * torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
