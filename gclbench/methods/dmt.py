"""DMT: semi-supervised deep metric learning with the multi-class tuple loss.

DMT / DMAT / DMAT-i paper, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.contrast.objectives import labelled_tuple
from gclbench.contrast.unit_rows import unit_rows
from gclbench.methods.metric_learning import MetricLearning
from gclbench.nn.mlp import Mlp


@METHODS.register("dmt")
@dataclass(frozen=True)
class Dmt(MetricLearning):
    """DMT: multi-class tuple loss on the labelled nodes, after GnnBP."""

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """Eq. 4, averaged over the batch."""
        return labelled_tuple(unit_rows(encoder(x)), labels, self.tau)
