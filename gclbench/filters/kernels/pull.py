"""What the fused pull computes: one sweep of the linear solvers and one round of the push, in plain
torch.

Every solver of the filter is one of these two functions in a loop. They are the meaning that the
CUDA kernel (cuda.py) and the quick CPU path (backend.py) are tested against. They run on any device
and are not meant to be quick.

Matrices are N×K, row-major, float32 or bfloat16 alike; sums are made in float32. A row of the graph
lists its neighbours: P w (row i) = inverse_degree_i · Σ_{j ∈ row i} w_j.
"""

from __future__ import annotations

import torch
from torch import Tensor


def sweep(
    pointers: Tensor,
    columns: Tensor,
    inverse_degree: Tensor,
    source: Tensor,
    base: Tensor,
    out: Tensor,
    damping: float,
    omega: float,
    residual: Tensor | None = None,
) -> None:
    """out ← ω (damping · P source + base) + (1 − ω) out.

    Args:
        pointers: (N+1,) int64. columns: (E,) int32. inverse_degree: (N,) float32.
        source: w_k. base: b. out: holds w_{k−1} on entry (not read when ω = 1) and w_{k+1}
            afterwards.
        residual: (N,) float32; when given, row i becomes Σ_k (damping · P source + base −
            source)²_ik.
    """
    wide = source.float()
    full = (
        _pulled(pointers, columns, wide)
        .mul_(inverse_degree[:, None])
        .mul_(damping)
        .add_(base.float())
    )
    if residual is not None:
        residual.copy_((full - wide).square_().sum(dim=1))
    out.copy_(full if omega == 1.0 else full.mul_(omega).add_(out.float(), alpha=1.0 - omega))


def push_round(
    pointers: Tensor,
    columns: Tensor,
    inverse_degree: Tensor,
    residue: Tensor,
    threshold: Tensor,
    alpha: float,
    reserve: Tensor,
    residue_out: Tensor,
    active: Tensor,
) -> None:
    """One synchronous round: what exceeds the threshold moves, α of it to its reserve, the rest to
    the neighbours.

    moved = residue where residue > threshold, else 0; reserve += α moved; residue_out = residue −
    moved + (1−α) P moved.

    Args:
        residue, reserve, residue_out: N×K. threshold: (K,) float32, of each column. active: (N,)
            int32, becomes the number of columns in which the row moved. Others as `sweep`.
    """
    wide = residue.float()
    over = wide > threshold
    moved = torch.where(over, wide, torch.zeros((), device=wide.device))
    active.copy_(over.sum(dim=1))
    reserve.copy_(reserve.float().add_(moved, alpha=alpha))
    received = _pulled(pointers, columns, moved).mul_(inverse_degree[:, None])
    residue_out.copy_((wide - moved).add_(received, alpha=1.0 - alpha))


def _pulled(pointers: Tensor, columns: Tensor, values: Tensor) -> Tensor:
    """Σ_{j ∈ row i} values_j for every row."""
    return torch.segment_reduce(
        values.index_select(0, columns.long()), "sum", offsets=pointers, axis=0, initial=0.0
    )
