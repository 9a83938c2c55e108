"""How a panel is cut into tiles, and the exponentials in a tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.contrast.mostly_ones import Few, MostlyOnes
from gclbench.contrast.short_factors import Centred, torch_shortens

Weights = Callable[[int, int], Tensor]
"""Non-negative pair weights of the anchors start…stop: (start, stop) -> (stop−start)×N, constant in
backward. Weight 0 masks a pair. A weight function must give the same numbers when it is called
again."""

SAFE_BOUND = 40.0
"""Largest |s_ij| whose exponential, times or over N of them, float32 holds; beyond it tiles are
computed in float64."""

PRODUCT_COLUMNS = 512
"""Least number of candidates in a part of a tile's product, in float32 on a CPU without AMX.
torch's library makes a product of a tile's shape, few rows and many columns, more slowly on an AMD
processor than in parts (results/bench/product_columns.json). With AMX large products are the fast
ones."""

PARTS_FROM = 1 << 12
"""Candidates of a tile from which on its product is made in parts; with fewer, parts gain
nothing."""


@dataclass(frozen=True)
class Plan:
    """How a panel is reduced: the arguments of `panel`, the anchors per tile, whether tiles are
    kept, and what makes their products short (`short_factors`), if anything does.

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
    short: type[Centred] | None

    def dtype(self, given: torch.dtype) -> torch.dtype:
        """Of the tiles."""
        return tile_dtype(self.bound, given)

    def first(self, start: int) -> int:
        """The first candidate of the tile whose first anchor is `start`."""
        return start if self.symmetric else 0

    def weights(self, index: int, start: int, stop: int) -> Tensor | Few | None:
        """A head's weights of a tile; None where all are 1."""
        return self._of_tile(self.heads[index], start, stop)

    def column_weights(self, index: int, start: int, stop: int) -> Tensor | Few | None:
        """A head's weights of a tile in the columns; None where they are those of the rows."""
        if self.column_heads is None:
            return None
        return self._of_tile(self.column_heads[index], start, stop)

    def _of_tile(self, weights: Weights | None, start: int, stop: int) -> Tensor | Few | None:
        if isinstance(weights, MostlyOnes):
            return weights.few(start, stop, self.first(start))
        return None if weights is None else weights(start, stop)[:, self.first(start) :]

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
        self.short = plan.short(anchors, candidates, plan.scale) if plan.short else None
        if not self.short:
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
        shape = (stop - start, len(self.candidates) - first)
        tile = self.like.new_empty(shape) if own else self.buffer(0, *shape)
        if self.short:
            self.short.fill(tile, start, first, self.buffer)
        else:
            _product(self.left[start:stop], self.right[first:], tile)
        tile.exp_()
        if self.plan.skip_self:
            tile.diagonal(offset=start - first).zero_()
        return tile

    def add_products(
        self,
        of_anchors: Tensor | None,
        of_candidates: Tensor | None,
        slope: Tensor,
        tile: Tensor,
        start: int,
        stop: int,
    ) -> None:
        """Adds scale·slope·tile times the vectors of the other side to the gradients.

        Args:
            of_anchors: M×d; None is not wanted. of_candidates: N×d, likewise; of a symmetric panel
                the same tensor. slope: overwritten.
        """
        first = self.plan.first(start)
        # Of the block on the diagonal both halves are in the first product.
        held = stop - start if self.plan.symmetric else 0
        pulls = slope.mul_(tile).to(self.anchors.dtype)
        factor, candidates, own = pulls, self.candidates, self.anchors
        if self.short:
            factor = self.short.factor(pulls, self.buffer)
            candidates, own = self.short.right, self.short.own
        if of_anchors is not None:
            self._add(of_anchors[start:stop], factor, candidates[first:])
            if self.short:
                self._add_mean(of_anchors[start:stop], pulls.sum(dim=1), self.short.middle)
        if of_candidates is not None:
            below = of_candidates[first + held :]
            self._add(below, factor[:, held:].T, own[start:stop])
            if self.short:
                self._add_mean(below, pulls[:, held:].sum(dim=0), self.short.own_middle)

    def _add(self, gradient: Tensor, factor: Tensor, vectors: Tensor) -> None:
        if self.short:
            self.short.add(gradient, factor, vectors)
        else:
            gradient.addmm_(factor, vectors, alpha=self.plan.scale)

    def _add_mean(self, gradient: Tensor, sums: Tensor, middle: Tensor) -> None:
        gradient.addcmul_(sums[:, None], middle, value=self.plan.scale)


def tile_dtype(bound: float, given: torch.dtype) -> torch.dtype:
    """What holds the exponentials, and sums over them, of similarities up to `bound` in size."""
    return torch.float64 if bound > SAFE_BOUND else given


def _product(left: Tensor, right: Tensor, tile: Tensor) -> None:
    """Fills a tile with left·rightᵀ."""
    # Parts give other bits where a tile is one row, and in float64.
    plain = left.is_cpu and left.dtype == torch.float32 and len(left) > 1
    whole = not plain or len(right) < PARTS_FROM or torch_shortens()
    parts = 1 if whole else max(len(right) // PRODUCT_COLUMNS, 1)
    places = tile.tensor_split(parts, dim=1)
    for some, place in zip(right.tensor_split(parts), places, strict=True):
        torch.mm(left, some.T, out=place)
