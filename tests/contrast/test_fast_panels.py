"""Panels with short factors as this machine's torch makes them, of products that are large enough
for it to shorten."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gclbench.contrast.panel import panel
from gclbench.contrast.short_factors import ByTorch, Centred, Copies, short_factors

SCALE = 2.5


def reduced(u: Tensor, v: Tensor, among: bool, block: int | None) -> list[Tensor]:
    """The reductions, and the gradients of their sum of squares."""
    u, v = u.clone().requires_grad_(), v.clone().requires_grad_()
    if among:
        found = panel(u, u, SCALE, skip_self=True, block=block)
    else:
        found = panel(u, v, SCALE, columns=True, block=block)
    outputs = [*found.rows, *found.columns]
    total = torch.stack([output.square().sum() for output in outputs]).sum()
    return [*outputs, *torch.autograd.grad(total, [u] if among else [u, v])]


@pytest.mark.parametrize("made", [Copies, ByTorch])
@pytest.mark.parametrize("block", [None, 128])
@pytest.mark.parametrize("among", [True, False])
def test_near_float64(made: type[Centred], block: int | None, among: bool) -> None:
    """Whether or not torch shortens anything here."""
    generator = torch.Generator().manual_seed(0)
    u, v = (
        torch.nn.functional.normalize(torch.randn(rows, 64, generator=generator) + 0.3)
        for rows in (300, 420)
    )
    exact = reduced(u.double(), v.double(), among, block)
    with short_factors(made):
        found = reduced(u, v, among, block)
    assert torch.get_float32_matmul_precision() == "highest"
    for short, long in zip(found, exact, strict=True):
        assert float((short - long).detach().norm() / long.detach().norm()) < 4e-3
