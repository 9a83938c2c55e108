"""The matrix of generalised PageRank, as compressed rows without values, or with edge weights.

With Ã the adjacency matrix (with or without self-loops), D its degrees and P = D⁻¹Ã,

    X = α Dʳ (I − (1−α) P)⁻¹ D⁻ʳ X₀.

P is similar to the symmetric S = D^(−½) Ã D^(−½), and symmetric itself in the inner product Σ_i
deg_i u_i v_i; its eigenvalues are in [−1, 1]. Its entries are 1/degree of the row, times the edge's
weight where edges have weights; without them no array of values is needed.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

_ENTRIES = 1 << 22
"""Entries put in order at a time: bounds temporary memory."""

_COUNTED = 2**31 - 1
"""Entries of a matrix whose components SciPy finds at most."""


class Operator:
    """The matrices of one graph.

    Rows are numbered by falling degree: the rows that most others read then lie together, which is
    what a cache wants (R-MAT, 10⁵ nodes: 1.5 times as quick), and long rows come first.

    Args:
        edge_index: 2×E, both directions of every undirected edge, no self-loops, on the CPU;
            repeated entries add up, in the matrices and in the degrees.
        nodes: N. self_loops: use A + I instead of A.
        weight: of the entries (E), float32, above 0; None where all are 1. A self-loop's is 1.

    Attributes:
        order: (N,) int64: the node that row i stands for. rank: its inverse.
        pointers: (N+1,) int64. columns: (entries,) int32, in rows' numbers.
        weights: (entries,) float32, None where all are 1.
        degree: (N,) float64, the sum of a row's weights. safe_degree: the same, a node without any
            entry counted as degree 1: its features come out scaled by α, as from GBP's routine.
        parallel: whether entries are repeated.

    Raises:
        ValueError: for more nodes than 32-bit columns can name.
    """

    def __init__(
        self, edge_index: Tensor, nodes: int, self_loops: bool, weight: Tensor | None = None
    ):
        if nodes >= 2**31:
            raise ValueError(
                f"the filter numbers nodes in 32 bits, so at most {2**31 - 1};"
                f" this graph has {nodes}"
            )
        rows, neighbours = edge_index.numpy()
        own = None if weight is None else weight.numpy()
        if not _ascending(rows, neighbours):
            by_row = np.lexsort((neighbours, rows))
            rows, neighbours = rows[by_row], neighbours[by_row]
            own = None if own is None else own[by_row]
        counts = np.bincount(rows, minlength=nodes)
        length = counts + int(self_loops)
        order = np.argsort(-length, kind="stable")
        rank = np.empty(nodes, dtype=np.int32)
        rank[order] = np.arange(nodes, dtype=np.int32)
        pointers = np.zeros(nodes + 1, dtype=np.int64)
        np.cumsum(length[order], out=pointers[1:])
        columns = np.empty(int(pointers[-1]), dtype=np.int32)
        weights = None if own is None else np.ones(len(columns), dtype=np.float32)
        # Where a node's entries go, less where they are.
        shift = np.empty(nodes, dtype=np.int64)
        shift[order] = pointers[:-1]
        shift -= np.cumsum(counts) - counts
        for first in range(0, len(rows), _ENTRIES):
            piece = slice(first, first + _ENTRIES)
            target = shift[rows[piece]]
            target += np.arange(first, first + len(target))
            columns[target] = rank[neighbours[piece]]
            if weights is not None and own is not None:
                weights[target] = own[piece]
        if self_loops:
            columns[pointers[1:] - 1] = np.arange(nodes, dtype=np.int32)
        self.parallel = _repeated(rows, neighbours)
        self.nodes = nodes
        self.entries = len(columns)
        self.order, self.rank = torch.from_numpy(order), torch.from_numpy(rank.astype(np.int64))
        self.pointers, self.columns = torch.from_numpy(pointers), torch.from_numpy(columns)
        self.weights = None if weights is None else torch.from_numpy(weights)
        degree = length if own is None else np.bincount(rows, own, nodes) + float(self_loops)
        self.degree = torch.from_numpy(degree[order].astype(np.float64))
        self.safe_degree = torch.where(self.degree > 0, self.degree, 1.0)

    def transition(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """P as a sparse N×N matrix with values, rows in the order of `order`."""
        return self.compressed(self.shares(slice(0, self.nodes), dtype))

    def shares(self, rows: slice, dtype: torch.dtype) -> Tensor:
        """The entries of some rows of P, one row after the other."""
        inverse, lengths = self.safe_degree.reciprocal()[rows], self.pointers.diff()[rows]
        if self.weights is None:
            return torch.repeat_interleave(inverse.to(dtype), lengths)
        start, stop = int(self.pointers[rows.start]), int(self.pointers[rows.stop])
        wide = torch.repeat_interleave(inverse, lengths)
        return wide.mul_(self.weights[start:stop]).to(dtype)

    def symmetric(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """S = D^(−½) Ã D^(−½) likewise."""
        scale = self.safe_degree.rsqrt()
        left = torch.repeat_interleave(scale, self.pointers.diff())
        if self.weights is not None:
            left = left * self.weights
        return self.compressed((left * scale[self.columns]).to(dtype))

    def compressed(self, values: Tensor) -> Tensor:
        """The sparse matrix with these entries."""
        # 32-bit row pointers where they suffice: MKL takes no others, and torch would convert them
        # in every product.
        small = self.entries < 2**31
        without_notice()
        pointers, columns = (
            (self.pointers.int(), self.columns) if small else (self.pointers, self.columns.long())
        )
        return torch.sparse_csr_tensor(
            pointers, columns, values, (self.nodes, self.nodes), check_invariants=False
        )

    def power(self, exponent: float, dtype: torch.dtype = torch.float32) -> Tensor:
        """(N, 1): degree^exponent."""
        return self.safe_degree.pow(exponent).to(dtype)[:, None]

    @functools.cached_property
    def components(self) -> Components:
        """The connected components."""
        return Components(self)

    @functools.cached_property
    def summing_error(self) -> Tensor:
        """(N,) float64: t_j = Σ over the rows i that read node j of a_ij n_i², n_i the number of
        terms in row i's sum plus 2, a_ij the edge's weight.

        With it a bound on the rounding of one product in float32, unit roundoff u and sums in any
        order, takes the row norms of w alone: ‖fl(P w) − P w‖_D ≤ u (Σ_j t_j ‖w_j‖²)^½. (A row errs
        by at most n_i u · mean_j |w_j|, by weight, and deg_i (mean_j |w_j|)² ≤ Σ_j a_ij w_j².)
        """
        squares = (self.pointers.diff() + 2).double().square()
        pattern = scipy.sparse.csr_matrix(
            (
                np.ones(self.entries) if self.weights is None else self.weights.double().numpy(),
                self.columns.numpy(),
                self.pointers.numpy(),
            ),
            shape=(self.nodes, self.nodes),
        )
        # Ã is symmetric: the rows that read j are those that row j reads.
        return torch.from_numpy(pattern @ squares.numpy())


class Components:
    """The connected components of an operator, and the part of the features that the filter leaves
    as it is.

    On a component a vector with the same number everywhere is an eigenvector of P with eigenvalue
    1, so the filter returns it unchanged. The degree-weighted mean of a component is taken off
    before the iteration and added afterwards. This costs no accuracy, whatever the mean's own
    rounding. It removes the slowest and usually largest part of the error.

    Attributes:
        count: how many. label: (N,) int32: the component of each row; a node without any entry has
            one that is left alone.
    """

    _CHUNK = 1024

    def __init__(self, operator: Operator):
        self.count, label = _connected(operator)
        volume = np.bincount(label, operator.degree.numpy(), minlength=self.count)
        by_component = np.argsort(label, kind="stable")
        sizes = np.bincount(label, minlength=self.count)
        # A component is summed in chunks, the chunks then: float32 sums stay short.
        chunks = -(-sizes // self._CHUNK)
        first_chunk = np.concatenate([[0], np.cumsum(chunks)])
        of_chunk = np.repeat(np.arange(self.count), chunks)
        piece = np.arange(int(chunks.sum())) - first_chunk[of_chunk]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        starts = ends[of_chunk] + piece * self._CHUNK
        share = operator.degree.numpy() / np.where(volume > 0, volume, 1.0)[label]
        self.label = torch.from_numpy(label.astype(np.int32))
        self._rows = torch.from_numpy(by_component.astype(np.int32))
        self._share = torch.from_numpy(share[by_component].astype(np.float32))
        self._starts = torch.from_numpy(np.concatenate([starts, [operator.nodes]]).astype(np.int32))
        self._chunks = torch.arange(len(of_chunk), dtype=torch.int32)
        self._first_chunk = torch.from_numpy(first_chunk.astype(np.int32))

    def to(self, device: torch.device) -> Components:
        """The same on another device."""
        moved = object.__new__(Components)
        moved.__dict__ = {
            name: value.to(device) if isinstance(value, Tensor) else value
            for name, value in self.__dict__.items()
        }
        return moved

    def means(self, block: Tensor) -> Tensor:
        """Degree-weighted mean of each component (count×K) of a float32 N×K block; 0 for a node
        without any entry."""
        bag = torch.nn.functional.embedding_bag
        parts = bag(
            self._rows,
            block,
            self._starts,
            mode="sum",
            per_sample_weights=self._share,
            include_last_offset=True,
        )
        return bag(self._chunks, parts, self._first_chunk, mode="sum", include_last_offset=True)


def _connected(operator: Operator) -> tuple[int, np.ndarray]:
    """How many connected components, and which one each row is in (N,): by groups of rows, as SciPy
    counts entries in 32 bits."""
    from scipy.sparse.csgraph import connected_components

    nodes, pointers, columns = operator.nodes, operator.pointers.numpy(), operator.columns.numpy()
    count, label, first = nodes, np.arange(nodes), 0
    while first < nodes:
        last = max(
            first + 1, int(np.searchsorted(pointers, pointers[first] + _COUNTED, side="right")) - 1
        )
        start, stop = int(pointers[first]), int(pointers[last])
        inside = np.clip(pointers, start, stop) - start
        group = scipy.sparse.csr_matrix(
            (np.ones(stop - start), columns[start:stop], inside), shape=(nodes, nodes)
        )
        if operator.parallel:
            # SciPy's search never ends on repeated entries. The copy: they are merged in place.
            group = group.copy()
            group.sum_duplicates()
        if stop - start == operator.entries:
            # Ã is symmetric, so strong components are the connected ones, and finding those needs
            # no transpose: four times as quick.
            return connected_components(group, directed=True, connection="strong")
        parts, part = connected_components(group, directed=False)
        both = scipy.sparse.csr_matrix(
            (np.ones(nodes), (label, part + count)), shape=(count + parts, count + parts)
        )
        count, joined = connected_components(both, directed=False)
        label, first = joined[label], last
    return count, label


@functools.cache
def without_notice() -> None:
    """Makes a compressed matrix once in silence: torch warns each process that it is in beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(
            torch.zeros(2, dtype=torch.int64),
            torch.zeros(0, dtype=torch.int64),
            torch.zeros(0),
            (1, 1),
        )


def _ascending(rows: np.ndarray, neighbours: np.ndarray) -> bool:
    """Whether entries are sorted by row, then neighbour."""
    for start in range(0, len(rows), _ENTRIES):
        r, n = rows[start : start + _ENTRIES + 1], neighbours[start : start + _ENTRIES + 1]
        if not bool(((r[1:] > r[:-1]) | ((r[1:] == r[:-1]) & (n[1:] >= n[:-1]))).all()):
            return False
    return True


def _repeated(rows: np.ndarray, neighbours: np.ndarray) -> bool:
    """Whether sorted entries hold one twice."""
    for start in range(0, len(rows), _ENTRIES):
        r, n = rows[start : start + _ENTRIES + 1], neighbours[start : start + _ENTRIES + 1]
        if bool(((r[1:] == r[:-1]) & (n[1:] == n[:-1])).any()):
            return True
    return False
