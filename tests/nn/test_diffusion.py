"""Personalised PageRank inside a network, against a dense inverse."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gclbench.nn.diffusion import Diffusion
from gclbench.nn.sparse import Adjacency, SparseMatrix

NODES = 25


@pytest.fixture
def propagation() -> SparseMatrix:
    generator = torch.Generator().manual_seed(0)
    upper = torch.triu(torch.rand(NODES, NODES, generator=generator) < 0.15, diagonal=1)
    return Adjacency((upper | upper.T).nonzero().T, NODES).normalised()


def dense(propagation: SparseMatrix, alpha: float) -> Tensor:
    s = propagation.matrix.to_dense().double()
    return alpha * torch.linalg.inv(torch.eye(NODES, dtype=torch.float64) - (1 - alpha) * s)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-5])
def test_the_error_is_within_the_tolerance(propagation, alpha, tolerance):
    x = torch.randn(NODES, 4, generator=torch.Generator().manual_seed(1))
    exact = dense(propagation, alpha) @ x.double()
    found = (Diffusion(propagation, alpha, tolerance) @ x).double()
    assert float((found - exact).norm()) <= (tolerance + 1e-6) * float(exact.norm())


def test_the_tolerance_is_used_up_not_beaten_by_orders(propagation):
    """Steps cost time: the worst direction must come near the bound."""
    diffusion = Diffusion(propagation, 0.2, 1e-2)
    error = (diffusion @ torch.eye(NODES)).double() - dense(propagation, 0.2)
    assert 1e-4 < float(torch.linalg.matrix_norm(error, 2)) <= 1e-2
    assert (diffusion.steps, Diffusion(propagation, 0.2).steps) == (8, 15)


@pytest.mark.parametrize("entries", [NODES * 16, NODES * 1000])
def test_all_of_it_is_the_product_with_the_identity(propagation, entries, monkeypatch):
    """In slices of 16 columns, the last one narrower, and in one."""
    diffusion = Diffusion(propagation, 0.2, 1e-6)
    monkeypatch.setattr("gclbench.nn.diffusion.SLICE_ENTRIES", entries)
    torch.testing.assert_close(
        diffusion.matrix(), dense(propagation, 0.2).float(), rtol=1e-5, atol=1e-6
    )


def test_the_gradient_is_that_of_the_dense_matrix(propagation):
    x = torch.randn(NODES, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    pull = torch.randn(NODES, 3, generator=torch.Generator().manual_seed(2))
    ((Diffusion(propagation, 0.2, 1e-6) @ x) * pull).sum().backward()
    torch.testing.assert_close(
        x.grad, (dense(propagation, 0.2).T @ pull.double()).float(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(("alpha", "tolerance"), [(0.0, 0.1), (1.1, 0.1), (0.2, 0.0), (0.2, 1.0)])
def test_values_out_of_range(propagation, alpha, tolerance):
    with pytest.raises(ValueError, match=r"alpha in \(0, 1\] and tolerance in \(0, 1\), got"):
        Diffusion(propagation, alpha, tolerance)
