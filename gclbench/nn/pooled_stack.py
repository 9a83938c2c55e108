"""Layers of message passing over graphs of a collection, and readouts of all of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from gclbench.nn.readout import READOUTS

HEADS = 4
"""Of attention, side by side; a layer's width is a multiple of it."""


def _gin(inputs: int, width: int, train_eps: bool) -> GINConv:
    inner = nn.Sequential(
        nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)
    )
    return GINConv(inner, train_eps=train_eps)


LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "gcn": GCNConv,
    "graphsage": SAGEConv,
    "gin": lambda inputs, width: _gin(inputs, width, train_eps=False),
    "gin_eps": lambda inputs, width: _gin(inputs, width, train_eps=True),
    "gat": lambda inputs, width: GATConv(inputs, width // HEADS, HEADS),
}
"""From widths before and after to torch_geometric's layer."""


class PooledStack(nn.Module):
    """Layers h ← ReLU(BN(layer(h))); every layer's readouts are kept side by side.

    Args:
        layer: a key of `LAYERS`. inputs: F. width: of each layer. layers: their number. readout: a
            key of `READOUTS`.
    """

    def __init__(self, layer: str, inputs: int, width: int, layers: int, readout: str):
        super().__init__()
        self.readout, self.width = READOUTS[readout], width * layers
        sizes = [inputs, *[width] * (layers - 1)]
        self.layers = nn.ModuleList(LAYERS[layer](before, width) for before in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in sizes)

    def forward(self, x: Tensor, edge_index: Tensor, graph_of: Tensor, graphs: int) -> Tensor:
        """B×(layers·width) from M×F, 2×E, the graph of each node (M) and B."""
        found = []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(x, edge_index)).relu()
            found.append(self.readout(x, graph_of, graphs))
        return torch.cat(found, dim=1)
