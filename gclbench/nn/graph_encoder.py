"""The encoders of graph auto-encoders: two graph convolutions without biases."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from gclbench.nn.sparse import Features, SparseMatrix


def glorot(inputs: int, outputs: int) -> nn.Parameter:
    """The weights of a convolution (inputs×outputs), from Glorot's uniform distribution."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))


class GraphEncoder(nn.Module):
    """x (N×F) → h = ReLU(P x W) (N×hidden) → P h V (N×d) (Kipf and Welling 2016).

    Args:
        inputs: F. hidden: width of h. dimension: d. noise: standard deviation of normal noise on h
            in training, which comes from torch's global generator; 0 draws none.
    """

    def __init__(self, inputs: int, hidden: int, dimension: int, noise: float = 0.0):
        super().__init__()
        self.noise = noise
        self.first, self.second = glorot(inputs, hidden), glorot(hidden, dimension)

    def hidden(self, x: Features, propagation: SparseMatrix) -> Tensor:
        """P h, N×hidden."""
        h = relu(propagation @ x.product(self.first))
        if self.training and self.noise:
            h = h + self.noise * torch.randn_like(h)
        return propagation @ h

    def forward(self, x: Features, propagation: SparseMatrix) -> Tensor:
        """N×d, from x (N×F) and P (N×N)."""
        return self.hidden(x, propagation) @ self.second


class VariationalEncoder(GraphEncoder):
    """As `GraphEncoder`, which gives the means, with a second V for log deviations."""

    def __init__(self, inputs: int, hidden: int, dimension: int, noise: float = 0.0):
        super().__init__(inputs, hidden, dimension, noise)
        self.log_deviation = glorot(hidden, dimension)

    def both(self, x: Features, propagation: SparseMatrix) -> tuple[Tensor, Tensor]:
        """Means and log deviations, N×d each."""
        h = self.hidden(x, propagation)
        return h @ self.second, h @ self.log_deviation
