"""Layers of message passing over graphs of a collection, readouts of every level, and the class
scores that are read from them: the frame of GIN's authors for all layers that they compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import Function, once_differentiable
from torch_geometric.nn import GATConv

from gclbench.nn.gin import SummedGin, summing
from gclbench.nn.readout import READOUTS
from gclbench.nn.sparse import SparseMatrix, compressed, product

HEADS = 4
"""Of attention, side by side; a layer's width is a multiple of it."""


def averaging(edge_index: Tensor, nodes: int) -> tuple[SparseMatrix, Tensor]:
    """A, and by what a sum over a node's neighbours and itself is multiplied to be their mean
    (M×1).

    Args:
        edge_index: 2×E, both directions of every edge, sorted by row, without self-loops.
        nodes: M.
    """
    adjacency = summing(edge_index, nodes)
    degrees = adjacency.matrix.crow_indices().diff().to(torch.float32)
    return adjacency, (1 / (degrees + 1))[:, None]


def gathering(edge_index: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
    """edge_index, and the M×E matrix that sums rows of its entries into rows of their nodes.

    Args:
        edge_index, nodes: as of `averaging`.
    """
    rows = edge_index[0]
    entries = torch.arange(len(rows), device=rows.device)
    ones = torch.ones(len(rows), device=rows.device)
    return edge_index, compressed(rows, entries, ones, (nodes, len(rows)))


def with_loops(edge_index: Tensor, nodes: int) -> Tensor:
    """edge_index with the self-loops behind it, 2×(E + M)."""
    loops = torch.arange(nodes, device=edge_index.device)
    return torch.cat([edge_index, loops.expand(2, -1)], dim=1)


class _Largest(Function):
    """The largest of a node's neighbours and itself, column by column. Equal ones share the
    gradient.

    Autograd's own way through `scatter_reduce` takes several times as long. As an edge has both
    directions, the entries whose gradient goes to a node are those in its row, too.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, edge_index: Tensor, collecting: Tensor) -> Tensor:
        rows, columns = edge_index
        beside = x.index_select(0, columns)
        found = x.scatter_reduce(0, rows[:, None].expand_as(beside), beside, "amax")
        ctx.save_for_backward(x, found, edge_index)
        ctx.collecting = collecting
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        x, found, (rows, columns) = ctx.saved_tensors
        own = torch.empty_like(x).copy_(x).eq_(found)  # numbers: a bool is slow to multiply with
        of_entries = x.index_select(0, columns).eq_(found.index_select(0, rows))
        share = gradient / product(ctx.collecting, of_entries).add_(own)
        back = found.index_select(0, columns).eq_(x.index_select(0, rows))
        back.mul_(share.index_select(0, columns))
        return product(ctx.collecting, back).addcmul_(own, share), None, None


class Averaged(nn.Module):
    """h ← W mean(h_i and all h_j) + b, j the neighbours of i, as one sparse product.

    The linear map is applied first where it narrows the rows; the two commute.
    """

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.linear = nn.Linear(inputs, width)

    def forward(self, x: Tensor, read: tuple[SparseMatrix, Tensor]) -> Tensor:
        """M×d from M×F and `averaging`."""
        adjacency, share = read
        narrow = self.linear.out_features < self.linear.in_features
        x = self.linear(x) if narrow else x
        x = (adjacency @ x).add_(x).mul_(share)
        return x if narrow else self.linear(x)


class Maximal(nn.Module):
    """h ← W max(h_i and all h_j) + b, j the neighbours of i, the largest of each column."""

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.linear = nn.Linear(inputs, width)

    def forward(self, x: Tensor, read: tuple[Tensor, Tensor]) -> Tensor:
        """M×d from M×F and `gathering`."""
        return self.linear(_Largest.apply(x, *read))


class Kind(NamedTuple):
    """A kind of layer: how one is made from the widths before and after, and what of edge_index and
    the number of nodes it is called with besides the nodes."""

    made: Callable[[int, int], nn.Module]
    reads: Callable[[Tensor, int], Any]


def _gin(inputs: int, width: int, train_eps: bool) -> SummedGin:
    inner = nn.Sequential(
        nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU(True), nn.Linear(width, width)
    )
    return SummedGin(inner, train_eps=train_eps)


def _gat(inputs: int, width: int) -> GATConv:
    # `with_loops` has the self-loops.
    return GATConv(inputs, width // HEADS, HEADS, add_self_loops=False)


LAYERS: dict[str, Kind] = {
    "mean": Kind(Averaged, averaging),
    "max": Kind(Maximal, gathering),
    "gin": Kind(partial(_gin, train_eps=False), summing),
    "gin_eps": Kind(partial(_gin, train_eps=True), summing),
    "gat": Kind(_gat, with_loops),
}


class PooledStack(nn.Module):
    """Layers h ← ReLU(BN(layer(h))); the readouts of the input and of every layer are kept side by
    side.

    Args:
        layer: a key of `LAYERS`. inputs: F. width: of each layer. layers: their number. readout: a
            key of `READOUTS`.

    Attributes:
        widths: of the levels, the input's first. width: of all side by side.
    """

    def __init__(self, layer: str, inputs: int, width: int, layers: int, readout: str):
        super().__init__()
        self.kind, self.readout = LAYERS[layer], READOUTS[readout]
        self.widths = (inputs, *[width] * layers)
        self.width = sum(self.widths)
        self.layers = nn.ModuleList(self.kind.made(before, width) for before in self.widths[:-1])
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor, graph_of: Tensor, graphs: int) -> Tensor:
        """B×(F + layers·width) from M×F, 2×E, the graph of each node (M) and B."""
        read = self.kind.reads(edge_index, len(x))
        found = [self.readout(x, graph_of, graphs)]
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(x, read)).relu_()
            found.append(self.readout(x, graph_of, graphs))
        return torch.cat(found, dim=1)


class LevelScores(nn.Module):
    """Class scores from the readouts of levels side by side: a linear map for each level, dropout
    of its scores, and the sum over the levels.

    Args:
        widths: of the levels. classes: C. dropout: share of the scores of a level.
    """

    def __init__(self, widths: Sequence[int], classes: int, dropout: float):
        super().__init__()
        self.widths = list(widths)
        self.heads = nn.ModuleList(nn.Linear(width, classes) for width in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, rows: Tensor) -> Tensor:
        """B×C from B×(sum of the widths)."""
        parts = rows.split(self.widths, dim=1)
        levels = [head(part) for head, part in zip(self.heads, parts, strict=True)]
        return self.dropout(torch.stack(levels)).sum(dim=0)
