"""Rows of unit length, and rows without a direction."""

from __future__ import annotations

import pytest
import torch

from gclbench.contrast.unit_rows import NO_DIRECTION, unit_rows


def test_rows_have_length_one_and_keep_their_direction() -> None:
    z = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for row, unit in zip(z.tolist(), unit_rows(z).tolist()):
        length = sum(value**2 for value in row) ** 0.5
        assert unit == pytest.approx([value / length for value in row])


def test_gradient_equals_finite_differences() -> None:
    z = torch.randn(
        4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True
    )
    assert torch.autograd.gradcheck(unit_rows, (z,))


@pytest.mark.parametrize("length", [0.0, 2 * NO_DIRECTION])
def test_a_row_without_direction_is_zero_and_gets_no_gradient(length: float) -> None:
    z = torch.tensor([[length, 0.0], [3.0, 4.0]], requires_grad=True)
    unit = unit_rows(z)
    torch.testing.assert_close(unit, torch.tensor([[0.0, 0.0], [0.6, 0.8]]))
    unit.sum().backward()
    assert z.grad is not None
    assert z.grad[0].tolist() == [0.0, 0.0]
    assert bool(z.grad[1].any())


def test_small_rows_keep_their_direction_where_all_are_small() -> None:
    z = torch.tensor([[3.0, 4.0], [4.0, 3.0], [0.0, 0.0]])
    torch.testing.assert_close(unit_rows(1e-9 * z), unit_rows(z))
    torch.testing.assert_close(unit_rows(1e9 * z), unit_rows(z))
    assert not bool(unit_rows(0 * z).any()) and unit_rows(z[:0]).shape == (0, 2)


def test_a_row_too_long_for_its_type_is_not_a_row_of_zeros() -> None:
    """3e30² is beyond float32; z / inf would be a silent zero."""
    unit = unit_rows(torch.tensor([[3e30, 4e30], [3.0, 4.0]]))
    assert bool(unit[0].isnan().all())
    torch.testing.assert_close(unit[1], torch.tensor([0.6, 0.8]))
    assert bool(unit_rows(torch.tensor([[torch.nan, 1.0]])).isnan().all())
