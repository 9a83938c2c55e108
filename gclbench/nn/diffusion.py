"""Personalised PageRank diffusion inside a network: a linear operator, stored only by `matrix`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gclbench.nn.sparse import SparseMatrix

SLICE_ENTRIES = 1 << 18
"""Entries of the columns that go through all steps together on a CPU: 1 MiB in float32, so that
three such buffers stay in its cache."""

LEAST_SLICE = 16
"""Columns together at least: a cache line."""


TOLERANCE = 1e-4
"""Error of a product over its size, in the 2-norm."""


def chebyshev_steps(alpha: float, tolerance: float = TOLERANCE) -> int:
    """Steps of the iteration that bring its error below tolerance·‖result‖.

    Args:
        alpha: teleport probability, in (0, 1]. tolerance: in (0, 1).
    """
    if alpha == 1:
        return 1
    return max(1, math.ceil(math.acosh(1 / tolerance) / math.acosh(1 / (1 - alpha))))


class Diffusion:
    """α (I − (1−α) S)⁻¹ as a polynomial of S, so that its transpose, which the backward pass needs,
    is itself.

    A Chebyshev iteration of as many steps as bring the 2-norm of the error below
    tolerance·‖result‖, whatever it is applied to (the eigenvalues of S lie in [−1, 1]): 15 at α =
    0.2 and 1e-4, where the power series needs 42.

    Args:
        propagation: S, N×N, symmetric. alpha: teleport probability α, in (0, 1]. tolerance: in (0,
            1).

    Raises:
        ValueError: for values out of range.
    """

    def __init__(self, propagation: SparseMatrix, alpha: float, tolerance: float = TOLERANCE):
        if not 0 < alpha <= 1 or not 0 < tolerance < 1:
            raise ValueError(
                "a diffusion needs alpha in (0, 1] and tolerance in (0, 1),"
                f" got {alpha} and {tolerance}"
            )
        self.propagation = propagation
        self.alpha = alpha
        self.steps = chebyshev_steps(alpha, tolerance)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """N×H from N×H; the gradient goes to the dense factor."""
        return _Diffused.apply(self, dense)

    def apply(self, dense: Tensor) -> Tensor:
        """The product without a gradient."""
        result = torch.empty_like(dense)
        width = dense.shape[1] if dense.device.type != "cpu" else _together(len(dense))
        for start in range(0, dense.shape[1], width):
            result[:, start : start + width] = self._slice(dense[:, start : start + width])
        return result

    def matrix(self) -> Tensor:
        """All of it, N×N float32, each column within the tolerance."""
        nodes, device = self.propagation.shape[0], self.propagation.matrix.device
        result = torch.empty(nodes, nodes, device=device)
        # It is symmetric, so a slice of columns is written as rows, which lie together in memory.
        width = _together(nodes) if device.type == "cpu" else nodes
        for start in range(0, nodes, width):
            rows = result[start : start + width]
            ones = rows.new_zeros(nodes, len(rows))
            ones[start : start + width].fill_diagonal_(1)
            rows.copy_(self._slice(ones).T)
        return result

    def _slice(self, columns: Tensor) -> Tensor:
        damping = 1 - self.alpha
        base = columns * self.alpha
        # ω of the step before the first is 2, and the iterate before the first is zero.
        before, now, weight = torch.zeros_like(base), base.clone(), 2.0
        for _ in range(self.steps - 1):
            weight = 1 / (1 - damping * damping * weight / 4)
            # w ← ω (c S w + b) + (1 − ω) w₋₁, in the buffer of w₋₁.
            torch.addmm(
                before,
                self.propagation.matrix,
                now,
                beta=1 - weight,
                alpha=weight * damping,
                out=before,
            )
            before.add_(base, alpha=weight)
            before, now = now, before
        return now


def _together(nodes: int) -> int:
    """How many columns go through all steps together on a CPU."""
    return max(LEAST_SLICE, SLICE_ENTRIES // max(1, nodes))


class _Diffused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, diffusion: Diffusion, dense: Tensor) -> Tensor:
        ctx.diffusion = diffusion
        return diffusion.apply(dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, ctx.diffusion.apply(gradient)
