"""The row-block engine: log-sum-exps over rows of similarities, never an N×N matrix.

Every objective of the five papers is a difference of log-sum-exps over a row of similarities
with per-pair log-weights and masks. A *panel* is the similarities of M anchors with N candidates.
This module reduces panels to their row (and column) log-sum-exps in blocks of rows, and recomputes
each block's tile in the backward pass, so memory is O(block·N + (M+N)·d). The tiles of a small
panel are kept instead.

Because the candidates of one direction of a two-view loss are the anchors of the other, a panel
can return its column reduction too: one product serves both directions. The similarities of a set
of vectors among themselves are symmetric, and only the half on and right of the diagonal blocks is
computed. Where the two directions weigh a pair differently, the columns have weights of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gclbench.contrast import blocks
from gclbench.contrast.mostly_ones import Few
from gclbench.contrast.short_factors import factors_for
from gclbench.contrast.tiles import Plan, Tiles, Weights, tile_dtype

_SAFE_BOUND_DOUBLE = 650.0
"""Largest |s_ij| whose exponentials float64 holds; beyond it panels are refused. The smallest
temperature that methods take (`Temperature`) gives 200."""

KEPT_BYTES = 1 << 28
"""Size of a panel up to which its tiles are kept for the backward pass, and of constant weights up
to which they are kept from one call to the next: 256 MiB, 8,192 nodes in float32. Each panel of a
step keeps its own."""

TILE_ROWS = 256
"""Anchors per tile on a CPU, and rows of weights that are computed at a time: enough for the
products to run at full rate, few enough for the tile to stay in the cache while it is multiplied,
exponentiated and summed."""

GPU_ENTRIES = 1 << 22
"""Entries per tile on a GPU: fewer tiles are fewer kernels to launch, and smaller ones stay in its
cache. `gpu_check.py --parts tiles` times others."""


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
    symmetric: bool = False,
    columns: bool = False,
    column_heads: tuple[Weights, ...] | None = None,
    bound: float | None = None,
    block: int | None = None,
) -> Panel:
    """Log-sum-exps of the similarities s_ij = scale·⟨anchor_i, candidate_j⟩.

    For each head with weights w: rows_i = log Σ_j w_ij e^{s_ij} and, when asked for,
    columns_j = log Σ_i w_ij e^{s_ij}. A row whose weights are all zero gives −inf.
    Column heads w' take the place of w in the columns.

    Args:
        anchors: M×d. candidates: N×d.
        scale: 1/τ for unit vectors.
        heads: one weight function per head; None means weight 1 everywhere.
        skip_self: leaves out the pairs i = j (in every head); needs M = N.
        symmetric: w_ij = w_ji in every head, so that half the pairs of a set of vectors among
            themselves are computed; needs the anchors for candidates. Without weights it is known.
            With column heads w may be any, and w'_ij = w_ji.
        columns: also reduce over the anchors.
        column_heads: one weight function per head, of the anchors start…stop as `heads`.
        bound: largest |s_ij|; `scale` when not given, which holds for unit vectors.
        block: anchors per tile, which are recomputed in the backward pass when there are several;
            when not given, tiles are kept as long as they take `KEPT_BYTES` at most, and cut to fit
            a CPU's cache.

    Raises:
        ValueError: when the shapes do not fit together, column heads have nothing to reduce, or
            float64 cannot hold the exponentials of similarities up to `bound`.
    """
    if anchors.ndim != 2 or candidates.ndim != 2 or anchors.shape[1] != candidates.shape[1]:
        raise ValueError(
            "a panel needs M×d anchors and N×d candidates,"
            f" got {tuple(anchors.shape)} and {tuple(candidates.shape)}"
        )
    if skip_self and len(anchors) != len(candidates):
        raise ValueError(
            "skip_self needs as many anchors as candidates,"
            f" got {len(anchors)} and {len(candidates)}"
        )
    if symmetric and candidates is not anchors:
        raise ValueError("symmetric needs the anchors for candidates, the same tensor")
    if column_heads is not None and (
        columns == symmetric or len(column_heads) != len(heads) or None in heads
    ):
        raise ValueError(
            "column_heads needs either columns or symmetric, and as many heads with weights;"
            f" got columns={columns}, symmetric={symmetric}, {len(column_heads)} column heads and"
            f" {sum(head is not None for head in heads)} weighted of {len(heads)} heads"
        )
    bound = abs(scale) if bound is None else bound
    if not bound <= _SAFE_BOUND_DOUBLE:
        raise ValueError(
            f"similarities up to {bound:g} have exponentials beyond float64; a panel takes up to"
            f" {_SAFE_BOUND_DOUBLE:g}, which is a temperature of {1 / _SAFE_BOUND_DOUBLE:.2g} for"
            " unit vectors"
        )
    dtype = tile_dtype(bound, anchors.dtype)
    plan = Plan(
        scale=scale,
        heads=heads,
        skip_self=skip_self,
        symmetric=candidates is anchors
        and (symmetric or all(weights is None for weights in heads)),
        columns=columns,
        column_heads=column_heads,
        bound=bound,
        short=factors_for(anchors, dtype),
        **_cut(len(anchors), len(candidates), block, dtype, anchors),
    )
    # The same tensor on both sides is passed once: its similarities are symmetric, its two
    # gradients need a single product.
    outputs = _PanelReduction.apply(anchors, None if candidates is anchors else candidates, plan)
    count = len(heads)
    return Panel(rows=outputs[:count], columns=outputs[count:])


def _cut(
    rows: int, columns: int, block: int | None, dtype: torch.dtype, anchors: Tensor
) -> dict[str, Any]:
    """Anchors per tile, and whether the tiles are kept for the backward pass."""
    if block is not None:
        return {"block": block, "keep": block >= rows}
    keep = rows * columns * dtype.itemsize <= KEPT_BYTES
    if anchors.is_cpu:
        return {"block": min(blocks.block_rows(rows, columns), TILE_ROWS), "keep": keep}
    return {"block": blocks.block_rows(rows, columns, entries=GPU_ENTRIES), "keep": keep}


class _PanelReduction(torch.autograd.Function):
    """Forward and recomputing backward of `panel`.

    One exponential E_ij per pair serves rows, columns and every head; the gradient of a row's
    log-sum-exp is w_ij E_ij / Σ_j w_ij E_ij.
    """

    @staticmethod
    def forward(ctx: Any, anchors: Tensor, others: Tensor | None, plan: Plan) -> tuple[Tensor, ...]:
        candidates = anchors if others is None else others
        tiles = Tiles(anchors, candidates, plan)
        keep = plan.keep and any(ctx.needs_input_grad)
        new = tiles.like.new_zeros
        row_sums = [new(len(anchors)) for _ in plan.heads]
        column_sums = (
            row_sums
            if plan.symmetric
            else [new(len(candidates)) for _ in plan.heads if plan.columns]
        )
        kept: list[Tensor] = []
        for start, stop in plan.ranges(len(anchors)):
            tile = tiles.tile(start, stop, own=keep)
            if keep:
                kept.append(tile)
            # The block on the diagonal holds both halves.
            held = stop - start if plan.symmetric else 0
            for index in range(len(plan.heads)):
                below = row_sums[index][stop:] if plan.symmetric else None
                if plan.columns and not plan.symmetric:
                    below = column_sums[index]
                turned = plan.column_weights(index, start, stop)
                with _times(tile, plan.weights(index, start, stop), tiles) as weighted:
                    row_sums[index][start:stop] += weighted.sum(dim=1)
                    if below is not None and turned is None:
                        below += weighted[:, held:].sum(dim=0)
                if below is not None and turned is not None:
                    with _times(tile, turned, tiles, held) as weighted:
                        below += weighted.sum(dim=0)
        if not plan.columns:
            column_sums = []
        ctx.save_for_backward(anchors, others, *row_sums, *column_sums, *kept)
        ctx.plan, ctx.sums = plan, len(row_sums) + len(column_sums)
        return tuple(torch.log(sums).to(anchors.dtype) for sums in (*row_sums, *column_sums))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        plan, count = ctx.plan, len(ctx.plan.heads)
        anchors, others, *saved = ctx.saved_tensors
        sums, kept = saved[: ctx.sums], saved[ctx.sums :]
        candidates = anchors if others is None else others
        factors = [
            _quotient(gradient, total) for gradient, total in zip(gradients, sums, strict=True)
        ]
        row_factors, column_factors = factors[:count], factors[count:]
        if plan.symmetric:
            # E_ij = E_ji, so a pair's two terms are one: (f_i + f_j)·E_ij.
            if plan.columns:
                row_factors = [a + b for a, b in zip(row_factors, column_factors, strict=True)]
            column_factors = row_factors
        for_anchors, for_candidates = (
            ctx.needs_input_grad[0],
            others is None or ctx.needs_input_grad[1],
        )
        anchor_gradient = torch.zeros_like(anchors) if for_anchors else None
        candidate_gradient = (
            anchor_gradient
            if others is None
            else (torch.zeros_like(candidates) if for_candidates else None)
        )
        tiles = Tiles(anchors, candidates, plan)
        for number, (start, stop) in enumerate(plan.ranges(len(anchors))):
            tile = kept[number] if kept else tiles.tile(start, stop, own=False)
            slope = tiles.buffer(1, *tile.shape)
            _pull(slope, plan, row_factors, column_factors, start, stop)
            tiles.add_products(anchor_gradient, candidate_gradient, slope, tile, start, stop)
        return anchor_gradient, (None if others is None else candidate_gradient), None


@contextmanager
def _times(
    tile: Tensor, weights: Tensor | Few | None, tiles: Tiles, held: int = 0
) -> Iterator[Tensor]:
    """The tile times weights, its columns from `held` on: in buffer 1, or where a few weights alone
    are not 1 in its own place, as long as it is looked at."""
    if isinstance(weights, Few):
        had = weights.multiply(tile)
        yield tile[:, held:]
        weights.restore(tile, had)
        return
    part = tile[:, held:]
    if weights is not None:
        part = torch.mul(part, weights[:, held:], out=tiles.buffer(1, *part.shape))
    yield part


def _pull(
    slope: Tensor,
    plan: Plan,
    row_factors: Sequence[Tensor],
    column_factors: Sequence[Tensor],
    start: int,
    stop: int,
) -> None:
    """Fills slope with Σ over heads of w_ij·row factor_i + w'_ij·column factor_j.

    Args:
        column_factors: none where nothing is reduced over the anchors.
    """
    for index, of_rows in enumerate(row_factors):
        factor, weights = of_rows[start:stop, None], plan.weights(index, start, stop)
        of_columns = column_factors[index][plan.first(start) :] if column_factors else None
        turned = plan.column_weights(index, start, stop)
        if turned is not None:
            assert weights is not None and of_columns is not None
            if index:
                _add(slope, factor, weights)
            elif isinstance(weights, Few):
                weights.multiply(slope.copy_(factor))
            else:
                torch.mul(weights, factor, out=slope)
            _add(slope, of_columns, turned)
            continue
        if index == 0:
            # Written where it is needed: one pass and no tile of its own.
            if of_columns is not None:
                torch.add(factor, of_columns, out=slope)
            else:
                slope.copy_(factor)
            if isinstance(weights, Few):
                weights.multiply(slope)
            elif weights is not None:
                slope.mul_(weights)
            continue
        if of_columns is not None:
            factor = factor + of_columns
        if weights is None:
            slope.add_(factor)
        else:
            _add(slope, factor, weights)


def _add(slope: Tensor, factor: Tensor, weights: Tensor | Few) -> None:
    """Adds factor·weights, the factor being one of each row, or of each column."""
    if isinstance(weights, Few):
        weights.add(slope, factor)
    else:
        slope.addcmul_(factor, weights.to(slope.dtype))


def _quotient(gradient: Tensor | None, sums: Tensor) -> Tensor:
    """gradient / sums, 0 where the sum is empty: its log-sum-exp is −inf, nothing pulls on it."""
    if gradient is None:
        return torch.zeros_like(sums)
    return torch.where(
        sums > 0,
        gradient.to(sums.dtype) / sums,
        torch.zeros((), dtype=sums.dtype, device=sums.device),
    )


def paired(anchors: Tensor, candidates: Tensor, scale: float = 1.0) -> Tensor:
    """Similarities of matching rows: scale·⟨anchor_i, candidate_i⟩, (M,)."""
    return (anchors * candidates).sum(dim=1) * scale
