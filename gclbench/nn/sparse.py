"""Products with constant sparse matrices inside a network: features and propagation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

DENSE_FROM = 0.2
"""Share of non-zero features from which a dense product is faster."""

PAIRS = 4096
"""Pairs of rows whose products are taken at once: their copies stay in the cache."""


class SparseMatrix:
    """A constant sparse matrix with its transpose, so that both directions of a product are
    row-wise.

    Args:
        matrix: R×C compressed rows. transposed: C×R compressed rows of the same entries.
    """

    def __init__(self, matrix: Tensor, transposed: Tensor):
        self.matrix, self.transposed = matrix, transposed

    def __matmul__(self, dense: Tensor) -> Tensor:
        """R×H from C×H; the gradient goes to the dense factor."""
        return _SparseProduct.apply(self.matrix, self.transposed, dense)

    def masked(self, keep: Tensor) -> SparseMatrix:
        """The matrix with the entries of some columns set to zero.

        Args:
            keep: (C,) bool, columns that stay.
        """
        here, there = keep[self.matrix.col_indices()], keep[entry_rows(self.transposed)]
        return SparseMatrix(
            with_values(self.matrix, self.matrix.values() * here),
            with_values(self.transposed, self.transposed.values() * there),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(R, C)."""
        return self.matrix.shape[0], self.matrix.shape[1]


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
        ctx.transposed = transposed
        return product(matrix, dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, product(ctx.transposed, gradient.contiguous())


def product(matrix: Tensor, dense: Tensor) -> Tensor:
    """R×H from compressed rows (R×C) and C×H, without a gradient.

    `torch.sparse.mm` gives the same numbers; it fills the result with zeros first, and copies them.
    """
    if matrix.is_cpu and not torch.backends.mkl.is_available():
        # Builds of torch for other processors than x86 may read what the result held.
        return torch.sparse.mm(matrix, dense)
    found = dense.new_empty(matrix.shape[0], dense.shape[1])
    return torch.addmm(found, matrix, dense, beta=0, out=found)


def compressed(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Compressed rows from entries that are sorted by row."""
    pointers = torch.zeros(shape[0] + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(torch.bincount(rows, minlength=shape[0]), dim=0, out=pointers[1:])
    with warnings.catch_warnings():
        # PyTorch calls its compressed rows a beta, once per process; products are all that is used
        # of them.
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support", category=UserWarning)
        # torch 2.11 asks for what is asked for here.
        warnings.filterwarnings("ignore", message="Sparse invariant checks", category=UserWarning)
        return torch.sparse_csr_tensor(pointers, columns, values, shape, check_invariants=False)


def normalised_rows(x: Tensor) -> Tensor:
    """x, dense or compressed rows, with each row divided by its sum of absolute values; rows of
    zeros stay."""
    if x.layout == torch.sparse_csr:
        sums = torch.zeros(len(x), device=x.device, dtype=x.dtype)
        rows, values = entry_rows(x), x.values()
        sums.index_add_(0, rows, values.abs())
        return with_values(x, values / sums[rows])
    total = torch.linalg.vector_norm(x, ord=1, dim=1, keepdim=True)
    return x / total.masked_fill(total == 0, 1.0)


class Features:
    """Node features as the first layer's constant factor: dense, or sparse where most entries are
    zero.

    Args:
        x: N×F, dense or compressed rows, which stay sparse.
        normalise: divide each row by its sum of absolute values (rows of zeros stay).
    """

    def __init__(self, x: Tensor, normalise: bool = False):
        if normalise:
            x = normalised_rows(x)
        self.nodes, self.width = x.shape
        self.device = x.device
        few = x.layout == torch.sparse_csr or count(x) < DENSE_FROM * x.numel()
        self.sparse = both_ways(x) if few else None
        # A masked copy of the entries is small where that of a weight of very many rows is not.
        self.by_entries = x.layout == torch.sparse_csr
        self.dense = None if self.sparse is not None else x

    def rows(self, chosen: Tensor) -> Features:
        """Those of M nodes, M×F, as they are stored here."""
        part = copy(self)
        part.nodes = len(chosen)
        if self.dense is not None:
            part.dense = rows_of(self.dense, chosen)
        if self.sparse is not None:
            part.sparse = both_ways(rows_of(self.sparse.matrix, chosen))
        return part

    def product(self, weight: Tensor, keep: Tensor | None = None) -> Tensor:
        """(x with some columns set to zero)·W, N×H.

        Args:
            weight: F×H. keep: (F,) bool, columns that stay; None keeps all.
        """
        if keep is not None and self.by_entries and self.sparse is not None:
            return self.sparse.masked(keep.to(self.device)) @ weight
        # x·diag(keep)·W: masking the small factor spares a masked copy of the features.
        weight = weight if keep is None else weight * keep.to(weight.device)[:, None]
        return self.sparse @ weight if self.sparse is not None else self.dense @ weight  # type: ignore[operator]


def count(x: Tensor) -> int:
    """How many entries of a matrix, dense or of compressed rows, are not zero."""
    return int(torch.count_nonzero(x.values() if x.layout == torch.sparse_csr else x))


def entry_rows(x: Tensor) -> Tensor:
    """The row of each entry of compressed rows."""
    lengths = x.crow_indices().diff()
    return torch.repeat_interleave(torch.arange(len(lengths), device=x.device), lengths)


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """Compressed rows with other values."""
    rows, columns = x.crow_indices(), x.col_indices()
    return torch.sparse_csr_tensor(rows, columns, values, x.shape, check_invariants=False)


def products_at(pattern: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """⟨left_i, right_j⟩ of each entry (i, j), (P,).

    Args:
        pattern: R×C compressed rows with P entries; any finite values will do. left: R×d.
            right: C×d.
    """
    if not pattern.is_cpu or torch.backends.mkl.is_available():
        found: Tensor = torch.sparse.sampled_addmm(pattern, left, right.T, beta=0.0)
        return found.values()
    # Builds of torch for other processors than x86.
    rows, columns = entry_rows(pattern), pattern.col_indices()
    parts = [
        (left.index_select(0, i) * right.index_select(0, j)).sum(dim=1)
        for i, j in zip(rows.split(PAIRS), columns.split(PAIRS), strict=True)
    ]
    return torch.cat(parts)


def rows_of(x: Tensor, chosen: Tensor) -> Tensor:
    """Some rows (M numbers) of a matrix, dense or of compressed rows, in that order."""
    if x.layout != torch.sparse_csr:
        return x.index_select(0, chosen)
    first, lengths = x.crow_indices()[chosen], x.crow_indices().diff()[chosen]
    pointers = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    within = torch.arange(int(pointers[-1]), device=x.device)
    entries = within + (first - pointers[:-1]).repeat_interleave(lengths)
    return torch.sparse_csr_tensor(
        pointers,
        x.col_indices()[entries],
        x.values()[entries],
        (len(chosen), x.shape[1]),
        check_invariants=False,
    )


def in_groups(x: Tensor, size: int) -> Iterator[Tensor]:
    """Groups of `size` rows of a matrix, dense or of compressed rows, one after the other."""
    if x.layout != torch.sparse_csr:
        yield from x.split(size)
        return
    for rows in torch.arange(len(x), device=x.device).split(size):
        yield rows_of(x, rows)


def compressed_if_sparse(x: Tensor) -> Tensor:
    """x (N×F) as compressed rows where most entries are zero, else as it is: for layers that
    multiply it by a weight before all else."""
    if x.layout == torch.sparse_csr:
        return x
    sparse = Features(x).sparse
    return x if sparse is None else sparse.matrix


def both_ways(x: Tensor) -> SparseMatrix:
    """The non-zero entries of x, dense or compressed rows, as compressed rows and columns."""
    if x.layout == torch.sparse_csr:
        rows, columns, values = entry_rows(x), x.col_indices(), x.values()
    else:
        rows, columns = x.nonzero(as_tuple=True)
        values = x[rows, columns]
    order = torch.argsort(columns, stable=True)
    return SparseMatrix(
        compressed(rows, columns, values, (x.shape[0], x.shape[1])),
        compressed(columns[order], rows[order], values[order], (x.shape[1], x.shape[0])),
    )


class Adjacency:
    """The entries of A + I of one graph, from which normalised propagation matrices of its views
    are made.

    Args:
        edge_index: 2×E; an entry (j, i) carries j's message to i. Repeated entries each count, and
            each is kept or dropped on its own. nodes: N.
        weight: of the entries (E), None where all are 1; a self-loop's is 1.
    """

    def __init__(self, edge_index: Tensor, nodes: int, weight: Tensor | None = None):
        self.nodes = nodes
        self.edges = edge_index.shape[1]
        loops = torch.arange(nodes, device=edge_index.device)
        source, target = torch.cat([edge_index, torch.stack([loops, loops])], dim=1)
        # Entries sorted by receiver (rows of the matrix) and, for its transpose, by sender.
        self.order = torch.argsort(target * nodes + source)
        self.source, self.target = source[self.order], target[self.order]
        self.reverse = torch.argsort(self.source * nodes + self.target)
        # Of the sorted entries; None where all are 1.
        self.weight = (
            None if weight is None else torch.cat([weight, weight.new_ones(nodes)])[self.order]
        )

    @property
    def degree(self) -> Tensor:
        """What the entries of each row add up to (N), the self-loop with them, float32."""
        return _total(self.target, self.weight, self.nodes)

    def normalised(self, keep: Tensor | None = None) -> SparseMatrix:
        """D^(−½)(A + I)D^(−½) over the kept entries, with their weights, D the in-degrees with the
        self-loop (Kipf & Welling 2017).

        Args:
            keep: (E,) bool over the columns of `edge_index`, on any device; self-loops always stay.
                None keeps all.
        """
        mask = torch.ones(self.edges + self.nodes, dtype=torch.bool, device=self.source.device)
        if keep is not None:
            mask[: self.edges] = keep.to(mask.device)
            mask = mask[self.order]
        source, target = self.source[mask], self.target[mask]
        weight = None if self.weight is None else self.weight[mask]
        scale = _total(target, weight, self.nodes).rsqrt()
        values = torch.zeros(len(mask), device=mask.device)
        values[mask] = scale[source] * scale[target]
        if weight is not None:
            values[mask] *= weight
        chosen = self.reverse[mask[self.reverse]]
        shape = (self.nodes, self.nodes)
        return SparseMatrix(
            compressed(target, source, values[mask], shape),
            compressed(self.source[chosen], self.target[chosen], values[chosen], shape),
        )


def _total(target: Tensor, weight: Tensor | None, nodes: int) -> Tensor:
    """The sum of the weights of the entries of each target (N), float32; their number where there
    are no weights."""
    wide = None if weight is None else weight.double()
    return torch.bincount(target, wide, minlength=nodes).to(torch.float32)


def edges_among(edge_index: Tensor, batch: Tensor, nodes: int) -> Tensor:
    """The entries of edge_index whose both ends are in the batch, numbered by their place in it
    (2×E').

    Args:
        batch: (M,) different node ids. nodes: N.
    """
    place = torch.full((nodes,), -1, dtype=torch.long, device=edge_index.device)
    place[batch] = torch.arange(len(batch), device=edge_index.device)
    among = place[edge_index]
    return among[:, (among >= 0).all(dim=0)]
