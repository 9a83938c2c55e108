"""One graph convolution in two halves, so that one product with the features serves several
propagations."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gclbench.nn.gcn import GCN_ACTIVATIONS, RandomisedReLU
from gclbench.nn.sparse import Features


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
