"""The row-block engine: log-sum-exps over rows of similarities, never an N×N matrix.

Every objective of the five papers is a difference of log-sum-exps over a row of similarities
with per-pair log-weights and masks (DESIGN section 3). A *panel* is the similarities of M anchors
with N candidates; this module reduces panels to their row (and column) log-sum-exps in blocks of
rows, and recomputes each block's tile in the backward pass, so memory is O(block·N + (M+N)·d).
A panel that is one block anyway keeps its tile instead.

Because the candidates of one direction of a two-view loss are the anchors of the other, a panel
can return its column reduction too: one product serves both directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gclbench.contrast.blocks import block_rows

Weights = Callable[[int, int], Tensor]
"""Non-negative pair weights of the anchors start…stop: (start, stop) -> (stop−start)×N, constant in
backward. Weight 0 masks a pair. A weight function must give the same numbers when it is called again."""

_SAFE_EXPONENT = 80.0
"""Largest |exponent| that float32 holds without underflow; beyond it tiles are computed in float64."""


@dataclass(frozen=True)
class Panel:
    """The reductions of one panel.

    Attributes:
        rows: one (M,) tensor of row log-sum-exps per head.
        columns: one (N,) tensor of column log-sum-exps per head, empty unless asked for.
    """

    rows: tuple[Tensor, ...]
    columns: tuple[Tensor, ...]


def panel(
    anchors: Tensor,
    candidates: Tensor,
    scale: float = 1.0,
    heads: tuple[Weights | None, ...] = (None,),
    *,
    skip_self: bool = False,
    columns: bool = False,
    bound: float | None = None,
    block: int | None = None,
) -> Panel:
    """Log-sum-exps of the similarities s_ij = scale·⟨anchor_i, candidate_j⟩.

    For each head with weights w: rows_i = log Σ_j w_ij e^{s_ij} and, when asked for,
    columns_j = log Σ_i w_ij e^{s_ij}. A row whose weights are all zero gives −inf.

    Args:
        anchors: M×d. candidates: N×d.
        scale: 1/τ for unit vectors.
        heads: one weight function per head; None means weight 1 everywhere.
        skip_self: leaves out the pairs i = j (in every head); needs M = N.
        columns: also reduce over the anchors.
        bound: largest |s_ij|; `scale` when not given, which holds for unit vectors.
        block: anchors per tile; chosen by `block_rows` when not given.

    Raises:
        ValueError: when the shapes do not fit together.
    """
    if anchors.ndim != 2 or candidates.ndim != 2 or anchors.shape[1] != candidates.shape[1]:
        raise ValueError(f"a panel needs M×d anchors and N×d candidates, got {tuple(anchors.shape)} and {tuple(candidates.shape)}")
    if skip_self and len(anchors) != len(candidates):
        raise ValueError(f"skip_self needs as many anchors as candidates, got {len(anchors)} and {len(candidates)}")
    if block is None:
        block = block_rows(len(anchors), len(candidates))
    bound = abs(scale) if bound is None else bound
    # The same tensor on both sides is passed once: its two gradients then need a single product.
    others = None if candidates is anchors else candidates
    outputs = _PanelReduction.apply(anchors, others, scale, heads, skip_self, columns, bound, block)
    count = len(heads)
    return Panel(rows=outputs[:count], columns=outputs[count:])


class _PanelReduction(torch.autograd.Function):
    """Forward and recomputing backward of `panel`.

    With c = bound, E_ij = e^{s_ij − c} lies in [e^{−2c}, 1], so one exponential serves rows,
    columns and every head, and the gradient of a row's log-sum-exp is w_ij E_ij / Σ_j w_ij E_ij.
    """

    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        others: Tensor | None,
        scale: float,
        heads: tuple[Weights | None, ...],
        skip_self: bool,
        columns: bool,
        bound: float,
        block: int,
    ) -> tuple[Tensor, ...]:
        candidates = anchors if others is None else others
        dtype = torch.float64 if 2 * bound > _SAFE_EXPONENT else anchors.dtype
        row_sums = [torch.empty(len(anchors), dtype=dtype, device=anchors.device) for _ in heads]
        column_sums = [torch.zeros(len(candidates), dtype=dtype, device=anchors.device) for _ in heads] if columns else []
        kept: Tensor | None = None
        for start in range(0, len(anchors), block):
            stop = min(start + block, len(anchors))
            tile = _tile(anchors, candidates, start, stop, scale, bound, skip_self, dtype)
            for index, weights in enumerate(heads):
                weighted = tile if weights is None else tile * weights(start, stop)
                torch.sum(weighted, dim=1, out=row_sums[index][start:stop])
                if columns:
                    column_sums[index] += weighted.sum(dim=0)
            if block >= len(anchors):
                kept = tile
        ctx.save_for_backward(anchors, others, kept, *row_sums, *column_sums)
        ctx.settings = (scale, heads, skip_self, columns, bound, block, dtype)
        return tuple((torch.log(sums) + bound).to(anchors.dtype) for sums in (*row_sums, *column_sums))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scale, heads, skip_self, columns, bound, block, dtype = ctx.settings
        count = len(heads)
        anchors, others, kept, *sums = ctx.saved_tensors
        candidates = anchors if others is None else others
        factors = [_quotient(gradient, total) for gradient, total in zip(gradients, sums, strict=True)]
        anchor_gradient = torch.zeros_like(anchors)
        candidate_gradient = anchor_gradient if others is None else torch.zeros_like(candidates)
        for start in range(0, len(anchors), block):
            stop = min(start + block, len(anchors))
            tile = kept if kept is not None else _tile(anchors, candidates, start, stop, scale, bound, skip_self, dtype)
            pull = torch.zeros((), device=tile.device, dtype=tile.dtype)
            for index, weights in enumerate(heads):
                factor = factors[index][start:stop, None]
                if columns:
                    factor = factor + factors[count + index]
                pull = pull + (factor if weights is None else factor * weights(start, stop))
            slope = (tile * pull).to(anchors.dtype)
            if others is None and kept is not None:
                anchor_gradient.addmm_(slope + slope.T, anchors, alpha=scale)
                continue
            anchor_gradient[start:stop].addmm_(slope, candidates, alpha=scale)
            candidate_gradient.addmm_(slope.T, anchors[start:stop], alpha=scale)
        return anchor_gradient, (None if others is None else candidate_gradient), None, None, None, None, None, None


def _tile(
    anchors: Tensor, candidates: Tensor, start: int, stop: int, scale: float, bound: float, skip_self: bool, dtype: torch.dtype
) -> Tensor:
    """e^{s_ij − bound} of the anchors start…stop with all candidates; 0 on skipped pairs."""
    rows = anchors[start:stop].to(dtype)
    offset = torch.full((), -bound, dtype=dtype, device=anchors.device)
    tile = torch.addmm(offset, rows, candidates.to(dtype).T, alpha=scale).exp_()
    if skip_self:
        tile.diagonal(offset=start).zero_()
    return tile


def _quotient(gradient: Tensor | None, sums: Tensor) -> Tensor:
    """gradient / sums, 0 where the sum is empty (its log-sum-exp is −inf and nothing pulls on it)."""
    if gradient is None:
        return torch.zeros_like(sums)
    return torch.where(sums > 0, gradient.to(sums.dtype) / sums, torch.zeros((), dtype=sums.dtype, device=sums.device))


def paired(anchors: Tensor, candidates: Tensor, scale: float = 1.0) -> Tensor:
    """Similarities of matching rows: scale·⟨anchor_i, candidate_i⟩, (M,)."""
    return (anchors * candidates).sum(dim=1) * scale
