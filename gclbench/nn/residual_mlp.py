"""The head of InfoGraph and of MVGRL on graphs: three layers with a linear shortcut around them."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn


class ResidualMlp(nn.Module):
    """x ↦ layers(x) + W x + b, an activation after each of the three layers.

    Args:
        inputs: F. width: d. activation: makes one.
    """

    def __init__(self, inputs: int, width: int, activation: Callable[[], nn.Module]):
        super().__init__()
        sizes = (inputs, width, width)
        layers = [(nn.Linear(before, width), activation()) for before in sizes]
        self.layers = nn.Sequential(*(module for pair in layers for module in pair))
        self.shortcut = nn.Linear(inputs, width)

    def forward(self, x: Tensor) -> Tensor:
        """M×F → M×d."""
        return self.layers(x) + self.shortcut(x)


def glorot_(module: nn.Module) -> None:
    """Glorot's uniform distribution for the weights of all linear layers inside, zero for their
    biases."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
