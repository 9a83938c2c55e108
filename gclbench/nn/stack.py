"""Layers of torch_geometric one after the other, with dropout, and a head of class scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import Linear

from gclbench.nn.sparse import with_values


class WithoutEdges(Linear):
    """A linear layer of torch_geometric that is given edges and does not read them.

    Args:
        inputs, outputs: widths. Weights start from Glorot's uniform distribution, biases at zero,
            as in its graph convolutions.
    """

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, weight_initializer="glorot", bias_initializer="zeros")

    def forward(self, x: Tensor, *edges: Tensor) -> Tensor:
        """N×outputs."""
        return super().forward(x)


class Stack(nn.Module):
    """h ← act(layer(dropout(h), edges)), layer by layer; then the head on the last h, or on what
    `jump` makes of the h of all layers.

    Args:
        layers, head: modules of (x, edge_index), or (x, edge_index, edge_weight).
        activation: after each layer, not after the head.
        dropout: share of the entries that each layer and the head do not see in training. They are
            drawn from torch's global generator, as the layers draw theirs.
        jump: from the list of all h (each N×d) to N×d'; None takes the last.
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        head: nn.Module,
        activation: Callable[[Tensor], Tensor],
        dropout: float,
        jump: Callable[[list[Tensor]], Tensor] | None = None,
    ):
        super().__init__()
        self.layers, self.head = nn.ModuleList(layers), head
        self.activation, self.dropout, self.jump = activation, dropout, jump

    def forward(self, x: Tensor, *edges: Tensor) -> tuple[Tensor, Tensor]:
        """What the head reads (N×d), and the class scores (N×K), of x (N×F) and a graph's edges.

        Args:
            x: dense, or compressed rows where the first layer is linear in x before all else: only
                entries that are not zero are then dropped, which is the same.
        """
        levels: list[Any] = []
        for layer in self.layers:
            x = self.activation(layer(self._dropped(x), *edges))
            levels.append(x)
        h = x if self.jump is None else self.jump(levels)
        return h, self.head(self._dropped(h), *edges)

    def _dropped(self, x: Tensor) -> Tensor:
        if x.layout != torch.sparse_csr:
            return dropout(x, self.dropout, self.training)
        return with_values(x, dropout(x.values(), self.dropout, self.training))
