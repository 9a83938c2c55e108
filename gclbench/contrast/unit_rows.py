"""Rows scaled to unit length."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

NO_DIRECTION = 1e-6
"""Share of the longest row's length up to which a row counts as zero."""


def unit_rows(z: Tensor) -> Tensor:
    """z (M×d) with its rows scaled to length 1.

    A row not longer than `NO_DIRECTION` times the longest becomes zero and gets no gradient: a node
    without features, or one whose features are all masked in a view, has no direction, and dividing
    by its length would blow rounding errors up. A row whose length overflows becomes NaN, so that
    the training stops as diverged instead of going on with zeros.

    z may be compressed rows, which it stays; these get no gradient.
    """
    if z.layout == torch.sparse_csr:
        return _unit_compressed(z)
    if not len(z):
        return z
    unit: Tensor = _UnitRows.apply(z)
    return unit


class _UnitRows(torch.autograd.Function):
    """z over its length, in half the passes over N×d arrays that torch's own formulas take, and to
    the same bits."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
        longest = length.masked_fill(length == torch.inf, 0.0).amax()
        nowhere = length <= NO_DIRECTION * longest
        divisor = length.masked_fill(nowhere, 1.0).masked_fill_(length == torch.inf, torch.nan)
        unit = (z / divisor).contiguous().masked_fill_(nowhere, 0.0)
        ctx.save_for_backward(unit, divisor, nowhere)
        return unit

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, pull: Tensor) -> Tensor:
        unit, divisor, nowhere = ctx.saved_tensors
        pull = pull.contiguous()
        along = -(pull * (unit / divisor)).sum(dim=1, keepdim=True)
        found: Tensor = (unit * along).add_(pull / divisor)
        return found.masked_fill_(nowhere, 0.0)


def _unit_compressed(z: Tensor) -> Tensor:
    pointers, columns, values = z.crow_indices(), z.col_indices(), z.values()
    row = torch.repeat_interleave(torch.arange(len(z), device=z.device), pointers.diff())
    length = values.new_zeros(len(z)).index_add_(0, row, values.square()).sqrt()
    if not len(values):
        return z
    endless = length == torch.inf
    nowhere = length <= NO_DIRECTION * length.masked_fill(endless, 0.0).amax()
    divisor = length.masked_fill(nowhere, 1.0).masked_fill(endless, torch.nan)
    share = torch.where(nowhere, 0.0, 1 / divisor)
    return torch.sparse_csr_tensor(
        pointers, columns, values * share[row], z.shape, check_invariants=False
    )
