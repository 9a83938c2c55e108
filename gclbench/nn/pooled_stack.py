"""Layers of message passing over graphs of a collection, and readouts of all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from gclbench.nn.gin import SummedGin, summing
from gclbench.nn.readout import READOUTS
from gclbench.nn.sparse import SparseMatrix, with_values

HEADS = 4
"""Of attention, side by side; a layer's width is a multiple of it."""


def means(edge_index: Tensor, nodes: int) -> SparseMatrix:
    """D⁻¹A; the row of a node without neighbours is zero.

    Args:
        edge_index: 2×E, both directions of every edge, sorted by row, without self-loops.
        nodes: M.
    """
    source, target = edge_index
    pattern = summing(edge_index, nodes).matrix
    share = 1 / _degrees(pattern).clamp(min=1)
    return SparseMatrix(with_values(pattern, share[source]), with_values(pattern, share[target]))


def normalised(edge_index: Tensor, nodes: int) -> tuple[SparseMatrix, Tensor]:
    """D^(−½)(A + I)D^(−½), D with the self-loops: what is beside its diagonal, and that (M×1).

    Args:
        edge_index, nodes: as of `means`.
    """
    source, target = edge_index
    pattern = summing(edge_index, nodes).matrix
    scale = (_degrees(pattern) + 1).rsqrt()
    beside = with_values(pattern, scale[source] * scale[target])
    return SparseMatrix(beside, beside), (scale * scale)[:, None]


def with_loops(edge_index: Tensor, nodes: int) -> Tensor:
    """edge_index with the self-loops behind it, 2×(E + M)."""
    loops = torch.arange(nodes, device=edge_index.device)
    return torch.cat([edge_index, loops.expand(2, -1)], dim=1)


def _degrees(pattern: Tensor) -> Tensor:
    return pattern.crow_indices().diff().to(torch.float32)


class SummedGcn(GCNConv):
    """PyG's GCN layer, h ← D^(−½)(A + I)D^(−½) h W + b, with the sum as one sparse product."""

    def forward(self, x: Tensor, propagation: tuple[SparseMatrix, Tensor]) -> Tensor:
        """M×d from M×F and `normalised`."""
        x, (beside, diagonal) = self.lin(x), propagation
        return (beside @ x).add_(torch.addcmul(self.bias, diagonal, x))


class AveragedSage(SAGEConv):
    """PyG's GraphSAGE layer, h ← W₁ mean_j h_j + b + W₂ h_i, with the mean as one sparse product.

    W₁ is applied before the mean where it narrows the rows; the two commute.
    """

    def forward(self, x: Tensor, means: SparseMatrix) -> Tensor:
        """M×d from M×F."""
        inner, own = self.lin_l, self.lin_r(x)
        if inner.out_channels >= inner.in_channels:
            return own + inner(means @ x)
        return own + (means @ nn.functional.linear(x, inner.weight) + inner.bias)


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
    "gcn": Kind(SummedGcn, normalised),
    "graphsage": Kind(AveragedSage, means),
    "gin": Kind(partial(_gin, train_eps=False), summing),
    "gin_eps": Kind(partial(_gin, train_eps=True), summing),
    "gat": Kind(_gat, with_loops),
}


class PooledStack(nn.Module):
    """Layers h ← ReLU(BN(layer(h))); every layer's readouts are kept side by side.

    Args:
        layer: a key of `LAYERS`. inputs: F. width: of each layer. layers: their number. readout: a
            key of `READOUTS`.
    """

    def __init__(self, layer: str, inputs: int, width: int, layers: int, readout: str):
        super().__init__()
        self.kind = LAYERS[layer]
        self.readout, self.width = READOUTS[readout], width * layers
        sizes = [inputs, *[width] * (layers - 1)]
        self.layers = nn.ModuleList(self.kind.made(before, width) for before in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in sizes)

    def forward(self, x: Tensor, edge_index: Tensor, graph_of: Tensor, graphs: int) -> Tensor:
        """B×(layers·width) from M×F, 2×E, the graph of each node (M) and B."""
        found, read = [], self.kind.reads(edge_index, len(x))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(x, read)).relu_()
            found.append(self.readout(x, graph_of, graphs))
        return torch.cat(found, dim=1)
