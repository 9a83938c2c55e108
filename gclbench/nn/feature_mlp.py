"""Linear layers on constant features, for an encoder without propagation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gclbench.nn.sparse import Features


class FeatureMlp(nn.Module):
    """Linear layers on constant features, batch normalisation and ReLU between them; no biases, as
    every layer's is taken out again.

    Args:
        inputs: F. widths: output width of each layer.
    """

    def __init__(self, inputs: int, widths: tuple[int, ...]):
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, widths[0])))
        rest: list[nn.Module] = []
        for before, after in zip(widths[:-1], widths[1:], strict=True):
            rest += [nn.BatchNorm1d(before), nn.ReLU(), nn.Linear(before, after, bias=False)]
        self.rest = nn.Sequential(*rest)

    def forward(self, features: Features, keep: Tensor | None = None) -> Tensor:
        """N×widths[-1]; keep: (F,) bool, feature columns that the view keeps."""
        return self.rest(features.product(self.weight, keep))
