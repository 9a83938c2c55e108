"""Statistics of batch normalisation: a slow average that is right from the first step, and those of
the weights as they are."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DebiasedBatchNorm(nn.BatchNorm1d):
    """Batch normalisation whose running mean and variance are exponential averages without their
    starting values.

    BGRL's `momentum 0.99` is the share that the average keeps (JAX); PyTorch's argument of that
    name is the share that the last batch gets. Its original also divides the start out of the
    average; a batch's share of (1 − decay)/(1 − decayᵗ) at the t-th batch does the same.

    Args:
        width: d. decay: share that the average keeps, in [0, 1).
    """

    def __init__(self, width: int, decay: float = 0.99):
        super().__init__(width)
        self.decay = decay

    def forward(self, input: Tensor) -> Tensor:
        """N×d."""
        if self.training and self.num_batches_tracked is not None:
            batches = int(self.num_batches_tracked) + 1
            self.momentum = (1 - self.decay) / (1 - self.decay**batches)
        return super().forward(input)


def settle(network: nn.Module, *inputs: object) -> None:
    """Sets the statistics of a network's batch norms to those of its inputs, at its weights.

    Running averages are of the last steps, whose weights were others. The inputs are one batch, so
    that no order of theirs matters.

    Args:
        network: without dropout; called once as network(*inputs), in training mode. Its mode and
            its parameters stay.

    Raises:
        TypeError: for a network with a `DebiasedBatchNorm`, whose average is its own.
    """
    if any(isinstance(module, DebiasedBatchNorm) for module in network.modules()):
        raise TypeError("settle takes plain batch norms; a DebiasedBatchNorm keeps its own average")
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm1d)]
    shares, training = [norm.momentum for norm in norms], network.training
    network.train()
    for norm in norms:
        norm.momentum = 1.0  # the last batch is all that counts
    try:
        with torch.no_grad():
            network(*inputs)
    finally:
        network.train(training)
        for norm, share in zip(norms, shares, strict=True):
            norm.momentum = share
