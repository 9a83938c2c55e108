"""One graph convolution in two halves, so that one product with the features serves several
propagations."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from gclbench.nn.diffusion import Diffusion
from gclbench.nn.gcn import GCN_ACTIVATIONS, RandomisedReLU
from gclbench.nn.sparse import Features, SparseMatrix


class Convolution(nn.Module):
    """act(P (x W) + b) for any propagation P (DGI and MVGRL, whose encoders have this one layer).

    Args:
        inputs: F. width: d. activation: a key of `GCN_ACTIVATIONS`.
    """

    def __init__(self, inputs: int, width: int, activation: str):
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, width)))
        self.bias = nn.Parameter(torch.zeros(width))
        self.activation = GCN_ACTIVATIONS[activation]()

    def use(self, generator: torch.Generator) -> None:
        """Lets a random activation draw from this generator in training."""
        if isinstance(self.activation, RandomisedReLU):
            self.activation.generator = generator

    def product(self, features: Features) -> Tensor:
        """x W, N×d."""
        return features.product(self.weight)

    def activate(self, propagated: Tensor) -> Tensor:
        """act(P x W + b), N×d, from P x W."""
        return self.activation(propagated + self.bias)


class Convolutions(nn.ModuleList):
    """Layers of `Convolution` on one propagation.

    Args:
        inputs: F. width: d of every layer. layers: their number. activation: a key of
            `GCN_ACTIVATIONS`.
    """

    def __init__(self, inputs: int, width: int, layers: int, activation: str):
        sizes = [inputs, *[width] * (layers - 1)]
        super().__init__(Convolution(before, width, activation) for before in sizes)

    def use(self, generator: torch.Generator) -> None:
        """Lets random activations draw from this generator in training."""
        for layer in self._layers():
            layer.use(generator)

    def forward(self, x: Tensor, propagation: SparseMatrix | Diffusion) -> list[Tensor]:
        """Each layer's nodes, M×d, from M×F."""
        found = []
        for layer in self._layers():
            x = layer.activate(propagation @ (x @ layer.weight))
            found.append(x)
        return found

    def _layers(self) -> Iterator[Convolution]:
        for layer in self:
            assert isinstance(layer, Convolution)
            yield layer
