"""Negative metric learning: weights for negatives, learned against the loss that they enter.

NML-GCL paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Count, NonNegative, OneOf, Positive
from gclbench.negatives.nml_metrics import (
    CosineMetric,
    Metric,
    OracleMetric,
    SeparableMetric,
    UniformMetric,
    Views,
)
from gclbench.negatives.nml_pairwise import PairwiseMetric
from gclbench.negatives.strategy import Negatives, Pair, Report, check_two_nodes
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams

SIMILARITIES = "nml similarities"
"""Where a pair keeps the exponentials that the metric's steps have computed."""

LEAST_ORACLE_ALPHA = 1e-9
"""Below, the closed form loses the regulariser to rounding."""


@NEGATIVES.register("nml")
@dataclass(frozen=True)
class Nml:
    """Negative metric learning: a network learns the negatives' weights between encoder steps.

    ℓ_i = −log [ e^{θ_ii/τ} / (e^{θ_ii/τ} + (N−1) Σ_j m_ij e^{θ_ij/τ}) ] + α(N−1)·KL(uniform ‖ m_i),
    inter-view pairs alone, mean of both directions (NML-GCL paper, Eqs. 3 to 8). Per iteration
    `inner_steps` steps of the metric, then one of the encoder.

    Attributes:
        metric: `separable`: cosine of the images of u_i and v_j under one network, the official
            code; `pairwise`: a network of the concatenated pair, as printed, whose cost grows as
            hidden²·N²; `oracle`: the best weights in closed form; `uniform`: 1/N ("w/o M");
            `cosine`: ∝ e^{−θ_ij} ("repl. cosine").
        inner_steps: T_M. alpha: α. lr, weight_decay: of the metric's Adam. hidden: width of the
            metric's layers.
        detach: in the encoder's step take the weights as constants; without, its gradient passes
            through them too.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    metric: Annotated[str, OneOf("separable", "pairwise", "oracle", "uniform", "cosine")] = (
        "separable"
    )
    inner_steps: Count = 3
    alpha: NonNegative = 0.1
    lr: Positive = 5e-4
    weight_decay: NonNegative = 0.0
    hidden: Count = 512
    detach: bool = False

    def __post_init__(self) -> None:
        if self.metric == "oracle" and self.alpha < LEAST_ORACLE_ALPHA:
            raise ValueError(
                f"metric=oracle needs alpha ≥ {LEAST_ORACLE_ALPHA:g}, since without the regulariser"
                " the best weights are all on the least similar node; try negatives.alpha=0.1"
            )

    @property
    def learns(self) -> bool:
        """Whether it trains a network by itself, at its `lr`."""
        return self.metric in ("separable", "pairwise")

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """The metric with its initial weights.

        Raises:
            Unsupported: when the graph has a single node.
        """
        check_two_nodes("nml", nodes)
        generator = rng.torch("negatives")
        with rng.seeded("negatives"):
            made: Metric
            if self.metric == "separable":
                made = SeparableMetric(width, self.hidden, generator, self.detach)
            elif self.metric == "pairwise":
                made = PairwiseMetric(width, self.hidden, self.detach)
            elif self.metric == "oracle":
                made = OracleMetric(self.alpha)
            elif self.metric == "cosine":
                made = CosineMetric(self.detach)
            else:
                made = UniformMetric()
        return NmlNegatives(made.to(device), self, generator)


class NmlNegatives(Negatives):
    """The metric at work.

    Args:
        generator: random slopes of the metric's activation.
    """

    def __init__(self, metric: Metric, settings: Nml, generator: torch.Generator):
        super().__init__()
        self.metric = metric
        self.settings = settings
        self.generators = {"slopes": generator}
        if metric.learns:
            adam = torch.optim.Adam(
                metric.parameters(), lr=settings.lr, weight_decay=settings.weight_decay
            )
            self.optimisers = {"metric": adam}

    def update(self, pair: Pair) -> None:
        """T_M steps of the metric on one pair; the random slopes are new in each."""
        if not self.metric.learns or len(pair.u) < 2:
            return
        views = Views.of(pair)
        for _ in range(self.settings.inner_steps):
            objective = self.metric.objective(views, frozen=False, alpha=self.settings.alpha)
            self.optimisers["metric"].zero_grad(set_to_none=True)
            objective.value.backward()
            self.optimisers["metric"].step()
        # The encoder's step is on the same pair, and so are its similarities.
        pair.kept[SIMILARITIES] = views.similarities

    def loss(self, pair: Pair) -> Loss:
        """The encoder's loss; 0 for a batch of one node, which has no negatives."""
        if len(pair.u) < 2:
            return Loss(0 * (pair.u.sum() + pair.v.sum()))
        views = Views.of(pair, pair.kept.pop(SIMILARITIES, None))
        found = self.metric.objective(views, frozen=True, alpha=self.settings.alpha)
        terms = {"contrast": found.contrast, "regulariser": found.regulariser}
        return Loss(found.value, terms)

    def report(self, pair: Pair) -> Report:
        with torch.no_grad():
            rows = self.metric.unscaled(Views.of(pair.detached()))

        def scaled(start: int, stop: int) -> Tensor:
            m = rows(start, stop)
            own = m.diagonal(offset=start)[:, None]
            return m * (m.shape[1] - 1) / (m.sum(dim=1, keepdim=True) - own)

        return Report(weights=scaled)
