"""A panel's reductions by a double loop and on the whole matrix, and what they are tried on."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize


def unit(count: int, width: int = 4, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(count, width, generator=generator, dtype=torch.float64), dim=1).to(
        dtype
    )


def pair_weights(count: int, others: int, seed: int = 5) -> Tensor:
    """Weights between 0 and 2, a third of the pairs masked."""
    generator = torch.Generator().manual_seed(seed)
    weights = 2 * torch.rand(count, others, generator=generator, dtype=torch.float64)
    return weights * (torch.rand(count, others, generator=generator) > 1 / 3)


def blockwise(weights: Tensor):
    return lambda start, stop: weights[start:stop]


def double_loop(
    anchors: Tensor, candidates: Tensor, scale: float, weights: Tensor | None, skip_self: bool
) -> tuple[list[float], list[float]]:
    """Row and column log-sum-exps, one pair after the other, in Python floats (no overflow at these
    sizes)."""
    row_sums, column_sums = [0.0] * len(anchors), [0.0] * len(candidates)
    for i, anchor in enumerate(anchors.tolist()):
        for j, candidate in enumerate(candidates.tolist()):
            if skip_self and i == j:
                continue
            weight = 1.0 if weights is None else float(weights[i, j])
            term = weight * math.exp(scale * sum(a * b for a, b in zip(anchor, candidate)))
            row_sums[i] += term
            column_sums[j] += term
    logarithm = [
        [math.log(total) if total > 0 else -math.inf for total in sums]
        for sums in (row_sums, column_sums)
    ]
    return logarithm[0], logarithm[1]


def naive(
    anchors: Tensor,
    candidates: Tensor,
    scale: float,
    weights: Tensor | None = None,
    skip_self: bool = False,
) -> tuple[Tensor, Tensor]:
    """The same with torch.logsumexp on the whole matrix, for autograd."""
    similarities = scale * anchors @ candidates.T
    if weights is not None:
        similarities = similarities + weights.log()
    if skip_self:
        similarities = similarities.masked_fill(
            torch.eye(len(anchors), dtype=torch.bool), -math.inf
        )
    return similarities.logsumexp(dim=1), similarities.logsumexp(dim=0)
