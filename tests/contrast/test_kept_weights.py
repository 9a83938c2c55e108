"""Weights that stay the same, kept where they are few."""

from __future__ import annotations

import torch
from panel_loops import unit
from torch import Tensor

from gclbench.contrast import blocks, panel
from gclbench.contrast.kept_weights import kept_matrix, kept_weights, rows_of


def test_constant_weights_are_kept_up_to_their_bytes_with_the_bits_of_tiles(monkeypatch):
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 1)
    monkeypatch.setattr(panel, "TILE_ROWS", 4)
    u, v = unit(10, dtype=torch.float32), unit(9, seed=1, dtype=torch.float32)
    asked: list[tuple[int, int]] = []

    def rows(start: int, stop: int) -> Tensor:
        asked.append((start, stop))
        return (u[start:stop] @ v.T).exp()

    monkeypatch.setattr(panel, "KEPT_BYTES", 10 * 9 * 4)
    kept = kept_weights(rows, 10, 9)
    assert asked == [(0, 4), (4, 8), (8, 10)]
    tiles = [rows(*each) for each in asked[:3]]
    assert torch.equal(torch.cat([kept(0, 3), kept(3, 10)]), torch.cat(tiles))
    asked.clear()
    kept(0, 10)
    assert asked == []
    monkeypatch.setattr(panel, "KEPT_BYTES", 10 * 9 * 4 - 1)
    assert kept_weights(rows, 10, 9) is rows
    assert kept_weights(lambda start, stop: v[:0], 0, 9)(0, 0).shape == (0, 4)


def test_the_matrix_is_that_of_all_rows(monkeypatch):
    weights = torch.rand(10, 9)
    found = kept_matrix(rows_of(weights), 10, 9)
    assert found is not None and torch.equal(found, weights)
    monkeypatch.setattr(panel, "KEPT_BYTES", 10 * 9 * 4 - 1)
    assert kept_matrix(rows_of(weights), 10, 9) is None
