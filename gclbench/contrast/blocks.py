"""Any differentiable function of rows, walked in blocks: the general form of the row-block engine.

`panel` (panel.py) is its fused special case. What is not a log-sum-exp with constant weights goes
through here: a pair network, a mixture of embeddings, the largest entries of a row. Each block's
intermediate values are dropped after the forward pass and recomputed in the backward pass. So
memory stays O(block·N), whatever the function does to its B×N tile.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

KEPT_ENTRIES = 1 << 24
"""Tile entries below which everything is one block and nothing is recomputed: 64 MiB in float32."""

BLOCK_ENTRIES = 1 << 22
"""Entries per tile when rows are cut into blocks: 16 MiB in float32."""


def block_rows(rows: int, columns: int, per_entry: int = 1) -> int:
    """Rows per block for a rows×columns tile of which `per_entry` copies live at once."""
    if rows * columns * per_entry <= KEPT_ENTRIES:
        return max(1, rows)
    return max(1, BLOCK_ENTRIES // max(1, columns * per_entry))


def by_blocks(function: Callable[[int, int], Tensor], rows: int, block: int) -> Tensor:
    """Concatenates function(start, stop) over blocks of rows.

    Args:
        function: gives a tensor whose first dimension is stop − start. It must give the same values
            when called again, so random numbers are drawn outside.
        rows: rows in all. block: rows at a time.
    """
    if block >= rows:
        return function(0, rows)
    starts = range(0, rows, block)
    if not torch.is_grad_enabled():
        return torch.cat([function(start, min(start + block, rows)) for start in starts])
    return torch.cat(
        [
            checkpoint(
                function,
                start,
                min(start + block, rows),
                use_reentrant=False,
                preserve_rng_state=False,
            )
            for start in starts
        ]
    )
