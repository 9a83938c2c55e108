"""Features as a tensor: dense, or compressed rows where a dense matrix would be out of proportion.

Features are sparse where the dense matrix would have more than `SPARSE_FROM` entries (2 GiB in
float32) and less than `FEW` of them are not zero. It is a rule of the content alone: the same
features are stored alike, however they were given and whatever the machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from gclbench.graph.arrays import compressed_of, tensor_of
from gclbench.graph.errors import GraphError
from gclbench.graph.rounding import rounded

SPARSE_FROM = 1 << 29
"""Features of no more entries, zeros with them, are dense."""

FEW = 0.2
"""Share of entries that are not zero from which features are dense."""

# Rows of a feature matrix that a check looks at in one go: bounds its temporary memory.
_ROWS = 4096


def features_of(x: Any, name: str, notes: list[str], collection: bool = False) -> Tensor:
    """Features (N×F) as float32, without losing what they say (`rounded`); dense or sparse by the
    rule.

    Args:
        x: tensor, sparse tensor, array or scipy sparse matrix. notes: what is changed is added.
        collection: of a collection of graphs: its features are dense.

    Raises:
        GraphError: no matrix of real, finite numbers.
    """
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = matrix_of(x)
    x = rounded(x, name, notes)
    if scipy.sparse.issparse(x):
        matrix = _checked_matrix(x, name)
        if not collection and few(matrix.shape, matrix.nnz):
            return compressed_of(matrix)
        return _checked(tensor_of(matrix.toarray()), name)
    found = checked(x, name)
    if collection or not _few_dense(found):
        return found
    return compressed_of(scipy.sparse.csr_matrix(found.detach().cpu().numpy()))


def checked(x: Any, name: str) -> Tensor:
    """Features (N×F) as float32, stored as they are given.

    Raises:
        GraphError: no matrix of real, finite numbers.
    """
    if isinstance(x, Tensor) and x.layout != torch.strided:
        return compressed_of(_checked_matrix(matrix_of(x), name)).to(x.device)
    if not isinstance(x, Tensor):
        array = np.asarray(x)
        if array.dtype.kind not in "fiub":
            raise GraphError(f"graph '{name}': features must be numbers, not {array.dtype}")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32, copy=False)
        x = tensor_of(array)
    return _checked(x, name)


def few(shape: tuple[int, ...], entries: int) -> bool:
    """Whether so many entries that are not zero make features (N×F) sparse."""
    rows, columns = shape
    return rows * columns > SPARSE_FROM and entries < FEW * rows * columns


def is_sparse(x: Tensor) -> bool:
    """Whether a matrix is stored as compressed rows."""
    return x.layout == torch.sparse_csr


def bytes_of(x: Tensor) -> int:
    """Bytes of a tensor, dense or of compressed rows."""
    parts = (x.crow_indices(), x.col_indices(), x.values()) if is_sparse(x) else (x,)
    return sum(part.numel() * part.element_size() for part in parts)


def matrix_of(x: Tensor) -> Any:
    """A sparse tensor of any layout as SciPy's csr matrix, duplicates summed."""
    found = x.detach().cpu()
    if found.layout == torch.sparse_csr:
        parts = (found.values(), found.col_indices(), found.crow_indices())
        return scipy.sparse.csr_matrix(tuple(part.numpy() for part in parts), shape=tuple(x.shape))
    found = found.to_sparse_coo().coalesce()
    values, places = found.values().numpy(), found.indices().numpy()
    return scipy.sparse.csr_matrix((values, tuple(places)), shape=tuple(x.shape))


def told_apart(x: Tensor) -> Tensor:
    """Features as they are told apart by: in the storage that the rule asks for, whatever theirs
    is."""
    if is_sparse(x):
        return x if few(x.shape, len(x.values())) else x.to_dense()
    if x.dim() == 2 and _few_dense(x):
        return compressed_of(scipy.sparse.csr_matrix(x.detach().cpu().numpy()))
    return x


def _few_dense(x: Tensor) -> bool:
    """As `few`, of a dense matrix; full ones are known after a part of their rows."""
    most, entries = FEW * x.numel(), 0
    if x.numel() <= SPARSE_FROM:
        return False
    for rows in x.split(_ROWS):
        entries += int(torch.count_nonzero(rows))
        if entries >= most:
            return False
    return True


def _checked(x: Tensor, name: str) -> Tensor:
    _check_shape(x.shape, name)
    if x.is_complex():
        raise GraphError(f"graph '{name}': features must be real numbers, not {x.dtype}")
    x = x.to(torch.float32)
    for number, rows in enumerate(x.split(_ROWS)):
        bad = ~torch.isfinite(rows)
        if bad.any():
            row, column = bad.nonzero()[0].tolist()
            total = sum(int((~torch.isfinite(block)).sum()) for block in x.split(_ROWS))
            raise GraphError(_not_finite(total, number * _ROWS + row, column, name))
    return x


def _checked_matrix(x: Any, name: str) -> Any:
    """A csr matrix of float32, its entries in order, none of them zero or twice."""
    _check_shape(x.shape, name)
    if x.dtype.kind not in "fiub":
        raise GraphError(f"graph '{name}': features must be real numbers, not {x.dtype}")
    with np.errstate(over="ignore"):
        matrix = x.tocsr().astype(np.float32)  # a copy
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        first = int(bad.argmax())
        row = int(np.searchsorted(matrix.indptr, first, side="right")) - 1
        raise GraphError(_not_finite(int(bad.sum()), row, int(matrix.indices[first]), name))
    return matrix


def _check_shape(shape: Any, name: str) -> None:
    if len(shape) != 2 or 0 in shape:
        raise GraphError(
            f"graph '{name}': features must be a matrix (nodes × features) with at least one of"
            f" each, not of shape {tuple(shape)}"
        )


def _not_finite(total: int, row: int, column: int, name: str) -> str:
    return (
        f"graph '{name}': {total} feature value(s) are not finite (NaN, infinite, or beyond"
        f" float32), the first in row {row}, column {column}; replace them"
        " before making the graph"
    )
