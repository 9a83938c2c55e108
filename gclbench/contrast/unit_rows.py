"""Rows scaled to unit length."""

from __future__ import annotations

import torch
from torch import Tensor

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
    length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    if not len(z):
        return z
    known = length.detach()
    longest = known.masked_fill(known == torch.inf, 0.0).amax()
    nowhere = known <= NO_DIRECTION * longest
    divisor = length.masked_fill(nowhere, 1.0).masked_fill(length == torch.inf, torch.nan)
    return (z / divisor).masked_fill(nowhere, 0.0)


def _unit_compressed(z: Tensor) -> Tensor:
    pointers, columns, values = z.crow_indices(), z.col_indices(), z.values()
    row = torch.repeat_interleave(torch.arange(len(z), device=z.device), pointers.diff())
    length = values.new_zeros(len(z)).index_add_(0, row, values.square()).sqrt()
    if not len(values):
        return z
    nowhere = length <= NO_DIRECTION * length.amax()
    share = torch.where(nowhere, 0.0, 1 / length.masked_fill(nowhere, 1.0))
    return torch.sparse_csr_tensor(
        pointers, columns, values * share[row], z.shape, check_invariants=False
    )
