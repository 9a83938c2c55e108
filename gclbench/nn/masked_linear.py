"""A linear layer applied to a batch and to copies of it with some columns set to zero.

x·(m∘W) = x·W − x[:, dropped]·W[dropped]: the full product is computed once for all copies, and each
copy costs only its dropped columns (or its kept ones, whichever are fewer). The same holds for the
gradient of W. No masked copy of the input is ever made.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def masked_products(x: Tensor, weight: Tensor, dropped: list[Tensor]) -> tuple[Tensor, ...]:
    """x·W and, for each set of columns, x·W without them.

    Args:
        x: B×F input; it receives no gradient.
        weight: F×H.
        dropped: one sorted index tensor of columns of x per copy; an empty one drops
            nothing; never all columns.

    Returns:
        1 + len(dropped) tensors of shape B×H, the unmasked one first.
    """
    return _MaskedProducts.apply(x, weight, *dropped)


class _MaskedProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, *dropped: Tensor) -> tuple[Tensor, ...]:
        full = x @ weight
        outputs = [full]
        parts: list[tuple[bool, Tensor, Tensor]] = []
        for columns in dropped:
            subtract = 2 * len(columns) <= x.shape[1]
            used = columns if subtract else _complement(columns, x.shape[1])
            part = x.index_select(1, used)
            product = part @ weight.index_select(0, used)
            outputs.append(full - product if subtract else product)
            parts.append((subtract, used, part))
        ctx.x = x
        ctx.parts = parts
        ctx.shape = weight.shape
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        whole = gradients[0]
        for gradient, (subtract, _, _) in zip(gradients[1:], ctx.parts, strict=True):
            if subtract:
                whole = whole + gradient
        slope = ctx.x.T @ whole
        for gradient, (subtract, used, part) in zip(gradients[1:], ctx.parts, strict=True):
            slope.index_add_(0, used, part.T @ gradient, alpha=-1 if subtract else 1)
        return None, slope, *([None] * len(ctx.parts))


def _complement(columns: Tensor, width: int) -> Tensor:
    keep = torch.ones(width, dtype=torch.bool, device=columns.device)
    keep[columns] = False
    return keep.nonzero().squeeze(1)
