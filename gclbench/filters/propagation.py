"""The operator of generalised PageRank and three ways to apply it.

With Ã the adjacency matrix (with or without self-loops), D its degrees and P = D⁻¹Ã,

    X = α Dʳ (I − (1−α) P)⁻¹ D⁻ʳ X₀ = α D^(r−½) (I − (1−α) S)⁻¹ D^(½−r) X₀,   S = D^(−½) Ã D^(−½).

S is symmetric with eigenvalues in [−1, 1], so M = I − (1−α)S has them in [α, 2−α]: Chebyshev
iteration needs no inner products and about √(1/α) sweeps where the power series needs 1/α, and a
residual ρ of M z = b bounds the error by ‖z − z*‖ ≤ ‖ρ‖/α.

Columns are independent, so all solvers work on slices of columns and touch no more than a few
N×slice buffers beyond their input and output.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

_SCALING = 2.0**-22
"""Relative rounding error of scaling a float32 z to X: twice that of the factor and of the product."""

SLICE_BYTES = 1 << 26
"""Bytes of one N×slice float32 buffer."""


@dataclass(frozen=True)
class Outcome:
    """What a solver did.

    Attributes:
        solver: its name. sweeps: sparse products with the whole matrix, the largest over slices.
        error_bound: bound on the relative Frobenius error, in the degree-weighted norm in which S is symmetric
            (`weighted`), or on the largest absolute error of the push (`absolute`).
        error_norm: which of the two.
        touched: matrix entries actually read ÷ (entries × sweeps × columns).
    """

    solver: str
    sweeps: int
    error_bound: float
    error_norm: str
    touched: float


class Operator:
    """The matrices of one graph, as compressed rows.

    Args:
        edge_index: 2×E, both directions of every undirected edge, no self-loops.
        nodes: N. self_loops: use A + I instead of A.
    """

    def __init__(self, edge_index: Tensor, nodes: int, self_loops: bool):
        if self_loops:
            loops = torch.arange(nodes, device=edge_index.device)
            edge_index = torch.cat([edge_index, torch.stack([loops, loops])], dim=1)
        row, column = edge_index
        order = torch.argsort(row * nodes + column)
        row, column = row[order], column[order]
        self.nodes = nodes
        self.entries = len(row)
        self.degree = torch.bincount(row, minlength=nodes).to(torch.float64)
        pointers = torch.zeros(nodes + 1, dtype=torch.int64, device=row.device)
        torch.cumsum(torch.bincount(row, minlength=nodes), dim=0, out=pointers[1:])
        self.pointers, self.columns, self.rows = pointers, column, row
        # A node without any entry counts as degree 1: its features come out scaled by α, as from GBP's routine.
        self.safe_degree = self.degree.clamp(min=1.0)

    def matrix(self, values: Tensor) -> Tensor:
        """The sparse N×N matrix with these entries, in the order of `rows`, `columns`."""
        return torch.sparse_csr_tensor(self.pointers, self.columns, values, (self.nodes, self.nodes), check_invariants=False)

    def symmetric(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """S = D^(−½) Ã D^(−½)."""
        scale = self.safe_degree.rsqrt()
        return self.matrix((scale[self.rows] * scale[self.columns]).to(dtype))

    def transition(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """P = D⁻¹ Ã."""
        return self.matrix(self.safe_degree.reciprocal()[self.rows].to(dtype))

    def power(self, exponent: float, dtype: torch.dtype = torch.float32) -> Tensor:
        """(N, 1): degree^exponent."""
        return self.safe_degree.pow(exponent).to(dtype)[:, None]


def slices(nodes: int, width: int) -> Iterator[slice]:
    """Column ranges whose N×slice float32 buffer stays within `SLICE_BYTES`."""
    step = max(1, min(width, SLICE_BYTES // (4 * max(1, nodes))))
    for start in range(0, width, step):
        yield slice(start, min(start + step, width))


def chebyshev(operator: Operator, x: Tensor, alpha: float, r: float, tol: float) -> tuple[Tensor, Outcome]:
    """Chebyshev iteration on the symmetric form, to a relative error of at most `tol`.

    Args:
        x: N×F float32. alpha: teleport probability in (0, 1]. r: convolution coefficient in [0, 1].
        tol: bound on ‖z − z*‖ / ‖z*‖, z = D^(½−r) X.

    Returns:
        X (N×F float32) and the outcome, whose `error_bound` is measured at the end in float64 and so covers rounding:
        about 2⁻²⁴/α, which may exceed a very small `tol`.
    """
    matrix = operator.symmetric()
    into, out_of = operator.power(0.5 - r), operator.power(r - 0.5)
    damping = 1.0 - alpha
    exact = operator.symmetric(torch.float64)
    result = torch.empty_like(x)
    worst, most = 0.0, 0
    for columns in slices(*x.shape):
        b = (x[:, columns] * into).mul_(alpha)
        z, sweeps = _chebyshev_slice(matrix, b, damping, alpha, tol)
        del b
        worst, most = max(worst, _measured_bound(exact, z, x[:, columns], operator, alpha, r)), max(most, sweeps)
        result[:, columns] = z.mul_(out_of)
    return result, Outcome("chebyshev", most, worst, "weighted", 1.0)


def _chebyshev_slice(matrix: Tensor, b: Tensor, damping: float, alpha: float, tol: float) -> tuple[Tensor, int]:
    """Solves (I − damping·S) z = b, eigenvalues in [1 − damping, 1 + damping]: z and sweeps."""
    z = b.clone()
    if damping == 0.0 or not bool(b.any()):
        return z, 0
    residual = torch.sparse.mm(matrix, b).mul_(damping)  # b − M b for the start z = b
    sigma = 1.0 / damping
    rho = damping
    step = residual.clone()
    # The error falls by e^(−acosh σ) a sweep; twice as many leaves room for rounding before giving up.
    limit = 4 + 2 * math.ceil(math.log(2.0 / (tol * alpha)) / math.acosh(sigma))
    sweeps = 1
    while True:
        reached = _norm(residual) / alpha / _norm(z)
        if reached <= tol or sweeps >= limit:
            return z, sweeps
        z += step
        residual.sub_(step).add_(torch.sparse.mm(matrix, step), alpha=damping)
        sweeps += 1
        following = 1.0 / (2.0 * sigma - rho)
        step.mul_(following * rho).add_(residual, alpha=2.0 * following * sigma)
        rho = following


def _measured_bound(exact: Tensor, z: Tensor, x: Tensor, operator: Operator, alpha: float, r: float) -> float:
    """Bound on ‖z − z*‖ / ‖z*‖ from the residual of z in float64: e / (1 − e) with e = ‖M z − b‖ / (α ‖z‖).

    Args:
        exact: S in float64. z: N×slice float32. x: the columns of X₀ that z belongs to.
    """
    wide = z.to(torch.float64)
    size = float(wide.norm())
    if size == 0.0:
        return 0.0
    # In place: at most two float64 buffers of the slice beside S·z.
    residual = torch.sparse.mm(exact, wide).mul_(1.0 - alpha).sub_(wide)
    del wide
    residual.add_(x.to(torch.float64).mul_(operator.power(0.5 - r, torch.float64)), alpha=alpha)
    error = float(residual.norm()) / alpha / size + _SCALING
    return error / (1.0 - error) if error < 1.0 else math.inf


def _norm(block: Tensor) -> float:
    """Frobenius norm, in float64 where squares of the entries leave float32's range."""
    value = float(block.norm())
    return value if 1e-15 < value < 1e18 else float(torch.linalg.vector_norm(block, dtype=torch.float64))


def series(operator: Operator, x: Tensor, alpha: float, r: float, tol: float) -> tuple[Tensor, Outcome]:
    """The truncated power series y ← x + (1−α) S y; relative error (1−α)^sweeps ≤ tol·α. Arguments and result as `chebyshev`."""
    matrix = operator.symmetric()
    into, out_of = operator.power(0.5 - r), operator.power(r - 0.5)
    sweeps = 0 if alpha == 1.0 else max(1, math.ceil(math.log(tol * alpha) / math.log(1.0 - alpha)))
    exact = operator.symmetric(torch.float64)
    result = torch.empty_like(x)
    worst = 0.0
    for columns in slices(*x.shape):
        b = x[:, columns] * into
        y = b.clone()
        for _ in range(sweeps):
            y = torch.sparse.mm(matrix, y).mul_(1.0 - alpha).add_(b)
        y.mul_(alpha)
        del b
        worst = max(worst, _measured_bound(exact, y, x[:, columns], operator, alpha, r))
        result[:, columns] = y.mul_(out_of)
    return result, Outcome("series", sweeps, worst, "weighted", 1.0)


def push(operator: Operator, x: Tensor, alpha: float, r: float, r_max: float) -> tuple[Tensor, Outcome]:
    """GBP's thresholded push in synchronous rounds, all columns at once (METHODS 2.1).

    Each column is scaled by deg^(−r) and split into its positive and negative part; in a round every node whose
    residue exceeds r_max·S (S the sum of that part) settles α of it in its reserve and passes the rest on, divided by
    the receiver's degree. The leftover residue contributes its l = 0 term, so per part
    |error_k| ≤ (1−α)·r_max·S·deg_k^r.

    Args:
        r_max: threshold per unit of column sum, > 0. Others as `chebyshev`.
    """
    matrix = operator.transition()
    out_of, into = operator.power(r), operator.power(-r)
    largest = float(out_of.max())
    result = torch.empty_like(x)
    worst, most, touched = 0.0, 0, 0.0
    for columns in slices(*x.shape):
        scaled = x[:, columns] * into
        signed = torch.zeros_like(scaled)
        bound = torch.zeros(scaled.shape[1], device=x.device)
        for sign in (1.0, -1.0):
            residue = (scaled * sign).clamp_(min=0.0)
            total = residue.sum(dim=0)
            if not bool(total.any()):
                continue
            threshold = r_max * torch.where(total > 0, total, torch.ones_like(total))
            reserve, residue, rounds, reads = _push_rounds(matrix, operator.degree, residue, threshold, alpha)
            signed.add_(reserve.add_(residue, alpha=alpha), alpha=sign)
            bound += (1.0 - alpha) * threshold * largest
            most, touched = max(most, rounds), touched + reads
        result[:, columns] = signed.mul_(out_of)
        worst = max(worst, float(bound.max()))
    total_entries = max(1, operator.entries) * max(1, most) * x.shape[1]
    return result, Outcome("push", most, worst, "absolute", min(1.0, touched / total_entries))


def _push_rounds(
    matrix: Tensor, degree: Tensor, residue: Tensor, threshold: Tensor, alpha: float
) -> tuple[Tensor, Tensor, int, float]:
    reserve = torch.zeros_like(residue)
    rounds, reads = 0, 0.0
    while True:
        active = residue > threshold
        if not bool(active.any()):
            return reserve, residue, rounds, reads
        moved = torch.where(active, residue, torch.zeros((), dtype=residue.dtype, device=residue.device))
        reserve.add_(moved, alpha=alpha)
        residue = (residue - moved).add_(torch.sparse.mm(matrix, moved), alpha=1.0 - alpha)
        reads += float((active.sum(dim=1).to(torch.float64) * degree).sum())
        rounds += 1


def push_in_order(
    operator: Operator, column: Tensor, alpha: float, r: float, r_max: float, last_in_first_out: bool = True
) -> Tensor:
    """One column pushed node by node as GBP's routine does, with a stack (or a queue): the reference for tests.

    Args:
        column: (N,). last_in_first_out: take the newest node of the worklist, as the shipped code does.

    Returns:
        (N,) float64. Order changes which residue stays unpushed, never the bound of `push`.
    """
    degree = operator.safe_degree.tolist()
    pointers, neighbours = operator.pointers.tolist(), operator.columns.tolist()
    scaled = [value / degree[node] ** r for node, value in enumerate(column.to(torch.float64).tolist())]
    result = [0.0] * operator.nodes
    for sign in (1.0, -1.0):
        residue = [max(sign * value, 0.0) for value in scaled]
        threshold = r_max * (sum(residue) or 1.0)
        reserve = [0.0] * operator.nodes
        waiting = deque(node for node, value in enumerate(residue) if value > threshold)
        queued = set(waiting)
        while waiting:
            node = waiting.pop() if last_in_first_out else waiting.popleft()
            queued.discard(node)
            amount, residue[node] = residue[node], 0.0
            reserve[node] += alpha * amount
            for index in range(pointers[node], pointers[node + 1]):
                neighbour = neighbours[index]
                residue[neighbour] += (1.0 - alpha) * amount / degree[neighbour]
                if residue[neighbour] > threshold and neighbour not in queued:
                    waiting.append(neighbour)
                    queued.add(neighbour)
        for node in range(operator.nodes):
            result[node] += sign * (reserve[node] + alpha * residue[node])
    return torch.tensor([value * degree[node] ** r for node, value in enumerate(result)], dtype=torch.float64)
