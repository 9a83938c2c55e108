"""Pair weights that stay the same for many calls: computed once where they are few enough."""

from __future__ import annotations

from torch import Tensor

from gclbench.contrast import blocks, panel
from gclbench.contrast.tiles import Weights


def kept_weights(rows: Weights, anchors: int, candidates: int) -> Weights:
    """The same weights, computed once instead of at each call where they take `KEPT_BYTES` at most.

    Args:
        rows: weights that stay the same as long as these are asked for.
    """
    kept = kept_matrix(rows, anchors, candidates)
    return rows if kept is None else rows_of(kept)


def rows_of(kept: Tensor) -> Weights:
    """The weights that a matrix holds."""
    return lambda start, stop: kept[start:stop]


def kept_matrix(rows: Weights, anchors: int, candidates: int) -> Tensor | None:
    """The weights of all pairs, anchors×candidates; None where they take more than `KEPT_BYTES`."""
    size = rows_at_once(anchors, candidates)
    first = rows(0, size)
    if anchors * candidates * first.element_size() > panel.KEPT_BYTES:
        return None
    kept = first
    if size < anchors:
        kept = first.new_empty(anchors, candidates)
        kept[:size] = first
        for start in range(size, anchors, size):
            stop = min(start + size, anchors)
            kept[start:stop] = rows(start, stop)
    return kept


def rows_at_once(anchors: int, candidates: int) -> int:
    """Rows of weights to be kept that are computed at a time: all where they are few, else as many
    as a tile has, whose intermediate values are small."""
    return anchors if anchors * candidates <= blocks.KEPT_ENTRIES else min(anchors, panel.TILE_ROWS)
