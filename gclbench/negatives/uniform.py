"""The plain negatives of InfoNCE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.contrast.objectives import inter_view_nce, multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.strategy import Negatives, Pair, WeightRows
from gclbench.training.streams import Streams


@NEGATIVES.register("uniform")
@dataclass(frozen=True)
class Uniform:
    """Every other node is a negative, all with weight 1."""

    version: ClassVar[str] = "1"

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """No state."""
        return UniformNegatives()


class UniformNegatives(Negatives):
    """GRACE's loss, or that of inter-view pairs alone."""

    def forward(self, pair: Pair) -> Tensor:
        u, v = unit_rows(pair.u), unit_rows(pair.v)
        loss = (
            multi_view_nce(u, [v], pair.tau, pair.block)
            if pair.intra
            else inter_view_nce(u, v, pair.tau, pair.block)
        )
        self.terms = {"contrast": loss.detach()}
        return loss

    def weights(self, pair: Pair) -> WeightRows:
        return lambda start, stop: torch.ones(stop - start, len(pair.v), device=pair.v.device)
