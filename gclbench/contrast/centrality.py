"""How central nodes are, and the dropping probabilities that follow from it: adaptive augmentation
(Zhu et al. 2021, GCA)."""

from __future__ import annotations

import inspect
import math

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import torch
from torch import Tensor

DAMPING = 0.85
"""Of PageRank."""

PAGERANK_TOLERANCE = 1e-10
"""Bound on a PageRank score's relative error."""

MOST = 0.7
"""Largest probability of dropping, p_τ of the paper."""

NOWHERE = 1e-8
"""Added to eigenvector centralities, which are zero outside the component with the largest
eigenvalue."""

DENSE_NODES = 64
"""Graphs up to this size are decomposed densely; Lanczos iteration needs more nodes than
vectors."""

FEW = 20
"""So many products with a matrix are tried to reach all that products can; ARPACK's first basis
has as many vectors."""

REACHED = 1e-12
"""A new direction below this share of the matrix's values is none but for rounding."""


def degree(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> Tensor:
    """Entries that point to each node, or the sum of their weights, (N,) float64."""
    return _summed(edge_index[1].cpu(), nodes, weight)


def pagerank(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> Tensor:
    """σ = d A D⁻¹ σ + 1, (N,) float64 (the paper's definition; a node without edges has 1)."""
    source, target = edge_index.cpu()
    total = _summed(source, nodes, weight)
    share = DAMPING / torch.where(total > 0, total, 1.0)
    own = 1.0 if weight is None else weight.cpu().double()
    score = torch.ones(nodes, dtype=torch.float64)
    # All terms of the series are non-negative and their total shrinks by d each time, while every
    # score is at least 1.
    term = score
    while float(term.sum()) * DAMPING / (1 - DAMPING) > PAGERANK_TOLERANCE:
        passed = (share * term)[source] * own
        term = torch.zeros(nodes, dtype=torch.float64).index_add_(0, target, passed)
        score = score + term
    return score


def eigenvector(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> Tensor:
    """Entries of the adjacency matrix's leading eigenvector, unit length, non-negative, plus
    `NOWHERE`, (N,) float64.

    Where components share the largest eigenvalue, any combination of theirs may come out; without
    edges all nodes are alike.
    """
    source, target = edge_index.cpu().numpy()
    if not len(source):
        return torch.full((nodes,), 1 / math.sqrt(max(1, nodes)), dtype=torch.float64)
    values = np.ones(len(source)) if weight is None else weight.cpu().double().numpy()
    matrix = scipy.sparse.csr_array((values, (target, source)), shape=(nodes, nodes))
    if nodes <= DENSE_NODES:
        vector = np.linalg.eigh(matrix.toarray())[1][:, -1]
    else:
        # A start of ones, not a random one: the same vector each time, and never orthogonal to a
        # non-negative one.
        vector = _leading(matrix, np.ones(nodes))
    vector = vector * (1.0 if vector.sum() >= 0 else -1.0)
    return torch.from_numpy(np.clip(vector, 0.0, None) + NOWHERE)


def _leading(matrix: scipy.sparse.csr_array, start: np.ndarray) -> np.ndarray:
    """The leading eigenvector among those that a start reaches.

    Where few products reach all that they can, as from equal entries on a graph of many equal
    components, ARPACK goes on from random vectors, which differ from run to run.
    """
    basis = (start / np.linalg.norm(start))[None]
    products = (matrix @ basis[0])[None]
    while len(basis) <= FEW:
        new = products[-1].copy()
        for _ in range(2):  # once leaves rounding errors along the basis
            new -= basis.T @ (basis @ new)
        inner = basis @ products.T
        length = float(np.linalg.norm(new))
        if length <= REACHED * np.abs(inner).max():
            return np.linalg.eigh((inner + inner.T) / 2)[1][:, -1] @ basis
        basis = np.vstack([basis, new / length])
        products = np.vstack([products, matrix @ basis[-1]])
    seeded = "rng" in inspect.signature(scipy.sparse.linalg.eigsh).parameters  # SciPy 1.17
    source = {"rng": np.random.default_rng(0)} if seeded else {}
    return scipy.sparse.linalg.eigsh(matrix, k=1, which="LA", v0=start, **source)[1][:, 0]


def _summed(ends: Tensor, nodes: int, weight: Tensor | None) -> Tensor:
    """The sum of the weights of the entries of each node, (N,) float64; their number without."""
    wide = None if weight is None else weight.cpu().double()
    return torch.bincount(ends, wide, minlength=nodes).to(torch.float64)


CENTRALITIES = {"degree": degree, "pagerank": pagerank, "eigenvector": eigenvector}


def edge_dropping(centrality: Tensor, edge_index: Tensor) -> Tensor:
    """Relative probability of dropping each entry of edge_index: the less central its sink, the
    larger, mean 1 (Eqs. 3, 4).

    w = (max s − s)/(max s − mean s), s the log centrality of the sink; all 1 where no sink differs
    from another.

    Returns:
        (E,) float64; `capped` makes probabilities of it.
    """
    return _falling(centrality[edge_index[1].cpu()].log())


def column_dropping(centrality: Tensor, x: Tensor, binary: bool) -> Tensor:
    """Relative probability of dropping each feature column: the less it belongs to central nodes,
    the larger (Eqs. 5, 6).

    As `edge_dropping`, with s = log Σ_nodes |x|·centrality. A column without weight (found in no
    node, or only in nodes of centrality 0) counts as the least important of all and takes no part
    in the maximum and the means.

    Args:
        x: N×F, dense or compressed rows. binary: use 1 for every non-zero entry.

    Returns:
        (F,) float64, infinite for columns without weight.
    """
    rows = x.cpu()
    weight = torch.zeros(x.shape[1], dtype=torch.float64)
    if x.layout == torch.sparse_csr:
        sizes = rows.values().abs().double()
        each = torch.repeat_interleave(centrality, rows.crow_indices().diff())
        weight.index_add_(0, rows.col_indices(), (sizes > 0) * each if binary else sizes * each)
    for start in range(0, 0 if x.layout == torch.sparse_csr else len(rows), 4096):
        block = rows[start : start + 4096]
        weight += ((block != 0) if binary else block.abs()).to(torch.float64).T @ centrality[
            start : start + 4096
        ]
    relative = torch.full_like(weight, torch.inf)
    found = weight > 0
    relative[found] = _falling(weight[found].log())
    return relative


def capped(relative: Tensor, drop: float) -> Tensor:
    """Probabilities min(drop·relative, `MOST`), float32; a drop of 0 drops nothing."""
    if drop == 0:
        return torch.zeros(relative.shape)
    return (drop * relative).clamp(max=MOST).to(torch.float32)


def _falling(s: Tensor) -> Tensor:
    """(max s − s)/(max s − mean s): mean 1, and 0 for the largest; all 1 where they are equal to
    rounding."""
    if not len(s):
        return s
    span = s.max() - s.mean()
    if float(span) <= 1e-12 * max(1.0, float(s.abs().max())):
        return torch.ones_like(s)
    return (s.max() - s) / span
