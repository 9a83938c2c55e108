"""Sums of exponentials that float32 cannot hold."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize

from gclbench.contrast.panel import panel


@pytest.mark.parametrize("tau", [0.0115, 0.012])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_near_nodes_do_not_overflow_where_one_would_not(tau, weighted):
    """e^(1/0.012) is 1.6·10³⁶, which float32 holds, but not a thousand times."""
    assert math.exp(1 / tau) < torch.finfo(torch.float32).max < 1000 * math.exp(1 / tau)
    z = normalize(
        torch.ones(1000, 3)
        + 1e-4 * torch.rand(1000, 3, generator=torch.Generator().manual_seed(0)),
        dim=1,
    )
    heads = (lambda start, stop: torch.full((stop - start, 1000), 0.5),) if weighted else (None,)
    u = z.clone().requires_grad_()
    reduced = panel(u, z.clone(), 1 / tau, heads, columns=True)
    for found in (*reduced.rows, *reduced.columns):
        wanted = 1 / tau + math.log(500 if weighted else 1000)
        torch.testing.assert_close(
            found.double(), torch.full_like(found, wanted).double(), rtol=1e-6, atol=0
        )
    sum(found.sum() for found in (*reduced.rows, *reduced.columns)).backward()
    # Each row's gradient is 1/τ times the mean of the others, once by its row and once by columns.
    assert u.grad is not None and bool(u.grad.isfinite().all())
    torch.testing.assert_close(u.grad, 2 / tau * z.mean(0).expand(1000, 3), rtol=1e-3, atol=1e-2)
