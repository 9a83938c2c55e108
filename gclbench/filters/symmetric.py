"""Smoothing of features by powers of the symmetrically normalised adjacency matrix: what the
filters agc, ssgc and laplacian share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from gclbench.filters.operator import without_notice

SLICE_ENTRIES = 1 << 24
"""Feature entries smoothed together: 64 MiB in float32; bounds temporary memory."""


class SymmetricAdjacency:
    """S = D^(−½) Ã D^(−½), Ã = A + I or A, D its degrees.

    An isolated node has a self-loop in either case, so that it keeps its features: S_ii = 1.

    Args:
        edge_index: 2×E, both directions of every undirected edge, no self-loops; repeated entries
            add up. nodes: N. self_loops: Ã = A + I.
        weight: of the entries (E), None where all are 1; a self-loop's is 1.
    """

    def __init__(
        self, edge_index: Tensor, nodes: int, self_loops: bool, weight: Tensor | None = None
    ):
        rows, columns = edge_index.cpu().numpy()
        loops = (
            np.arange(nodes)
            if self_loops
            else np.flatnonzero(np.bincount(rows, minlength=nodes) == 0)
        )
        rows, columns = np.concatenate([rows, loops]), np.concatenate([columns, loops])
        own = None
        if weight is not None:
            own = np.concatenate([weight.cpu().numpy().astype(np.float64), np.ones(len(loops))])
        scale = 1.0 / np.sqrt(np.bincount(rows, own, minlength=nodes))
        values = scale[rows] * scale[columns]
        if own is not None:
            values *= own
        matrix = scipy.sparse.csr_matrix(
            (values.astype(np.float32), (rows, columns)), shape=(nodes, nodes)
        )
        without_notice()
        self.matrix = torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr),
            torch.from_numpy(matrix.indices),
            torch.from_numpy(matrix.data),
            (nodes, nodes),
            check_invariants=False,
        ).to(edge_index.device)

    def product(self, x: Tensor) -> Tensor:
        """S x (N×F), on the device of `edge_index`."""
        return torch.sparse.mm(self.matrix, x)

    def towards(self, x: Tensor, strength: float) -> Tensor:
        """(1 − s) x + s S x = (I − s L) x with L = I − S: one step of Laplacian smoothing."""
        return torch.lerp(x, self.product(x), strength)


def by_columns(x: Tensor, smooth: Callable[[Tensor], Tensor]) -> Tensor:
    """`smooth` of slices of the columns of x (N×F), side by side."""
    width = max(1, SLICE_ENTRIES // max(1, x.shape[0]))
    if width >= x.shape[1]:
        return smooth(x)
    result = torch.empty_like(x)
    for start in range(0, x.shape[1], width):
        columns = slice(start, start + width)
        result[:, columns] = smooth(x[:, columns].contiguous())
    return result
