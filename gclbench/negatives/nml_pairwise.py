"""NML's metric as printed: a network that reads a pair of nodes (NML-GCL paper, Eq. 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from gclbench.contrast.blocks import block_rows, sums_by_blocks
from gclbench.contrast.panel import paired
from gclbench.negatives.nml_metrics import (
    Metric,
    Objective,
    RowSums,
    Views,
    cut,
    initialise,
    weights_of,
)
from gclbench.negatives.strategy import WeightRows


class PairwiseMetric(Metric):
    """a_ij = MLP([u_i ; v_j]) with two hidden layers, as printed; N² passes through the second one.

    The first layer of a concatenation is a sum of two layers: one product per node instead of one
    per pair. A row of logits is complete once its tile is, so its loss and the gradient are taken
    while the tile is there, and no tile is computed twice.

    Args:
        width: d. hidden: width of both hidden layers. detach: as in `SeparableMetric`.
    """

    learns = True

    def __init__(self, width: int, hidden: int, detach: bool):
        super().__init__()
        self.first, self.second = nn.Linear(2 * width, hidden), nn.Linear(hidden, hidden)
        # Without bias: one number added to all logits changes no weight, and Adam would walk it at
        # random.
        self.last = nn.Linear(hidden, 1, bias=False)
        self.width, self.detach = width, detach
        initialise(self)

    def objective(self, views: Views, frozen: bool, alpha: float) -> Objective:
        found = [
            self._direction(one, frozen, alpha * (len(views.u) - 1))
            for one in (views, views.swapped())
        ]
        value = torch.stack([total for total, _ in found]).mean()
        contrast, regulariser = torch.stack([terms for _, terms in found]).mean(dim=0)
        return Objective(value, contrast, regulariser)

    def unscaled(self, views: Views) -> WeightRows:
        left, right = self._halves(views.u, views.v, frozen=True)
        layers = self._layers(frozen=True)

        def rows(start: int, stop: int) -> Tensor:
            with torch.no_grad():
                return torch.softmax(_logits(left[start:stop], right, *layers), dim=1)

        return rows

    def _direction(self, views: Views, frozen: bool, factor: float) -> tuple[Tensor, Tensor]:
        """(loss, its two terms as constants), means over the anchors.

        Args:
            factor: α(N−1).
        """
        count = len(views.u)
        left, right = self._halves(*cut(views.u, views.v, frozen and self.detach), frozen)

        def terms(
            left: Tensor, unit: Tensor, own: Tensor, right: Tensor, others: Tensor, *layers: Tensor
        ) -> Tensor:
            a = _logits(left, right, *layers)
            t = views.scale * unit @ others.T
            sums = RowSums(torch.logsumexp(a + t, dim=1), torch.logsumexp(a, dim=1), a.mean(dim=1))
            contrast, divergence = sums.contrast(own, count), sums.divergence(count)
            return torch.stack([contrast.sum(), factor * divergence.sum()]) / count

        own = paired(views.unit_u, views.unit_v, views.scale)
        hidden = self.second.out_features
        return sums_by_blocks(
            terms,
            (left, views.unit_u, own),
            (right, views.unit_v, *self._layers(frozen)),
            views.block or block_rows(count, len(views.v), per_entry=4 * hidden),
        )

    def _halves(self, u: Tensor, v: Tensor, frozen: bool) -> tuple[Tensor, Tensor]:
        """The first layer of the anchors, with its bias, and of the candidates, M×hidden each."""
        weight, bias = weights_of(self.first, frozen)
        return linear(u, weight[:, : self.width], bias), linear(v, weight[:, self.width :])

    def _layers(self, frozen: bool) -> tuple[Tensor, Tensor, Tensor]:
        """The second layer's weight and bias, and the last one's weight."""
        weight, bias, last = self.second.weight, self.second.bias, self.last.weight
        return (weight.detach(), bias.detach(), last.detach()) if frozen else (weight, bias, last)


def _logits(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor, last: Tensor) -> Tensor:
    """a of a block of anchors, B×N."""
    h = (left[:, None] + right).relu_()
    return linear(linear(h, weight, bias).relu_(), last).squeeze(-1)
