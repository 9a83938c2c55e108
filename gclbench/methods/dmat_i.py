"""DMAT-i: unsupervised deep metric learning on filtered features (paper 000, section 3.3, Algorithm
1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction, OneOf
from gclbench.contrast.objectives import multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.embedding import Contrast
from gclbench.methods.metric_learning import ROWS_AT_ONCE, MetricLearning
from gclbench.negatives.strategy import Negatives, Pair, RowMixture
from gclbench.nn.mlp import Mlp

ENTRIES_FOR_ANALYSES = 1 << 25
"""Largest N·d of the two views that are kept for analyses: 128 MiB each in float32."""


@METHODS.register("dmat_i")
@dataclass(frozen=True)
class DmatI(MetricLearning):
    """DMAT-i: contrast of batches with column-masked views of GnnBP features, no labels (paper 000).

    Attributes:
        mask_fraction: fraction of feature columns set to zero in a view. views: views per batch.
        train_on: `all` nodes, or the `labelled` ones only (their labels unused; the first block of
            the paper's Table 2).
    """

    takes_negatives: ClassVar[bool] = True

    mask_fraction: Fraction = 0.2
    views: Count = 3
    train_on: Annotated[str, OneOf("all", "labelled")] = "all"

    @property
    def needs_labels(self) -> bool:
        """True only where the labels say which nodes to train on."""
        return self.train_on == "labelled"

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """Eq. 7 of the unmasked batch with each view, averaged over views."""
        dropped = [
            dropped_columns(x.shape[1], self.mask_fraction, views).to(x.device)
            for _ in range(self.views)
        ]
        anchor, *masked = (unit_rows(view) for view in encoder.views(x, dropped))
        return multi_view_nce(anchor, masked, self.tau)

    def against(
        self,
        strategy: Negatives,
        encoder: Mlp,
        x: Tensor,
        views: torch.Generator,
        pair: Callable[[Tensor, Tensor], Pair],
    ) -> Tensor:
        """The strategy's loss of the unmasked batch with each view, averaged over views; it learns
        from the first of them."""
        dropped = [
            dropped_columns(x.shape[1], self.mask_fraction, views).to(x.device)
            for _ in range(self.views)
        ]
        mixture = strategy.mixture(len(x), x.device)
        anchor, *masked = encoder.views(x, dropped, None if mixture is None else mixture.apply)
        if len(x) < 2:
            # A batch's last node alone has no negatives, and its loss no gradient.
            return anchor.sum() * 0.0
        pairs = [pair(anchor, view) for view in masked]
        strategy.update(pairs[0].detached())
        return torch.stack([strategy(each) for each in pairs]).mean()

    def last_views(
        self, encoder: Mlp, x: Tensor, views: torch.Generator, mixture: RowMixture | None
    ) -> Contrast | None:
        """All nodes unmasked and with one set of columns masked; None for a graph too large to keep
        them."""
        width = encoder(x[:1]).shape[1]
        if len(x) * width > ENTRIES_FOR_ANALYSES:
            return None
        dropped = [dropped_columns(x.shape[1], self.mask_fraction, views).to(x.device)]
        parts = [encoder.views(self.inputs(rows), dropped) for rows in x.split(ROWS_AT_ONCE)]
        u, v = (unit_rows(torch.cat(rows)) for rows in zip(*parts, strict=True))
        if mixture is not None:
            u = unit_rows(
                torch.cat(
                    [encoder(rows) for rows in mixture.apply(self.inputs(x)).split(ROWS_AT_ONCE)]
                )
            )
        return Contrast(u, v, self.tau)
