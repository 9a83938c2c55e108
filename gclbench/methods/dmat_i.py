"""DMAT-i: unsupervised deep metric learning on filtered features (paper 000, section 3.3, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from gclbench.contrast.objectives import multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.hyperparameters import Count, Fraction, OneOf
from gclbench.methods.metric_learning import MetricLearning
from gclbench.nn.mlp import Mlp
from gclbench.registry import METHODS


@METHODS.register("dmat_i")
@dataclass(frozen=True)
class DmatI(MetricLearning):
    """DMAT-i: contrast of batches with column-masked views of GnnBP features, no labels (paper 000).

    Attributes:
        mask_fraction: fraction of feature columns set to zero in a view. views: views per batch.
        train_on: `all` nodes, or the `labelled` ones only (their labels unused; the first block of the paper's Table 2).
    """

    mask_fraction: Fraction = 0.2
    views: Count = 3
    train_on: Annotated[str, OneOf("all", "labelled")] = "all"

    @property
    def needs_labels(self) -> bool:
        """True only where the labels say which nodes to train on."""
        return self.train_on == "labelled"

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """Eq. 7 of the unmasked batch with each view, averaged over views."""
        dropped = [dropped_columns(x.shape[1], self.mask_fraction, views).to(x.device) for _ in range(self.views)]
        anchor, *masked = (unit_rows(view) for view in encoder.views(x, dropped))
        return multi_view_nce(anchor, masked, self.tau)
