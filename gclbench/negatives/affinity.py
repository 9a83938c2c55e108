"""How alike nodes are by the graph and by their features, before any training (GRACE+)."""

from __future__ import annotations

import torch
from torch import Tensor

from gclbench.nn.sparse import Adjacency, Features

STEPS = 20
"""Steps of the propagation, as in the official code."""

TELEPORT = 0.1
"""Its teleport probability α."""

SLICE_ENTRIES = 1 << 22
"""Entries of the columns that are propagated together: 16 MiB in float32."""


class Affinity:
    """R = (1−β)·PPR + β·κ·cos(x) of all pairs of nodes, given out by rows; N×N is never stored.

    PPR is `STEPS` steps of Z ← (1−α) S Z + α I from I, of which the `entries` largest of each row
    are kept: N·entries numbers. cos(x) is computed for the rows asked for. κ = mean(PPR)/mean(cos)
    brings both to one mean; it is 0 where the cosines' mean is not positive.

    Args:
        x: N×F. edge_index: 2×E. share: β. entries: of a row of PPR that are kept.
    """

    def __init__(self, x: Tensor, edge_index: Tensor, share: float, entries: int):
        self.nodes = len(x)
        length = torch.linalg.vector_norm(x, dim=1)
        self.x, self.inverse = x, torch.where(length > 0, 1 / length, 0.0)
        unit = x * self.inverse[:, None]
        self.index, self.value, mean = _pagerank(edge_index, self.nodes, min(entries, self.nodes))
        mean_cosine = float(unit.sum(dim=0, dtype=torch.float64).square().sum()) / self.nodes**2
        self.scale = share * mean / mean_cosine if mean_cosine > 0 else 0.0
        self.value *= 1 - share
        self.unit = Features(unit) if self.scale else None

    def rows(self, anchors: Tensor, batch: Tensor | None = None) -> Tensor:
        """R of the anchors with all nodes, or with those of the batch, len(anchors)×M.

        Args:
            anchors: (B,) node ids. batch: (M,) different node ids.
        """
        mine = self.x.index_select(0, anchors) * self.inverse[anchors, None]
        count = self.nodes if batch is None else len(batch)
        # One more column, for the entries that lie outside the batch.
        tile = mine.new_zeros(len(anchors), count + 1)
        if self.unit is not None:
            if batch is None:
                cosines = self.unit.product(mine.T.contiguous()).T
            else:
                cosines = mine @ (self.x.index_select(0, batch) * self.inverse[batch, None]).T
            tile[:, :count] = cosines * self.scale
        index = self.index[anchors].long()
        if batch is not None:
            place = torch.full((self.nodes,), count, device=index.device)
            place[batch] = torch.arange(count, device=index.device)
            index = place[index]
        return tile.scatter_add_(1, index, self.value[anchors])[:, :count]


def _pagerank(edge_index: Tensor, nodes: int, entries: int) -> tuple[Tensor, Tensor, float]:
    """The largest entries of each row, their columns (N×entries, int32) and numbers, and the mean
    of all N² entries."""
    propagation = Adjacency(edge_index, nodes).normalised().matrix
    index = torch.empty(nodes, entries, dtype=torch.int32, device=edge_index.device)
    value = torch.empty(nodes, entries, device=edge_index.device)
    total, width = 0.0, max(1, SLICE_ENTRIES // nodes)
    for start in range(0, nodes, width):
        stop = min(start + width, nodes)
        own = torch.arange(start, stop, device=edge_index.device)
        now = value.new_zeros(nodes, stop - start)
        now[own, own - start] = 1.0
        for _ in range(STEPS):
            now = torch.sparse.mm(propagation, now).mul_(1 - TELEPORT)
            now[own, own - start] += TELEPORT
        total += float(now.sum(dtype=torch.float64))
        # S is symmetric, so that a column is a row.
        best = now.T.contiguous().topk(entries, dim=1)
        index[start:stop], value[start:stop] = best.indices.to(torch.int32), best.values
    return index, value, total / nodes**2
