"""Slices of feature columns: how wide, who works on which, and how they leave and enter the N×F
matrices.

Columns are independent in every solver, so a slice needs a few N×width buffers and nothing else. On
the CPU slices are narrow enough for the core's own cache where the graph allows it, and each thread
takes the next one. The number of threads matters only where memory is so short that slices must be
narrower for all of them to fit: numbers then differ within the tolerance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from gclbench.machine.memory_map import available_memory

R = TypeVar("R")

CACHE_BYTES = 1 << 20
"""Bytes of one N×slice buffer that a core's second-level cache serves well; measured with 2 MiB a
core."""

WIDTHS = (64, 32, 16)
"""Widths that are tried on the CPU; 16 float32 are one cache line, and narrower slices waste it."""

GPU_WIDTH = 512
"""Columns of a slice on a GPU at most: neighbour ids are read once per slice."""

BUFFERS = 8
"""N×slice float32 buffers that a solver holds at once, at most."""


class TooLarge(ValueError):
    """Not even one column of the graph fits; the text says how much is needed."""


def slice_width(nodes: int, width: int, workers: int, free: int | None = None) -> int:
    """Columns of a slice on the CPU.

    Args:
        nodes: N. width: F. workers: threads. free: bytes of memory to be had; asked of the system
            when not given.

    Raises:
        TooLarge: when one column does not fit.
    """
    free = available_memory() if free is None else free
    wanted = next((columns for columns in WIDTHS if 4 * nodes * columns <= CACHE_BYTES), WIDTHS[-1])
    fits = free // max(1, 4 * nodes * BUFFERS * workers)
    if fits < 1:
        raise TooLarge(_too_large("memory", nodes, 4 * nodes * BUFFERS * workers, free))
    return max(1, min(width, wanted, fits))


def gpu_slice_width(nodes: int, entries: int, width: int, bytes_each: int, free: int) -> int:
    """Columns of a slice on a GPU with `free` bytes left beside the matrix; multiples of 32 where
    that many fit.

    Args:
        entries: of the matrix: the kernel keeps at most two partial sums for every 513 of them.
            bytes_each: of a stored number, 4 or 2.

    Raises:
        TooLarge: when one column does not fit.
    """
    # Half of the buffers are in the storage type, the others (input, result, float64 checks) are
    # wider.
    column = nodes * (bytes_each * BUFFERS // 2 + 4 * BUFFERS // 2 + 16) + entries // 64
    fits = int(0.9 * free) // max(1, column)
    if fits < 1:
        raise TooLarge(_too_large("GPU memory", nodes, int(column / 0.9), free))
    return max(1, min(width, GPU_WIDTH, fits if fits < 32 else fits - fits % 32))


def _too_large(where: str, nodes: int, needed: int, free: int) -> str:
    return (
        f"the filter needs {needed / 2**30:.2f} GiB of {where} for one column of {nodes} nodes, and"
        f" {free / 2**30:.2f} GiB are free; free some, or run it where there is more (on a GPU"
        " machine, device=cpu uses the main memory)"
    )


def column_slices(width: int, step: int) -> list[slice]:
    """0 … width in pieces of `step`."""
    return [slice(start, min(start + step, width)) for start in range(0, width, step)]


def deal(work: Callable[[slice], R], pieces: list[slice], workers: int) -> list[R]:
    """`work` of every piece, in order; `workers` threads take the next piece each, torch
    single-threaded inside.

    Raises:
        whatever `work` raises first; pieces not begun are then dropped.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if workers == 1 or len(pieces) == 1:
            return [work(piece) for piece in pieces]
        with (
            ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool,
            _dropping(pool),
        ):
            return list(pool.map(work, pieces))
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _dropping(pool: ThreadPoolExecutor) -> Iterator[None]:
    try:
        yield
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def taken(x: Tensor, columns: slice, order: Tensor) -> Tensor:
    """The columns of x (N×F, on the CPU), rows in the order `order`, as an N×K block on the device
    of `order`."""
    if order.device.type == "cpu":
        return torch.index_select(x[:, columns], 0, order)
    return x[:, columns].contiguous().to(order.device).index_select(0, order)


def put(result: Tensor, columns: slice, block: Tensor, rank: Tensor) -> None:
    """Writes a block back: the opposite of `taken`."""
    result[:, columns] = block.index_select(0, rank)
