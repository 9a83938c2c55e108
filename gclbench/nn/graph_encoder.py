"""The encoders of graph auto-encoders: two graph convolutions of torch_geometric."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu
from torch_geometric.nn import GCNConv


class GraphEncoder(nn.Module):
    """x (N×F) → ReLU of a graph convolution (N×hidden) → another (N×d) (Kipf and Welling 2016).

    Args:
        inputs: F. hidden: width between the two. dimension: d.
    """

    def __init__(self, inputs: int, hidden: int, dimension: int):
        super().__init__()
        self.first = GCNConv(inputs, hidden, cached=True)
        self.second = GCNConv(hidden, dimension, cached=True)

    def forward(self, x: Tensor, *edges: Tensor) -> Tensor:
        """N×d, from x (N×F), `edge_index` (2×E) and, where there are some, edge weights (E)."""
        return self.second(relu(self.first(x, *edges)), *edges)


class VariationalEncoder(nn.Module):
    """As `GraphEncoder`, with two convolutions at the end: of means and of log deviations.

    Args:
        inputs: F. hidden: width between the two. dimension: d.
    """

    def __init__(self, inputs: int, hidden: int, dimension: int):
        super().__init__()
        self.first = GCNConv(inputs, hidden, cached=True)
        self.mean = GCNConv(hidden, dimension, cached=True)
        self.log_deviation = GCNConv(hidden, dimension, cached=True)

    def forward(self, x: Tensor, *edges: Tensor) -> tuple[Tensor, Tensor]:
        """Means and log deviations, N×d each, from what `GraphEncoder` reads."""
        h = relu(self.first(x, *edges))
        return self.mean(h, *edges), self.log_deviation(h, *edges)
