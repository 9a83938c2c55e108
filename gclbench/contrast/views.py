"""Augmented views."""

from __future__ import annotations

import torch
from torch import Tensor


def dropped_columns(width: int, fraction: float, generator: torch.Generator) -> Tensor:
    """Columns that a masked view sets to zero: round(fraction·width) of them, sorted, without
    repetition.

    DMT / DMAT / DMAT-i paper, Algorithm 1, line 3: one set of columns per view and batch.

    Args:
        width: number of feature columns F. fraction: in [0, 1).
    """
    count = min(round(fraction * width), width - 1)
    return torch.randperm(width, generator=generator)[:count].sort().values


def kept(count: int, drop: float | Tensor, generator: torch.Generator) -> Tensor:
    """(count,) bool: which columns or edge entries a view keeps, each independently (GRACE, GCA).

    So are the two directions of an edge, and parallel edges.

    Args:
        drop: probability of dropping, one for all or (count,). generator: on the CPU; the mask is
            too.
    """
    return torch.rand(count, generator=generator) >= drop
