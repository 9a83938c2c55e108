"""Pair weights that are 1 but for a few pairs: a panel multiplies those alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Few:
    """The pairs of a tile whose weight is not 1.

    Attributes:
        place: (n,) distinct places in the tile, counted along its rows. value: (n,) their weights.
        shape: rows and columns of the tile.
    """

    place: Tensor
    value: Tensor
    shape: tuple[int, int]

    def multiply(self, tile: Tensor) -> Tensor:
        """Multiplies a contiguous tile in place, and gives what stood there: `restore` takes it."""
        flat = tile.view(-1)
        had = flat.gather(0, self.place)
        flat.scatter_(0, self.place, had * self.value.to(had.dtype))
        return had

    def restore(self, tile: Tensor, had: Tensor) -> None:
        """Writes back what `multiply` found."""
        tile.view(-1).scatter_(0, self.place, had)

    def add(self, tile: Tensor, factor: Tensor) -> None:
        """Adds the weights times a factor to a contiguous tile.

        Args:
            factor: rows×1, or (columns,).
        """
        flat, width = tile.view(-1), self.shape[1]
        had = flat.gather(0, self.place)
        at = factor.expand(self.shape)[self.place // width, self.place % width]
        tile.add_(factor)
        flat.scatter_(0, self.place, torch.addcmul(had, at, self.value.to(had.dtype)))

    def whole(self) -> Tensor:
        """The weights of the tile."""
        rows = self.value.new_ones(self.shape)
        rows.view(-1).scatter_(0, self.place, self.value)
        return rows


class MostlyOnes:
    """(start, stop) → those rows of the weights, (stop−start)×columns, as any `Weights`.

    Args:
        row, column: (n,) distinct pairs, sorted by row. value: (n,) their weights.
        rows, columns: of the matrix.
        itself: the weight of the pairs (i, i), whatever stands among the pairs.
    """

    def __init__(
        self,
        row: Tensor,
        column: Tensor,
        value: Tensor,
        rows: int,
        columns: int,
        itself: float = 1.0,
    ):
        apart = row != column
        self.row, self.column, self.value = row[apart], column[apart], value[apart]
        self.columns, self.itself = columns, itself
        counts = torch.bincount(self.row, minlength=rows)
        self.pointers = [0, *counts.cumsum(0).tolist()]

    def __call__(self, start: int, stop: int) -> Tensor:
        return self.few(start, stop).whole()

    def few(self, start: int, stop: int, first: int = 0) -> Few:
        """Of the anchors start…stop and the candidates from `first` on."""
        width = self.columns - first
        chosen = slice(self.pointers[start], self.pointers[stop])
        row, column, value = self.row[chosen], self.column[chosen], self.value[chosen]
        if first:
            there = column >= first
            row, column, value = row[there], column[there], value[there]
        place = (row - start) * width + column - first
        if self.itself != 1:
            own = torch.arange(max(start, first), min(stop, self.columns), device=place.device)
            place = torch.cat([place, (own - start) * width + own - first])
            value = torch.cat([value, value.new_full((len(own),), self.itself)])
        return Few(place, value, (stop - start, width))
