"""DMAT: DMT with augmented views (DMT / DMAT / DMAT-i paper, section 3.3, Eq. 5)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction
from gclbench.contrast.objectives import labelled_two_view
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.methods.metric_learning import MetricLearning
from gclbench.nn.mlp import Mlp


@METHODS.register("dmat")
@dataclass(frozen=True)
class Dmat(MetricLearning):
    """DMAT: DMT on labelled nodes and their column-masked copies.

    Attributes:
        mask_fraction: fraction of feature columns set to zero in a view. views: views per batch.
    """

    mask_fraction: Fraction = 0.2
    views: Count = 3

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """Eq. 5 of the batch with each view, averaged over views.

        Entries of the same class, of both copies, are positives.
        """
        dropped = [
            dropped_columns(x.shape[1], self.mask_fraction, views).to(x.device)
            for _ in range(self.views)
        ]
        anchor, *masked = (unit_rows(view) for view in encoder.views(x, dropped))
        losses = [labelled_two_view(anchor, view, labels, self.tau) for view in masked]
        return torch.stack(losses).mean()
