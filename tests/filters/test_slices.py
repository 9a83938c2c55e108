"""How columns are cut, dealt and moved."""

from __future__ import annotations

import threading

import pytest
import torch

from gclbench.filters.slices import (
    BUFFERS,
    CACHE_BYTES,
    GPU_WIDTH,
    TooLarge,
    column_slices,
    deal,
    gpu_slice_width,
    put,
    slice_width,
    taken,
)

PLENTY = 1 << 40


def test_a_slice_is_as_wide_as_the_cache_takes() -> None:
    assert slice_width(2708, 1433, 2, PLENTY) == 64
    assert slice_width(CACHE_BYTES // (4 * 32), 1433, 2, PLENTY) == 32
    assert slice_width(10**7, 1000, 2, PLENTY) == 16
    assert slice_width(2708, 10, 2, PLENTY) == 10


def test_a_slice_is_narrower_where_memory_is_short_and_never_empty() -> None:
    column = 4 * 10**6 * BUFFERS
    assert slice_width(10**6, 1000, 1, 5 * column) == 5
    assert slice_width(10**6, 1000, 2, 5 * column) == 2
    with pytest.raises(
        TooLarge,
        match=r"needs 0\.06 GiB of memory for one column of 1000000 nodes, and 0\.03 GiB are free",
    ):
        slice_width(10**6, 1000, 2, column)


def test_a_slice_on_a_gpu() -> None:
    assert gpu_slice_width(10**6, 0, 1000, 4, PLENTY) == GPU_WIDTH
    column = 10**6 * (4 * BUFFERS + 16)
    assert gpu_slice_width(10**6, 0, 1000, 4, int(column * 100 / 0.9)) == 96, (
        "multiples of 32 where that many fit"
    )
    assert gpu_slice_width(10**6, 0, 1000, 4, int(column * 5.5 / 0.9)) == 5
    assert gpu_slice_width(10**6, 0, 1000, 2, int(column * 5.5 / 0.9)) > 5
    assert gpu_slice_width(10**6, 64 * column, 1000, 4, int(column * 10.5 / 0.9)) == 5, (
        "partial sums take as much again here"
    )
    with pytest.raises(
        TooLarge, match="GiB of GPU memory for one column of 1000000 nodes.*device=cpu"
    ):
        gpu_slice_width(10**6, 0, 1000, 4, column // 2)


@pytest.mark.parametrize(("width", "step"), [(7, 3), (7, 7), (7, 100), (1, 1)])
def test_slices_cover_every_column_once(width: int, step: int) -> None:
    pieces = column_slices(width, step)
    assert [column for piece in pieces for column in range(piece.start, piece.stop)] == list(
        range(width)
    )
    assert max(piece.stop - piece.start for piece in pieces) <= step


def test_dealt_work_comes_back_in_order_single_threaded_inside() -> None:
    torch.set_num_threads(3)
    barrier = threading.Barrier(2, timeout=10)

    def work(piece: slice) -> tuple[int, int]:
        if piece.start < 2:
            barrier.wait()  # Only two threads at once can pass.
        return piece.start, torch.get_num_threads()

    assert deal(work, column_slices(9, 1), 2) == [(start, 1) for start in range(9)]
    assert torch.get_num_threads() == 3
    torch.set_num_threads(1)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_ends_the_dealing(workers: int) -> None:
    done: list[int] = []

    def work(piece: slice) -> None:
        if piece.start == 1:
            raise RuntimeError("no more")
        done.append(piece.start)
        threading.Event().wait(0.01)

    with pytest.raises(RuntimeError, match="no more"):
        deal(work, column_slices(200, 1), workers)
    assert len(done) < 100
    assert torch.get_num_threads() == 1


def test_blocks_leave_and_enter() -> None:
    x = torch.arange(20.0).reshape(4, 5)
    order = torch.tensor([2, 0, 3, 1])
    block = taken(x, slice(1, 3), order)
    assert block.tolist() == [[11.0, 12.0], [1.0, 2.0], [16.0, 17.0], [6.0, 7.0]]
    result = torch.zeros(4, 5)
    put(result, slice(1, 3), block, torch.argsort(order))
    assert torch.equal(result[:, 1:3], x[:, 1:3]) and float(result[:, [0, 3, 4]].abs().sum()) == 0
