"""Sparse products inside a network against dense ones, their gradients, and the views' propagation
matrices."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor

from gclbench.nn.sparse import (
    DENSE_FROM,
    Adjacency,
    Features,
    SparseMatrix,
    compressed,
    normalised_rows,
    product,
    products_at,
)


def few(
    rows: int, columns: int, seed: int = 0, share: float = 0.15, dtype: torch.dtype = torch.float64
) -> Tensor:
    """A matrix of which that share is not zero, negative entries and an empty row among them."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator, dtype=dtype)
    x = x * (torch.rand(rows, columns, generator=generator) < share)
    x[1] = 0
    return x


def path_and_star() -> Tensor:
    """0–1–2, 2–3, 2–4, both directions; node 5 alone. Not sorted."""
    pairs = torch.tensor([[2, 0, 1, 2], [3, 1, 2, 4]])
    return torch.cat([pairs, pairs.flip(0)], dim=1)


def dense_propagation(edge_index: Tensor, nodes: int, keep: Tensor | None = None) -> Tensor:
    """D^(−½)(A + I)D^(−½), entry by entry: row i receives from column j; D counts what a node
    receives."""
    entries = {(node, node) for node in range(nodes)}
    for position, (sender, receiver) in enumerate(edge_index.T.tolist()):
        if keep is None or keep[position]:
            entries.add((receiver, sender))
    degree = [sum(1 for receiver, _ in entries if receiver == node) for node in range(nodes)]
    matrix = torch.zeros(nodes, nodes)
    for receiver, sender in entries:
        matrix[receiver, sender] = (degree[receiver] * degree[sender]) ** -0.5
    return matrix


@pytest.fixture
def filled_with_nan():
    """Memory that nothing was written to holds NaN."""
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3).isnan().all()
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("mkl", [None, False])
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_a_product_is_that_of_torch_digit_by_digit(
    monkeypatch, filled_with_nan, mkl, share
) -> None:
    if mkl is not None:
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    matrix = few(40, 30, share=share, dtype=torch.float32).to_sparse_csr()
    dense = torch.randn(30, 9, generator=torch.Generator().manual_seed(1))
    assert torch.equal(product(matrix, dense), torch.sparse.mm(matrix, dense))


@pytest.mark.parametrize("mkl", [None, False])
@pytest.mark.parametrize("entries", [0, 1, 7])
def test_products_at_entries_equal_those_of_the_dense_product(monkeypatch, mkl, entries) -> None:
    if mkl is not None:
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    monkeypatch.setattr("gclbench.nn.sparse.PAIRS", 3)
    pairs = (few(6, 5, seed=2, share=1.0) != 0).nonzero()[:entries]
    pattern = compressed(*pairs.T, torch.full((len(pairs),), 7.0, dtype=torch.float64), (6, 5))
    left, right = few(6, 3, seed=3, share=1.0), few(5, 3, seed=4, share=1.0)
    found = products_at(pattern, left, right)
    assert found.shape == (entries,)
    torch.testing.assert_close(found, (left @ right.T)[pairs[:, 0], pairs[:, 1]])


def test_product_and_gradient_equal_the_dense_ones() -> None:
    x = few(6, 5)
    dense = torch.randn(
        5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True
    )
    sparse = SparseMatrix(x.to_sparse_csr(), x.T.contiguous().to_sparse_csr())
    assert sparse.shape == (6, 5)
    torch.testing.assert_close(sparse @ dense, x @ dense)
    assert torch.autograd.gradcheck(lambda w: sparse @ w, (dense,))
    # A gradient that is not contiguous, as the transpose of something gives.
    (found,) = torch.autograd.grad((sparse @ dense).T, dense, torch.ones(3, 6, dtype=torch.float64))
    torch.testing.assert_close(found, x.T @ torch.ones(6, 3, dtype=torch.float64))


def test_second_derivatives_are_refused() -> None:
    x = few(4, 4)
    w = torch.ones(4, 1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(
        (SparseMatrix(x.to_sparse_csr(), x.T.contiguous().to_sparse_csr()) @ w).square().sum(),
        w,
        create_graph=True,
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_compressed_rows_with_empty_ones_at_both_ends() -> None:
    matrix = compressed(
        torch.tensor([1, 1, 3]), torch.tensor([0, 2, 1]), torch.tensor([5.0, 6.0, 7.0]), (5, 3)
    )
    wanted = torch.zeros(5, 3)
    wanted[1, 0], wanted[1, 2], wanted[3, 1] = 5, 6, 7
    assert torch.equal(matrix.to_dense(), wanted)
    assert (
        compressed(
            torch.tensor([], dtype=torch.long),
            torch.tensor([], dtype=torch.long),
            torch.tensor([]),
            (2, 2),
        )
        .to_dense()
        .sum()
        == 0
    )


def test_making_one_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Features(few(6, 9))


@pytest.mark.parametrize("share", [0.15, 0.9])
@pytest.mark.parametrize("normalise", [False, True])
def test_features_product_with_columns_masked(share: float, normalise: bool) -> None:
    x = few(8, 6, share=share)
    features = Features(x, normalise)
    assert (features.sparse is None) == (share > DENSE_FROM)
    if normalise:
        for i, row in enumerate(x.tolist()):
            total = sum(abs(value) for value in row)
            x[i] = torch.tensor([value / total if total else 0.0 for value in row])
    weight = torch.randn(
        6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True
    )
    keep = torch.tensor([True, False, True, True, False, True])
    torch.testing.assert_close(features.product(weight), x @ weight)
    masked = x.clone()
    masked[:, ~keep] = 0
    torch.testing.assert_close(features.product(weight, keep), masked @ weight)
    assert torch.autograd.gradcheck(lambda w: features.product(w, keep), (weight,))
    torch.testing.assert_close(normalised_rows(x * 3)[1], torch.zeros(6, dtype=torch.float64))


def test_features_of_zeros_and_the_caller_s_matrix_is_not_changed() -> None:
    zeros = torch.zeros(3, 4)
    assert torch.equal(Features(zeros, normalise=True).product(torch.ones(4, 2)), torch.zeros(3, 2))
    x = few(5, 4)
    before = x.clone()
    Features(x, normalise=True)
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    "keep", [None, [True] * 8, [False] * 8, [True, False, True, True, False, False, True, False]]
)
def test_propagation_and_its_transpose_under_dropped_directions(keep: list[bool] | None) -> None:
    """Dropping (j, i) leaves (i, j): the matrix is not symmetric then, and the transpose must
    follow."""
    edges = path_and_star()
    mask = None if keep is None else torch.tensor(keep)
    wanted = dense_propagation(edges, 6, mask)
    found = Adjacency(edges, 6).normalised(mask)
    torch.testing.assert_close(found.matrix.to_dense(), wanted)
    torch.testing.assert_close(found.transposed.to_dense(), wanted.T)
    if keep is not None and sum(keep) not in (0, 8):
        assert not torch.equal(wanted, wanted.T), "the case tells the two apart"


def test_a_graph_without_edges_propagates_nothing() -> None:
    alone = Adjacency(torch.zeros(2, 0, dtype=torch.long), 3).normalised(
        torch.zeros(0, dtype=torch.bool)
    )
    assert torch.equal(alone.matrix.to_dense(), torch.eye(3))
