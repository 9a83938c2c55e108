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


@pytest.mark.parametrize("longest", [5.0, 5e30])
def test_compressed_rows_are_those_of_a_dense_matrix(longest: float) -> None:
    z = torch.tensor([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0], [1e-7, 0.0]])
    z[0] *= longest / 5
    unit = unit_rows(z.to_sparse_csr())
    assert unit.layout == torch.sparse_csr
    torch.testing.assert_close(unit.to_dense(), unit_rows(z), equal_nan=True)
    assert bool(unit.to_dense()[1, 1] == 1)


def of_torch(z: torch.Tensor) -> torch.Tensor:
    """The same in torch's own formulas."""
    length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    known = length.detach()
    longest = known.masked_fill(known == torch.inf, 0.0).amax()
    nowhere = known <= NO_DIRECTION * longest
    divisor = length.masked_fill(nowhere, 1.0).masked_fill(length == torch.inf, torch.nan)
    return (z / divisor).masked_fill(nowhere, 0.0)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("width", [1, 3, 16, 65, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_and_gradients_are_those_of_torch_to_the_last_bit(
    dtype: torch.dtype, width: int, by_columns: bool
) -> None:
    rng = torch.Generator().manual_seed(width)
    z = torch.randn(300, width, generator=rng, dtype=dtype)
    z *= torch.logspace(-3, 3, 300, dtype=dtype)[:, None]
    z[7], z[8], z[9] = 0, 1e-9, 1e-3
    pull = torch.randn(300, width, generator=rng, dtype=dtype)
    if by_columns:
        z, pull = z.T.contiguous().T, pull.T.contiguous().T
    z.requires_grad_()
    found, expected = unit_rows(z), of_torch(z)
    assert torch.equal(found, expected) and found.stride() == expected.stride()
    assert torch.equal(
        torch.autograd.grad(found, z, pull)[0], torch.autograd.grad(expected, z, pull)[0]
    )


def test_gradient_of_a_row_that_is_too_long_is_not_a_number() -> None:
    z = torch.tensor([[3e30, 4e30], [3.0, 4.0]], requires_grad=True)
    (found,) = torch.autograd.grad(unit_rows(z)[:, 0].sum(), z)
    assert bool(found[0].isnan().all()) and bool(found[1].isfinite().all())
