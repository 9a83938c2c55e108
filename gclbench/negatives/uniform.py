"""The plain negatives of InfoNCE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.contrast.objectives import inter_view_nce, multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.strategy import Negatives, Pair, Report, WeightRows
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams


@NEGATIVES.register("uniform")
@dataclass(frozen=True)
class Uniform:
    """Every other node is a negative, all with weight 1."""

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """No state."""
        return UniformNegatives()


class UniformNegatives(Negatives):
    """GRACE's loss, DMAT-i's on several views, or that of inter-view pairs alone."""

    by_number = False

    def forward(self, pair: Pair) -> Loss:
        """All views at once: the similarities among the anchors serve each of them."""
        return self.loss(pair)

    def loss(self, pair: Pair) -> Loss:
        u, views = unit_rows(pair.u), [unit_rows(view) for view in pair.views]
        if pair.intra:
            contrast = multi_view_nce(u, views, pair.tau, pair.block)
        else:
            parts = [inter_view_nce(u, view, pair.tau, pair.block) for view in views]
            contrast = parts[0] if len(parts) == 1 else torch.stack(parts).mean()
        return Loss(contrast, {"contrast": contrast.detach()})

    def report(self, pair: Pair) -> Report:
        return Report(weights=ones(pair))


def ones(pair: Pair) -> WeightRows:
    """Weight 1 for every negative."""
    return lambda start, stop: torch.ones(
        stop - start, len(pair.v), dtype=pair.v.dtype, device=pair.v.device
    )


def mean_one(weights: WeightRows) -> WeightRows:
    """Rows with mean 1 over an anchor's negatives; of a row of zeros each weight is 1."""

    @torch.no_grad()
    def rows(start: int, stop: int) -> Tensor:
        weight = weights(start, stop)
        own = weight.diagonal(offset=start)[:, None]
        total = weight.sum(dim=1, keepdim=True) - own
        alone = total <= 0
        return torch.where(
            alone, 1.0, weight * (weight.shape[1] - 1) / total.masked_fill(alone, 1.0)
        )

    return rows
