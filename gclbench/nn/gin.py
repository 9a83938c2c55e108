"""The graph isomorphism network of InfoGraph, GraphCL, JOAO, AUGCL and the siamese network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv

from gclbench.nn.readout import READOUTS
from gclbench.nn.sparse import SparseMatrix, compressed


class SummedGin(GINConv):
    """PyG's GIN layer, h ← MLP((1 + ε) h_i + Σ_j h_j), with the sum as one sparse product.

    PyG's own way gathers a row for each edge entry first. The first linear map of the MLP is
    applied before the sum where it narrows the rows; the two commute.
    """

    def forward(self, x: Tensor, adjacency: SparseMatrix) -> Tensor:
        """M×d from M×F."""
        first, *rest = self.nn
        narrow = first.out_features < first.in_features
        x = nn.functional.linear(x, first.weight) if narrow else x
        plain = self.initial_eps == 0 and not isinstance(self.eps, nn.Parameter)
        # A view has a place of its own in the order in which gradients are added up.
        own = x.view_as(x) if plain else (1 + self.eps) * x
        x = (adjacency @ x).add_(own)
        x = x + first.bias if narrow else first(x)
        for module in rest:
            x = module(x)
        return x


class GinEncoder(nn.Module):
    """Layers h ← BN(ReLU(GIN(h))); every layer's nodes and readouts are kept side by side.

    Args:
        inputs: F. width: of each layer. layers: their number. readout: a key of `READOUTS`.
    """

    def __init__(self, inputs: int, width: int, layers: int, readout: str = "sum"):
        super().__init__()
        self.readout = READOUTS[readout]
        self.width = width * layers
        sizes = [inputs, *[width] * (layers - 1)]
        self.layers = nn.ModuleList(
            SummedGin(
                nn.Sequential(nn.Linear(before, width), nn.ReLU(True), nn.Linear(width, width))
            )
            for before in sizes
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in sizes)

    def forward(
        self, x: Tensor, edge_index: Tensor, graph_of: Tensor, graphs: int
    ) -> tuple[Tensor, Tensor]:
        """(nodes M×(layers·width), graphs B×(layers·width)), the layers side by side.

        Args:
            x: M×F. edge_index: 2×E, both directions of every edge, sorted by row.
            graph_of: (M,), ascending. graphs: B.
        """
        layers = self._layers(x, edge_index)
        return torch.cat(layers, dim=1), self._pooled(layers, graph_of, graphs)

    def graphs(self, x: Tensor, edge_index: Tensor, graph_of: Tensor, graphs: int) -> Tensor:
        """The second half of `forward` alone."""
        return self._pooled(self._layers(x, edge_index), graph_of, graphs)

    def _layers(self, x: Tensor, edge_index: Tensor) -> list[Tensor]:
        adjacency = summing(edge_index, len(x))
        found = []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(x, adjacency).relu_())
            found.append(x)
        return found

    def _pooled(self, layers: list[Tensor], graph_of: Tensor, graphs: int) -> Tensor:
        return torch.cat([self.readout(each, graph_of, graphs) for each in layers], dim=1)


def summing(edge_index: Tensor, nodes: int) -> SparseMatrix:
    """A of an undirected graph as a sparse matrix, which is its own transpose.

    Args:
        edge_index: 2×E, both directions of every edge, sorted by row. nodes: M.
    """
    rows, columns = edge_index
    ones = torch.ones(len(rows), device=rows.device)
    matrix = compressed(rows, columns, ones, (nodes, nodes))
    return SparseMatrix(matrix, matrix)
