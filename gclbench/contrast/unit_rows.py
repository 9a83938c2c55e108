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
    """
    length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    if not len(z):
        return z
    known = length.detach()
    longest = known.masked_fill(known == torch.inf, 0.0).amax()
    nowhere = known <= NO_DIRECTION * longest
    divisor = length.masked_fill(nowhere, 1.0).masked_fill(length == torch.inf, torch.nan)
    return (z / divisor).masked_fill(nowhere, 0.0)
