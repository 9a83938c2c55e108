"""The tiles of a panel: how many rows they have, which are kept for the backward pass."""

from __future__ import annotations

import pytest
import torch
from panel_loops import unit
from torch import Tensor

from gclbench.contrast import blocks, tiles
from gclbench.contrast import panel as panel_module
from gclbench.contrast.panel import panel


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiles_that_are_kept_give_the_bits_of_those_that_are_computed_again(monkeypatch, dtype):
    found = []
    for most in (24, 10_000):
        monkeypatch.setattr(panel_module, "KEPT_BYTES", most)
        monkeypatch.setattr(panel_module, "TILE_ROWS", 4)
        u, v = (unit(10, seed=seed, dtype=dtype).requires_grad_() for seed in (0, 1))
        across = panel(u, v, 2.0, columns=True)
        within = panel(u, u, 2.0, skip_self=True)
        (across.rows[0] + across.columns[0] + within.rows[0]).sum().backward()
        found.append((across.rows[0].detach(), u.grad, v.grad))
    for first, second in zip(*found, strict=True):
        assert torch.equal(first, second)


def test_block_size_follows_the_number_of_candidates(monkeypatch):
    asked: list[tuple[int, int]] = []

    def weights(start: int, stop: int) -> Tensor:
        asked.append((start, stop))
        return torch.ones(stop - start, 6)

    monkeypatch.setattr(panel_module, "KEPT_BYTES", 24)
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 24)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 24)
    z = unit(10, dtype=torch.float32).requires_grad_()
    panel(z, unit(6, seed=1, dtype=torch.float32), 1.0, (weights,)).rows[0].sum().backward()
    assert asked == [(0, 4), (4, 8), (8, 10)] * 2, "once forward, once recomputed backward"


def test_tiles_elsewhere_have_a_size_of_their_own(monkeypatch):
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 24)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 24)
    monkeypatch.setattr(panel_module, "GPU_ENTRIES", 12)
    for device, rows in (("cpu", 4), ("meta", 2)):
        anchors = torch.empty(10, 3, device=device)
        assert panel_module._cut(10, 6, None, torch.float32, anchors)["block"] == rows, device


def saved_sizes(most: int, monkeypatch, dtype: torch.dtype) -> list[int]:
    """Entries of the tensors that a panel of 40 vectors saves for its backward pass."""
    monkeypatch.setattr(panel_module, "KEPT_BYTES", most)
    monkeypatch.setattr(panel_module, "TILE_ROWS", 8)
    saved: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    u, v = (unit(40, seed=seed, dtype=dtype).requires_grad_() for seed in (0, 1))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        panel(u, v, 1.0, columns=True)
    return saved


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiles_are_kept_up_to_their_bytes(monkeypatch, dtype):
    size = 40 * 40 * dtype.itemsize
    assert saved_sizes(size, monkeypatch, dtype).count(8 * 40) == 5
    assert max(saved_sizes(size - 1, monkeypatch, dtype)) <= 160, "inputs and sums"


def test_nothing_of_the_whole_size_is_kept_between_the_passes():
    """The graph of a panel in blocks saves inputs and sums, not similarities."""
    saved: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    z = unit(40, dtype=torch.float32).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        panel(z, z, 1.0, columns=True, block=8)
    assert max(saved) <= 160


@pytest.mark.parametrize(
    ("amx", "rows", "dtype", "parts"),
    [
        (False, 5, torch.float32, [8, 7, 7]),
        (False, 5, torch.float32, [21]),
        (True, 5, torch.float32, [22]),
        (False, 1, torch.float32, [22]),
        (False, 5, torch.float64, [22]),
    ],
)
def test_products_are_made_in_parts_where_that_is_quicker(monkeypatch, amx, rows, dtype, parts):
    u, v = unit(rows, dtype=dtype), unit(sum(parts), seed=1, dtype=dtype)
    expected = panel(u, v, 2.0, columns=True)
    widths, product = [], torch.mm

    def counted(left: Tensor, right: Tensor, out: Tensor) -> Tensor:
        widths.append(right.shape[1])
        return product(left, right, out=out)

    monkeypatch.setattr(tiles, "torch_shortens", lambda: amx)
    monkeypatch.setattr(tiles, "PRODUCT_COLUMNS", 7)
    monkeypatch.setattr(tiles, "PARTS_FROM", 22)
    monkeypatch.setattr(torch, "mm", counted)
    found = panel(u, v, 2.0, columns=True)
    assert widths == parts
    torch.testing.assert_close(found.rows[0], expected.rows[0])
    torch.testing.assert_close(found.columns[0], expected.columns[0])


def test_products_elsewhere_are_whole(monkeypatch):
    widths: list[int] = []
    monkeypatch.setattr(tiles, "torch_shortens", lambda: False)
    monkeypatch.setattr(tiles, "PRODUCT_COLUMNS", 7)
    monkeypatch.setattr(tiles, "PARTS_FROM", 22)
    monkeypatch.setattr(torch, "mm", lambda _left, right, out: widths.append(right.shape[1]))
    tiles._product(*(torch.empty(*shape, device="meta") for shape in ((5, 3), (22, 3), (5, 22))))
    assert widths == [22]
