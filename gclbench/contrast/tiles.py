"""How a panel is cut into tiles, and the exponentials in a tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Weights = Callable[[int, int], Tensor]
"""Non-negative pair weights of the anchors start…stop: (start, stop) -> (stop−start)×N, constant in
backward. Weight 0 masks a pair. A weight function must give the same numbers when it is called
again."""

SAFE_BOUND = 40.0
"""Largest |s_ij| whose exponential, times or over N of them, float32 holds; beyond it tiles are
computed in float64."""


@dataclass(frozen=True)
class Plan:
    """How a panel is reduced: the arguments of `panel`, the anchors per tile, whether tiles are
    kept, and whether products are made of bfloat16 copies.

    Where it is symmetric, the tile of the anchors start…stop begins at candidate `start`.
    """

    scale: float
    heads: tuple[Weights | None, ...]
    skip_self: bool
    symmetric: bool
    columns: bool
    column_heads: tuple[Weights, ...] | None
    bound: float
    block: int
    keep: bool
    short: bool

    def dtype(self, given: torch.dtype) -> torch.dtype:
        """Of the tiles."""
        return tile_dtype(self.bound, given)

    def first(self, start: int) -> int:
        """The first candidate of the tile whose first anchor is `start`."""
        return start if self.symmetric else 0

    def weights(self, index: int, start: int, stop: int) -> Tensor | None:
        """A head's weights of a tile; None where all are 1."""
        head = self.heads[index]
        return None if head is None else head(start, stop)[:, self.first(start) :]

    def column_weights(self, index: int, start: int, stop: int) -> Tensor | None:
        """A head's weights of a tile in the columns; None where they are those of the rows."""
        if self.column_heads is None:
            return None
        return self.column_heads[index](start, stop)[:, self.first(start) :]

    def ranges(self, rows: int) -> list[tuple[int, int]]:
        """(start, stop) of the tiles."""
        return [(start, min(start + self.block, rows)) for start in range(0, rows, self.block)]


class Tiles:
    """Makes the tiles E_ij = e^{s_ij} of a panel, in one buffer after the other's use, or each in
    its own memory; and the products of a tile's slopes with the vectors."""

    def __init__(self, anchors: Tensor, candidates: Tensor, plan: Plan):
        dtype = plan.dtype(anchors.dtype)
        self.plan = plan
        self.anchors, self.candidates = anchors, candidates
        self.like = anchors.new_empty(0, dtype=dtype)
        if plan.short:
            # Rounded before they are scaled, as the factors of the backward pass are.
            self.left = anchors.bfloat16()
            self.right = self.left if candidates is anchors else candidates.bfloat16()
        else:
            self.left, self.right = anchors.to(dtype) * plan.scale, candidates.to(dtype)
        self.spare: dict[tuple[int, torch.dtype], Tensor] = {}

    def buffer(
        self, number: int, rows: int, columns: int, dtype: torch.dtype | None = None
    ) -> Tensor:
        """rows×columns of uninitialised memory; the same memory whenever number and dtype are the
        same."""
        key = (number, dtype or self.like.dtype)
        if key not in self.spare:
            entries = min(self.plan.block, len(self.anchors)) * len(self.candidates)
            self.spare[key] = self.like.new_empty(entries, dtype=key[1])
        return self.spare[key][: rows * columns].view(rows, columns)

    def tile(self, start: int, stop: int, own: bool) -> Tensor:
        """Of the anchors start…stop; in its own memory, or in buffer 0."""
        first = self.plan.first(start)
        columns = self.right[first:]
        shape = (stop - start, len(columns))
        tile = self.like.new_empty(shape) if own else self.buffer(0, *shape)
        if self.plan.short:
            product = self.buffer(0, shape[0], shape[1], torch.bfloat16)
            torch.mm(self.left[start:stop], columns.T, out=product)
            torch.mul(product, self.plan.scale, out=tile)
        else:
            torch.mm(self.left[start:stop], columns.T, out=tile)
        tile.exp_()
        if self.plan.skip_self:
            tile.diagonal(offset=start - first).zero_()
        return tile

    def slope_factor(self, slope: Tensor, tile: Tensor) -> Tensor:
        """slope·tile, as the factor of the products below; slope is overwritten, or of no use
        afterwards."""
        if self.plan.short:
            space = self.buffer(1, tile.shape[0], tile.shape[1], torch.bfloat16)
            return torch.mul(slope, tile, out=space)
        return slope.mul_(tile).to(self.anchors.dtype)

    def times_candidates(self, gradient: Tensor, factor: Tensor, first: int) -> None:
        """Adds scale·factor·candidates, of the candidates from `first` on."""
        rows = self.right[first:] if self.plan.short else self.candidates[first:]
        self._add_product(gradient, factor, rows)

    def times_anchors(self, gradient: Tensor, factor: Tensor, start: int, stop: int) -> None:
        """Adds scale·factor·anchors, of the anchors start…stop."""
        rows = (self.left if self.plan.short else self.anchors)[start:stop]
        self._add_product(gradient, factor, rows)

    def _add_product(self, gradient: Tensor, factor: Tensor, rows: Tensor) -> None:
        if self.plan.short:
            gradient.add_(torch.mm(factor, rows), alpha=self.plan.scale)
        else:
            gradient.addmm_(factor, rows, alpha=self.plan.scale)


def tile_dtype(bound: float, given: torch.dtype) -> torch.dtype:
    """What holds the exponentials, and sums over them, of similarities up to `bound` in size."""
    return torch.float64 if bound > SAFE_BOUND else given
