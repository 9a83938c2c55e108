"""Each node's embedding as a combination of nodes near it in the graph (GRAPE).

C is N×N, sparse: its pattern is the pairs of different nodes within k hops. Memory goes with the
pairs, the time of a step with those that it moves.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.blocks import BLOCK_ENTRIES
from gclbench.graph import Unsupported
from gclbench.nn.sparse import compressed, products_at

BYTES_PER_PAIR = 140
"""What all arrays of a pair take at most, where every pair is moved: measured on 4 million."""

MOST_PAIRS = 1 << 27
"""Pairs of the largest pattern: 17.5 GiB where every pair is moved."""

SAMPLE = 1000
"""Non-zero entries whose maximum scales the mask, as in the official code."""


def within_hops(edge_index: Tensor, nodes: int, hops: int) -> Tensor:
    """2×P, the ordered pairs of different nodes at most so many hops apart, sorted.

    Raises:
        Unsupported: when they are more than `MOST_PAIRS`.
    """
    source, target = edge_index.cpu().numpy()
    ones = np.ones(len(source), dtype=bool)
    step = scipy.sparse.csr_array((ones, (source, target)), shape=(nodes, nodes), dtype=bool)
    step = (step + scipy.sparse.eye_array(nodes, dtype=bool, format="csr")).tocsr()
    size = max(1, BLOCK_ENTRIES // nodes)
    parts: list[np.ndarray] = []
    count = 0
    for start in range(0, nodes, size):
        stop = min(start + size, nodes)
        reached = step[start:stop]
        for _ in range(hops - 1):
            reached = reached @ step
        row, column = reached.nonzero()
        row = row.astype(np.int64) + start
        apart = row != column
        keys = row[apart] * nodes + column[apart]
        count += len(keys)
        if count > MOST_PAIRS:
            about = count / stop * nodes
            fewer = (
                f"negatives.hops={hops - 1} has fewer"
                if hops > 1
                else "negatives=homogcl keeps edges alone"
            )
            raise Unsupported(
                f"negatives=grape keeps a number for every pair of nodes within"
                f" negatives.hops={hops}: about {about:.1e} of {nodes:,} nodes, which take"
                f" {_gib(about)} GiB, and {_gib(MOST_PAIRS)} GiB are the most; {fewer}"
            )
        parts.append(np.sort(keys))
    keys = torch.from_numpy(np.concatenate(parts)).to(edge_index.device)
    row = keys.div(nodes, rounding_mode="floor")
    return torch.stack([row, keys - row * nodes])


def _gib(pairs: float) -> str:
    return f"{pairs * BYTES_PER_PAIR / 2**30:.1f}"


class SelfExpression:
    """C on a pattern, moved towards the minimum of (1/F)·‖Z − C₊ Z‖ + λ Σ_columns (μ‖c‖₁ +
    (1−μ)/2·‖c‖₂).

    C₊ is C without its negative entries; ‖Z − C₊ Z‖ is Frobenius'. Only the entries of an active
    set are moved: first those of edges, then those whose residual correlation reaches λμ. A step
    takes time with that set, not with the pattern.

    Args:
        pairs: 2×P, of `within_hops`. value: (P,) C. active: (P,) bool.
        nodes: N. inputs: F, the number of input features.
    """

    def __init__(
        self,
        pairs: Tensor,
        value: Tensor,
        active: Tensor,
        nodes: int,
        inputs: int,
        penalty: float,
        balance: float,
    ):
        self.row, self.column = pairs
        self.value, self.active = value, active
        self.nodes, self.inputs = nodes, inputs
        self.penalty, self.balance = penalty, balance

    def fit(self, z: Tensor, steps: int, lr: float) -> None:
        """So many steps of Adam, the active set anew, and as many again.

        Args:
            z: N×d.
        """
        self._descend(z, steps, lr)
        residual = z - self._chosen(self.value > 0) @ z
        whole = compressed(self.row, self.column, self.value, (self.nodes, self.nodes))
        correlation = products_at(whole, normalize(residual, dim=1), normalize(z, dim=1))
        self.active = correlation.abs_() >= self.penalty * self.balance
        self._descend(z, steps, lr)

    def _descend(self, z: Tensor, steps: int, lr: float) -> None:
        moved = Moved(self, z)
        adam = torch.optim.Adam([moved.value], lr=lr)
        for _ in range(steps):
            moved.value.grad = moved.gradient()
            adam.step()
        self.value = self.value.masked_scatter(self.active, moved.value)

    def _chosen(self, chosen: Tensor) -> Tensor:
        """C with the chosen entries alone, compressed rows.

        Args:
            chosen: (P,) bool.
        """
        entries = (self.row[chosen], self.column[chosen], self.value[chosen])
        return compressed(*entries, (self.nodes, self.nodes))

    def symmetric(self) -> Tensor:
        """(C₊ + C₊ᵀ)/2, (P,). The pattern is symmetric."""
        positive = self.value.clamp(min=0.0)
        # Sorted by (j, i), the pairs (i, j) are those of the transpose in order.
        there = torch.argsort(self.column * self.nodes + self.row)
        return (positive + positive[there]).mul_(0.5)


class Moved:
    """The entries of C in the active set, M of them, while the others stay as they are.

    Args:
        whole: C. z: N×d.

    Attributes:
        value: (M,), to be moved in place.
    """

    def __init__(self, whole: SelfExpression, z: Tensor):
        active = whole.active
        self.whole, self.z = whole, z
        self.row, self.column = whole.row[active], whole.column[active]
        self.value = whole.value[active]
        # What the entries that stay leave of Z, and their share of each column's squares.
        self.left = z - whole._chosen((whole.value > 0) & ~active) @ z
        stays = whole.value.square().masked_fill_(active, 0.0)
        self.squares = stays.new_zeros(whole.nodes).index_add_(0, whole.column, stays)

    def gradient(self) -> Tensor:
        """Of the objective, by each moved entry, (M,)."""
        whole, value = self.whole, self.value
        # The fit depends on positive entries alone.
        positive = (value > 0).nonzero()[:, 0]
        pattern = compressed(
            self.row[positive],
            self.column[positive],
            value[positive],
            (whole.nodes, whole.nodes),
        )
        residual = self.left - pattern @ self.z
        length = torch.linalg.vector_norm(residual).clamp_(min=1e-30)
        fitting = products_at(pattern, residual, self.z).mul_(-1 / (whole.inputs * length))
        squares = self.squares.index_add(0, self.column, value.square())
        column = squares.sqrt_().clamp_(min=1e-30)[self.column]
        norms = value.sign().mul_(whole.balance)
        norms.add_(column.reciprocal_().mul_(value), alpha=(1 - whole.balance) / 2)
        return norms.mul_(whole.penalty).index_add_(0, positive, fitting)


def scaled(share: Tensor, generator: torch.Generator) -> Tensor:
    """Divided by the maximum of `SAMPLE` of its non-zero entries, and cut at 1."""
    some = share[share != 0]
    if not len(some):
        return share
    drawn = torch.randint(len(some), (SAMPLE,), generator=generator).to(some.device)
    return (share / some[drawn].max()).clamp(max=1.0)
