"""Any differentiable function of rows, walked in blocks: the general form of the row-block engine.

`panel` (panel.py) is its fused special case. What is not a log-sum-exp with constant weights goes
through here: a pair network, a mixture of embeddings, the largest entries of a row. Each block's
intermediate values are dropped after the forward pass and recomputed in the backward pass. So
memory stays O(block·N), whatever the function does to its B×N tile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from gclbench.contrast.heap import hand_back

KEPT_ENTRIES = 1 << 24
"""Tile entries below which everything is one block and nothing is recomputed: 64 MiB in float32."""

HANDED_BACK = 32
"""Blocks after which the heap's free pages go back to the system. A block frees arrays of some
megabytes between small ones that stay until the backward pass. Where the next block does not fit
into such a hole, the heap grows; this keeps the holes out of memory, not out of the heap."""

BLOCK_ENTRIES = 1 << 22
"""Entries per tile when rows are cut into blocks: 16 MiB in float32."""


def block_rows(rows: int, columns: int, per_entry: int = 1, entries: int | None = None) -> int:
    """Rows per block for a rows×columns tile of which `per_entry` copies live at once.

    Args:
        entries: of a tile at most; `BLOCK_ENTRIES` when not given.
    """
    if rows * columns * per_entry <= KEPT_ENTRIES:
        return max(1, rows)
    return max(1, (entries or BLOCK_ENTRIES) // max(1, columns * per_entry))


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
    done = itertools.count(1)

    def counted(start: int, stop: int) -> Tensor:
        # Before the block: a recomputation ends where its last value is known.
        if next(done) % HANDED_BACK == 0:
            hand_back()
        return function(start, stop)

    return torch.cat(
        [
            checkpoint(
                counted,
                start,
                min(start + block, rows),
                use_reentrant=False,
                preserve_rng_state=False,
            )
            for start in starts
        ]
    )


class Window(NamedTuple):
    """A block of rows, start…stop, and the rows of the inputs that it reads, low…high."""

    start: int
    stop: int
    low: int
    high: int


def by_windows(
    function: Callable[..., Tensor], windows: Sequence[Window], *inputs: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Concatenates function(window, *parts) over windows, each part being an input's rows from low
    to high.

    Like `by_blocks`, but a block's gradient is as tall as its window, not as the inputs. Where
    rows read few others near them, as nodes of a batch of graphs do, the difference is most of the
    time.

    Args:
        function: gives a tensor whose first dimension is stop − start, the same when it is called
            again. Whatever else it reads is a constant.
        windows: of consecutive blocks, from the first row to the last. inputs: N rows each, in the
            order in which the function reads them; one that is given twice has one gradient.

    Returns:
        The rows, and the inputs once more. Whoever reads an input afterwards reads it there: its
        gradients then add up in the order in which `by_blocks` adds them, hence to the same bits.
    """
    if len(windows) == 1:
        (only,) = windows
        return function(only, *(tensor[only.low : only.high] for tensor in inputs)), inputs
    distinct = list({id(tensor): tensor for tensor in inputs}.values())
    places = [[id(one) for one in distinct].index(id(tensor)) for tensor in inputs]
    found, *again = _ByWindows.apply(function, windows, places, *distinct)
    return found, tuple(again[place] for place in places)


class _ByWindows(torch.autograd.Function):
    """Keeps the inputs and makes a window's values again in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        function: Callable[..., Tensor],
        windows: Sequence[Window],
        places: Sequence[int],
        *distinct: Tensor,
    ) -> tuple[Tensor, ...]:
        ctx.function, ctx.windows, ctx.places = function, windows, places
        ctx.save_for_backward(*distinct)
        ctx.set_materialize_grads(False)
        rows = [
            function(window, *(distinct[place][window.low : window.high] for place in places))
            for window in windows
        ]
        return torch.cat(rows), *(tensor.view_as(tensor) for tensor in distinct)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, pull: Tensor | None, *of_inputs: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        distinct, needed = ctx.saved_tensors, ctx.needs_input_grad[3:]
        if pull is None:
            return None, None, None, *of_inputs
        gradients = [
            (torch.zeros_like(tensor) if had is None else had.clone()) if asked else None
            for tensor, had, asked in zip(distinct, of_inputs, needed, strict=True)
        ]
        for window in reversed(ctx.windows):
            rows = slice(window.low, window.high)
            leaves = [
                distinct[place][rows].detach().requires_grad_(needed[place]) for place in ctx.places
            ]
            with torch.enable_grad():
                made = ctx.function(window, *leaves)
            asked = [
                (leaf, gradients[place])
                for leaf, place in zip(leaves, ctx.places, strict=True)
                if leaf.requires_grad
            ]
            found = torch.autograd.grad(
                made,
                [leaf for leaf, _ in asked],
                pull[window.start : window.stop],
                allow_unused=True,
            )
            # What was read last has its gradient first.
            for (_, whole), part in reversed(list(zip(asked, found, strict=True))):
                if whole is not None and part is not None:
                    whole[rows] += part
        return None, None, None, *gradients


def sums_by_blocks(
    function: Callable[..., Tensor],
    rows: tuple[Tensor, ...],
    shared: tuple[Tensor, ...],
    block: int,
) -> tuple[Tensor, Tensor]:
    """Sums over blocks of rows of what function(*parts of rows, *shared) gives, a (K,) tensor.

    The gradient of a sum does not wait for the backward pass: each block's is taken while its
    values are there. So nothing is computed twice, which `by_blocks` has to do where a block's
    gradient depends on the others.

    Args:
        function: gets the same rows of every tensor of `rows`, and `shared` whole; whatever else it
            reads is a constant.
        rows: tensors with as many rows each. block: rows at a time.

    Returns:
        The total of the K sums, with the gradient, and the K sums, as constants.
    """
    found: tuple[Tensor, Tensor] = _SumsByBlocks.apply(function, block, len(rows), *rows, *shared)
    return found


class _SumsByBlocks(torch.autograd.Function):
    """Takes the gradient in its forward pass."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Tensor], block: int, cut: int, *inputs: Tensor
    ) -> tuple[Tensor, Tensor]:
        needed = ctx.needs_input_grad[3:]
        gradients = [
            torch.zeros_like(tensor) if asked else None
            for tensor, asked in zip(inputs, needed, strict=True)
        ]
        sums: Tensor | None = None
        for start in range(0, len(inputs[0]), block):

            def part(tensors: Iterable[Any], start: int = start) -> list[Any]:
                """The block's rows of those that are cut, the others whole."""
                return [
                    tensor[start : start + block] if place < cut and tensor is not None else tensor
                    for place, tensor in enumerate(tensors)
                ]

            leaves = [
                tensor.detach().requires_grad_(asked)
                for tensor, asked in zip(part(inputs), needed, strict=True)
            ]
            with torch.enable_grad():
                terms = function(*leaves)
                total = terms.sum()
            sums = terms.detach() if sums is None else sums + terms.detach()
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            into = [place for place in part(gradients) if place is not None]
            if wanted:
                for place, found in zip(into, torch.autograd.grad(total, wanted), strict=True):
                    place += found
        assert sums is not None
        ctx.needed = needed
        ctx.save_for_backward(*(gradient for gradient in gradients if gradient is not None))
        ctx.mark_non_differentiable(sums)
        return sums.sum(), sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, pull: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        saved = iter(ctx.saved_tensors)
        return None, None, None, *(next(saved) * pull if asked else None for asked in ctx.needed)
