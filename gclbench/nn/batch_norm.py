"""Batch normalisation with a slow running average that is right from the first step."""

from __future__ import annotations

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
