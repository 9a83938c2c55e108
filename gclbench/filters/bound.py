"""How far a solution can be from the exact one, from what the iteration has seen.

The norm is ‖w‖_D² = Σ_i deg_i ‖w_i‖². In this norm M = I − (1−α)P has eigenvalues in [α, 2−α].
With the residual ρ = b + (1−α)P w − w, the error of w is at most ‖ρ‖_D / α. One plain sweep
further, at y = w + ρ, it is at most (1−α)‖ρ‖_D / α. Three more things are counted: the rounding of
the product that the residual was read from, of the stored right-hand side, and of the stored
result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

ROUNDOFF = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-9}
"""Unit roundoff of a storage type."""

SCALING = 4 * ROUNDOFF[torch.float32]
"""Relative rounding of scaling the float32 solution to X: the factor's and the product's,
doubled."""


@dataclass(frozen=True)
class Norms:
    """What a slice of columns amounts to, all in the weighted norm.

    Attributes:
        residual: of the last input w. solution: of the result. base: of the right-hand side that
            was iterated on.
        input: of w. product: bound on the rounding of P w, ÷ unit roundoff. means: of the part that
            is not iterated on.
    """

    residual: float
    solution: float
    base: float
    input: float
    product: float
    means: float


def weighted(block: Tensor, degree: Tensor) -> float:
    """‖block‖_D, summed in float64."""
    return math.sqrt(max(0.0, float(torch.dot(block.float().square().sum(dim=1).double(), degree))))


def free_bound(norms: Norms, alpha: float, storage: torch.dtype) -> float:
    """Bound on ‖z − z*‖_D, z = y + the means, from norms that the iteration has anyway.

    Sums of any order.
    """
    single, stored = ROUNDOFF[torch.float32], ROUNDOFF[storage]
    damping = 1.0 - alpha
    size = norms.solution + norms.means
    # y as computed: its product, and a few operations on numbers no larger than these.
    seen = single * (damping * norms.product + 4.0 * (norms.base + norms.input + size))
    of_iterate = damping * (norms.residual + seen) / alpha + seen + stored * size
    of_base = (3.0 * single * (norms.base + alpha * norms.means) + stored * norms.base) / alpha
    return of_iterate + of_base + SCALING * size
