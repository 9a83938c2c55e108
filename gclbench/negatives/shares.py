"""The shares that nodes have in mixtures of embeddings: over all nodes, or over neighbours.

A mixture of anchor i is z̃_i = Σ_j λ_ij z_j with Σ_j λ_ij = 1 (M-Mix paper, KDD 2022, Eq. 2). The
shares λ come from scores s_ij, either as a softmax over the candidates, i itself among them, or
with a fixed share for i and a softmax over the others. N×N of them are never stored: blocks of
anchors are computed again in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.contrast.blocks import Window, block_rows, by_blocks, by_windows

ScoreRows = Callable[[int, int], Tensor]
"""(start, stop) → (stop−start)×N scores of the candidates of those anchors: cosines or normal
deviates, so e^score is finite."""

ScoreEntries = Callable[..., Tensor]
"""(slice of a neighbourhood's entries, anchor, other, *compared) → the entries' scores. Anchors and
others are rows of the tensors that are compared."""


@dataclass(frozen=True)
class AmongAll:
    """Shares over all nodes.

    Attributes:
        nodes: N.
        scores: of all pairs, by blocks of anchors.
        own: the anchor's share in its own mixture; None when it takes part in the softmax.
        allowed: (start, stop) → bool rows, the candidates that may be mixed; the anchor itself
            always may. None allows all.
        best_only: of the others, only the one with the highest score (the lowest number among
            equals).
    """

    nodes: int
    scores: ScoreRows
    own: float | None = None
    allowed: Callable[[int, int], Tensor] | None = None
    best_only: bool = False

    def rows(self, start: int, stop: int) -> Tensor:
        """λ of the anchors start…stop, (stop−start)×N; an anchor without a candidate has the share
        1 in its own mixture."""
        scores = self.scores(start, stop)
        itself = torch.zeros_like(scores, dtype=torch.bool)
        itself.diagonal(offset=start).fill_(True)
        allowed = (
            torch.ones_like(itself) if self.allowed is None else self.allowed(start, stop) | itself
        )
        if self.own is None:
            weight = scores.exp() * allowed
            return weight / weight.sum(dim=1, keepdim=True)
        allowed = allowed & ~itself
        if self.best_only:
            best = scores.masked_fill(~allowed, -torch.inf).argmax(dim=1, keepdim=True)
            allowed = torch.zeros_like(allowed).scatter_(1, best, True) & allowed
        weight = scores.exp() * allowed
        total = weight.sum(dim=1, keepdim=True)
        alone = total == 0
        others = weight / total.masked_fill(alone, 1.0) * (1 - self.own)
        return others + itself * torch.full_like(total, self.own).masked_fill(alone, 1.0)

    def mixture(self, z: Tensor, block: int | None = None) -> Tensor:
        """z̃ (N×d) from z (N×d)."""
        size = block_rows(self.nodes, self.nodes, per_entry=4) if block is None else block
        return by_blocks(lambda start, stop: self.rows(start, stop) @ z, self.nodes, size)


class Neighbourhoods:
    """The entries (i, j) of A + I, sorted by i then j, so that a block of anchors is a slice.

    Args:
        edge_index: 2×E, both directions of every edge, no self-loops; a neighbour by k parallel
            edges is a candidate k times. nodes: N.
    """

    def __init__(self, edge_index: Tensor, nodes: int):
        loops = torch.arange(nodes, device=edge_index.device)
        keys = torch.cat([edge_index[0] * nodes + edge_index[1], loops * (nodes + 1)]).sort().values
        self.nodes = nodes
        self.anchor = keys.div(nodes, rounding_mode="floor")
        self.other = keys - self.anchor * nodes
        self.itself = self.anchor == self.other
        self.pointers = [0, *torch.bincount(self.anchor, minlength=nodes).cumsum(0).tolist()]

    def __len__(self) -> int:
        return len(self.anchor)

    def windows(self, size: int) -> list[Window]:
        """Blocks of so many anchors, each with the nodes from the lowest to the highest that it
        has entries with."""
        if size >= self.nodes:
            return [Window(0, self.nodes, 0, self.nodes)]
        starts = range(0, self.nodes, size)
        block = self.anchor.div(size, rounding_mode="floor")
        bounds = [
            self.other.new_zeros(len(starts))
            .scatter_reduce(0, block, self.other, extreme, include_self=False)
            .tolist()
            for extreme in ("amin", "amax")
        ]
        return [
            Window(start, min(start + size, self.nodes), low, high + 1)
            for start, low, high in zip(starts, *bounds, strict=True)
        ]


@dataclass(frozen=True)
class AmongNeighbours:
    """Shares over each node's neighbours and itself; the attributes are those of `AmongAll`, entry
    for row, and `compared`: what the scores compare, N rows each. Gradients of a mixture reach
    these and what is mixed; whatever else the scores read is a constant."""

    near: Neighbourhoods
    scores: ScoreEntries
    own: float | None = None
    best_only: bool = False
    compared: tuple[Tensor, ...] = ()

    def entries(
        self, start: int, stop: int, low: int = 0, compared: Sequence[Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(anchor − start, other − low, λ) of the entries of the anchors start…stop.

        Args:
            compared: the rows of `self.compared` from low on, all of them where none are given.
        """
        compared = self.compared if compared is None else compared
        chosen = slice(self.near.pointers[start], self.near.pointers[stop])
        anchor, other, itself = (
            self.near.anchor[chosen] - start,
            self.near.other[chosen] - low,
            self.near.itself[chosen],
        )
        scores = self.scores(chosen, anchor + (start - low), other, *compared)
        weight = scores.exp()
        if self.own is not None:
            weight = weight * ~itself
            if self.best_only:
                weight = weight * self._best(anchor, scores.detach(), itself, stop - start)
        total = weight.new_zeros(stop - start).index_add(0, anchor, weight)
        if self.own is None:
            return anchor, other, weight / total[anchor]
        alone = total == 0
        others = weight / total.masked_fill(alone, 1.0)[anchor] * (1 - self.own)
        return (
            anchor,
            other,
            others + itself * torch.full_like(total, self.own).masked_fill(alone, 1.0)[anchor],
        )

    def rows(self, start: int, stop: int) -> Tensor:
        """λ of the anchors start…stop, (stop−start)×N."""
        anchor, other, share = self.entries(start, stop)
        return share.new_zeros(stop - start, self.near.nodes).index_put(
            (anchor, other), share, accumulate=True
        )

    def mixture(self, z: Tensor, block: int | None = None) -> Tensor:
        """z̃ (N×d) from z (N×d)."""
        return self.mixture_and_compared(z, block)[0]

    def mixture_and_compared(
        self, z: Tensor, block: int | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """z̃ (N×d), and what the scores compare once more, to be read by what comes after
        (`by_windows`)."""
        nodes = self.near.nodes
        per_node = max(1, round(len(self.near) / nodes))
        size = block_rows(nodes, z.shape[1], per_entry=2 * per_node) if block is None else block

        def mixed(window: Window, *rows: Tensor) -> Tensor:
            *compared, z = rows
            anchor, other, share = self.entries(
                window.start, window.stop, window.low, tuple(compared)
            )
            return z.new_zeros(window.stop - window.start, z.shape[1]).index_add(
                0, anchor, share[:, None] * z.index_select(0, other)
            )

        found, again = by_windows(mixed, self.near.windows(size), *self.compared, z)
        return found, again[:-1]

    def _best(self, anchor: Tensor, scores: Tensor, itself: Tensor, count: int) -> Tensor:
        """Which entry is its anchor's highest-scored neighbour, bool; the first among equals."""
        scores = scores.masked_fill(itself, -torch.inf)
        top = scores.new_full((count,), -torch.inf).scatter_reduce(0, anchor, scores, "amax")
        position = torch.arange(len(anchor), device=anchor.device)
        first = torch.full((count,), len(anchor), device=anchor.device)
        tied = torch.where((scores == top[anchor]) & ~itself, position, len(anchor))
        return position == first.scatter_reduce(0, anchor, tied, "amin")[anchor]
