"""Numbers of a few pairs of nodes, as rows of a matrix that is never stored."""

from __future__ import annotations

import torch
from torch import Tensor

from gclbench.contrast.blocks import BLOCK_ENTRIES, by_blocks
from gclbench.contrast.mostly_ones import MostlyOnes

LEAST = 1e-30
"""A weight below counts as this in a logarithm."""


class PairEntries:
    """Distinct pairs (i, j), sorted by i, each with a number or all with the same one.

    Args:
        row, column: (n,) i and j. rows, columns: of the matrix. value: (n,), or one number.
    """

    def __init__(
        self,
        row: Tensor,
        column: Tensor,
        rows: int,
        columns: int,
        value: Tensor | float = 1.0,
    ):
        self.rows, self.columns = rows, columns
        keys = row.to(torch.int64) * columns + column
        if isinstance(value, Tensor):
            order = keys.argsort()
            keys, value = keys[order], value[order]
        else:
            keys = keys.unique()
        self.value = value
        self.row = keys.div(columns, rounding_mode="floor")
        self.column = keys - self.row * columns
        self.counts = torch.bincount(self.row, minlength=rows)

    def __len__(self) -> int:
        return len(self.row)

    def transposed(self) -> PairEntries:
        """The pairs (j, i)."""
        return PairEntries(self.column, self.row, self.columns, self.rows, self.value)

    def times(self, factor: float) -> PairEntries:
        """The same pairs, their numbers times a factor."""
        return PairEntries(self.row, self.column, self.rows, self.columns, self.value * factor)

    def numbers(self, like: Tensor) -> Tensor:
        """(n,) the pairs' numbers, in the precision and on the device of `like`."""
        if isinstance(self.value, Tensor):
            return self.value.to(like)
        return like.new_full((len(self),), self.value)

    def complement(self, like: Tensor, itself: float = 1.0) -> MostlyOnes:
        """Weights: 1 minus the pairs' numbers, 1 for all other pairs.

        Args:
            like: gives precision and device. itself: the weight of the pairs (i, i).
        """
        value = 1 - self.numbers(like)
        return MostlyOnes(self.row, self.column, value, self.rows, self.columns, itself)

    def similarities(self, anchors: Tensor, candidates: Tensor, scale: float) -> Tensor:
        """scale·⟨anchor_i, candidate_j⟩ of the pairs, (n,), in blocks of pairs."""
        size = max(1, BLOCK_ENTRIES // max(1, anchors.shape[1]))

        def products(start: int, stop: int) -> Tensor:
            first = anchors.index_select(0, self.row[start:stop])
            second = candidates.index_select(0, self.column[start:stop])
            return (first * second).sum(dim=1) * scale

        return by_blocks(products, len(self), size)

    def logsumexp(self, values: Tensor, weight: Tensor, own: Tensor) -> Tensor:
        """log (e^{own_i} + Σ_j w_ij e^{s_ij}) of each row, (rows,).

        Args:
            values: (n,) s. weight: (n,) w, non-negative, one below `LEAST` counting as that.
            own: (rows,) a term that each row has besides its pairs.
        """
        terms = values + weight.clamp(min=LEAST).log()
        top = own.detach().scatter_reduce(0, self.row, terms.detach(), "amax")
        total = (own - top).exp().index_add(0, self.row, (terms - top[self.row]).exp())
        return top + total.log()
