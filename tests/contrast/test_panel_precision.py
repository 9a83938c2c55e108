"""Where float32 ends: sums of many exponentials that it holds one of."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize

from gclbench.contrast.panel import panel

NODES = 1000


@pytest.mark.parametrize("tau", [0.0115, 0.012])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_near_nodes_do_not_overflow_where_one_would_not(tau, weighted):
    """e^(1/0.012) is 1.6·10³⁶, which float32 holds, but not a thousand times."""
    assert math.exp(1 / tau) < torch.finfo(torch.float32).max < NODES * math.exp(1 / tau)
    generator = torch.Generator().manual_seed(0)
    apart = normalize(torch.randn(NODES, 3, generator=generator, dtype=torch.float64), dim=1)
    z = normalize(torch.ones(NODES, 3) + 1e-4 * apart.float(), dim=1)
    weights = torch.full((NODES, NODES), 0.5)
    heads = (lambda start, stop: weights[start:stop],) if weighted else (None,)
    u = z.clone().requires_grad_()
    reduced = panel(u, z.clone(), 1 / tau, heads, columns=True)
    for found in (*reduced.rows, *reduced.columns):
        wanted = 1 / tau + math.log(NODES / 2 if weighted else NODES)
        torch.testing.assert_close(found, torch.full_like(found, wanted))
    sum(found.sum() for found in (*reduced.rows, *reduced.columns)).backward()
    # Each row's gradient is 1/τ times the mean of the others, once by its row and once by columns.
    assert u.grad is not None and bool(u.grad.isfinite().all())
    torch.testing.assert_close(u.grad, 2 / tau * z.mean(0).expand(NODES, 3), rtol=1e-3, atol=1e-2)
