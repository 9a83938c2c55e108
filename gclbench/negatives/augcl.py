"""AUGCL: negatives weighted by how uncertain it is to which group they belong (Niu et al. 2024).

The groups are two around each anchor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Count, OneOf, Positive, Range
from gclbench.contrast.kept_weights import kept_weights
from gclbench.contrast.objectives import inter_view_nce
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.strategy import Negatives, Pair, Report, WeightRows
from gclbench.negatives.two_means import NORMAL_RATIO, affinity_groups
from gclbench.negatives.uncertainty import (
    NETWORK_ESTIMATORS,
    PairNetwork,
    classifier_loss,
    hardest,
    relative_uncertainty,
)
from gclbench.negatives.uniform import ones
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams

SMALLEST_DISTANCE = 1e-3
"""Below it two unit rows count as this far apart, so that a copy of the anchor does not take the
whole weight."""


@NEGATIVES.register("augcl")
@dataclass(frozen=True)
class Augcl:
    """AUGCL: a negative weighs as much as its belonging to the anchor's group is uncertain.

    Attributes:
        estimator: of the uncertainty: `gambler` (abstention of a network), `softmax_response`,
            `entropy` (of a two-class network), `distance` (reciprocal distance within the other
            group; no network).
        reward: o of the gambler's loss; the smaller, the more it abstains.
        base: share of the training before the network is trained and weights apply.
        hardest: negatives of each anchor that the network scores, the most similar ones; the others
            have the mean weight 1.
        refresh: iterations that share one scoring, with one pair of views of a whole graph; batches
            and several views are scored in each.
        pairs: pairs per anchor and pass that the network is trained on. passes: over them. lr: of
            its Adam. batch_size: pairs a step.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    estimator: Annotated[str, OneOf(*NETWORK_ESTIMATORS, "distance")] = "gambler"
    reward: Annotated[float, Range(above=1, most=2)] = 1.9
    base: Annotated[float, Range(least=0, most=1)] = 0.5
    hardest: Count = 256
    refresh: Count = 5
    pairs: Count = 32
    passes: Count = 10
    lr: Positive = 0.01
    batch_size: Count = 2048

    @property
    def learns(self) -> bool:
        """Whether it trains a network by itself, at its `lr`."""
        return self.estimator != "distance"

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """The pair network and its stream of pairs.

        Raises:
            Unsupported: for a graph of fewer than three nodes, where a row has no two groups of
                negatives to tell apart.
        """
        if nodes < 3:
            raise Unsupported(
                "negatives=augcl splits each node's negatives in two groups, hence needs three"
                f" nodes, and this graph has {nodes}; negatives=uniform needs two"
            )
        return AugclNegatives(self, width, nodes, rng)


class AugclNegatives(Negatives):
    """Inter-view InfoNCE; from `base` of the training on with weighted negatives.

    Attributes:
        network: φ, trained once with the encoder frozen; None for the estimator `distance`.
        scored: (2, N, d) unit rows that the weights in use were computed from.
        ratio: (2,) of the anchors' rows when φ was trained: median within/between ratio of the two
            groups, and the share of rows whose groups are no better separated than those of a
            normal distribution (labels of such rows are noise).
    """

    def __init__(self, settings: Augcl, width: int, nodes: int, rng: Streams):
        super().__init__()
        self.settings = settings
        self.network: PairNetwork | None = None
        if settings.learns:
            with rng.seeded("negatives"):
                self.network = PairNetwork(width, 3 if settings.estimator == "gambler" else 2)
        self.generators["negatives"] = rng.torch("negatives")
        self.trained: Tensor
        self.scored: Tensor
        self.ratio: Tensor
        self.register_buffer("trained", torch.tensor(False))
        # Weights follow from these rows: a checkpoint holds N·d numbers instead of 2·N·hardest.
        self.register_buffer("scored", torch.zeros(2, nodes if settings.refresh > 1 else 0, width))
        self.register_buffer("ratio", torch.full((2,), math.nan))
        self._weights: tuple[WeightRows, WeightRows] | None = None

    def update(self, pair: Pair) -> None:
        """Trains the network when the base phase is over."""
        if self.network is None or not self.wants_all(pair.step):
            return
        self._train(self.network, pair)
        self.trained.fill_(True)

    def wants_all(self, step: Step) -> bool:
        """When the network is to be trained."""
        return self.network is not None and not bool(self.trained) and self._weighting(step)

    def loss(self, pair: Pair) -> Loss:
        u, v = unit_rows(pair.u), unit_rows(pair.v)
        if not self._weighting(pair.step):
            base = inter_view_nce(u, v, pair.tau, pair.block)
            return Loss(base, {"base contrast": base.detach()}, final=False)
        with torch.no_grad():
            forth, back = self._current(pair, u.detach(), v.detach())
        loss = 0.5 * (
            weighted_nce(u, v, pair.tau, forth, pair.block)
            + weighted_nce(v, u, pair.tau, back, pair.block)
        )
        return Loss(loss, {"weighted contrast": loss.detach()})

    def report(self, pair: Pair) -> Report:
        """Weights, and of the rows when φ was trained: the findings `augcl_ratio`, the median
        within/between ratio of their two groups, and `augcl_unimodal`, the share without two."""
        values = zip(("augcl_ratio", "augcl_unimodal"), self.ratio.tolist(), strict=True)
        findings = {name: value for name, value in values if math.isfinite(value)}
        noise = (
            "AUGCL found no two groups in most rows of similarities: what its network was trained"
            " on is noise"
        )
        remarks = [noise] * (findings.get("augcl_unimodal", 0.0) > 0.5)
        return Report(self._weight_rows(pair), findings=findings, remarks=remarks)

    def _weight_rows(self, pair: Pair) -> WeightRows:
        if not self._weighting(pair.step) or (self.network is not None and not bool(self.trained)):
            return ones(pair)
        with torch.no_grad():
            return self._scoring(unit_rows(pair.u), unit_rows(pair.v), pair.block)

    def _weighting(self, step: Step) -> bool:
        """Whether the base phase is over."""
        return step.iteration > math.floor(self.settings.base * step.total)

    def _current(self, pair: Pair, u: Tensor, v: Tensor) -> tuple[WeightRows, WeightRows]:
        """The weights of both directions; of one pair of views of a whole graph from rows at most
        `refresh` − 1 iterations old."""
        # Of several views each has its own weights, and there is one place to keep some.
        if pair.is_batch or pair.several or self.settings.refresh == 1:
            return self._scoring(u, v, pair.block), self._scoring(v, u, pair.block)
        age = pair.step.iteration - 1 - math.floor(self.settings.base * pair.step.total)
        if age % self.settings.refresh == 0 or (
            self._weights is None and not bool(self.scored.any())
        ):
            self.scored = torch.stack([u, v])
            self._weights = None
        if self._weights is None:
            first, second = self.scored.unbind()
            self._weights = (
                self._scoring(first, second, pair.block),
                self._scoring(second, first, pair.block),
            )
        return self._weights

    def _scoring(self, anchors: Tensor, candidates: Tensor, block: int | None) -> WeightRows:
        """Weights of the candidates for each anchor, the diagonal 1; kept where they are few, else
        made anew for each block."""
        if self.network is None:
            rows = _by_distance(anchors, candidates, block)
        else:
            chosen = hardest(anchors, candidates, min(self.settings.hardest, len(candidates) - 1))
            weight = relative_uncertainty(
                self.network, self.settings.estimator, anchors, candidates, chosen
            )
            rows = _scattered(chosen, weight)
        return kept_weights(rows, len(anchors), len(candidates))

    def _train(self, network: PairNetwork, pair: Pair) -> None:
        """Fits φ to the groups that two-means makes of the anchors' similarities; anchors without
        two groups take no part."""
        u, v = unit_rows(pair.u), unit_rows(pair.v)
        directions = [
            (u, v, affinity_groups(u, v, pair.block)),
            (v, u, affinity_groups(v, u, pair.block)),
        ]
        ratio = torch.cat([groups.ratio for _, _, groups in directions])
        self.ratio = torch.stack(
            [ratio.median(), (ratio > NORMAL_RATIO).to(ratio.dtype).mean()]
        ).to(self.ratio)
        generator = self.generators["negatives"]
        optimiser = torch.optim.Adam(network.parameters(), lr=self.settings.lr)
        steps = math.ceil(len(u) * self.settings.pairs / self.settings.batch_size)
        for step in range(self.settings.passes * steps):
            anchors, candidates, groups = directions[step % 2]
            i, j = torch.randint(len(u), (2, self.settings.batch_size), generator=generator).to(
                u.device
            )
            split = torch.isfinite(groups.threshold[i])
            i, j = i[split], j[split]
            if not len(i):
                continue
            label = groups.other(i, paired(anchors[i], candidates[j])).long()
            logits = network(network.anchors(anchors[i]) + network.candidates(candidates[j]))
            loss = classifier_loss(self.settings.estimator, logits, label, self.settings.reward)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()


def weighted_nce(
    u: Tensor, v: Tensor, tau: float, weights: WeightRows, block: int | None = None
) -> Tensor:
    """−log [e^{θ_ii/τ} / (e^{θ_ii/τ} + Σ_{j≠i} w_ij e^{θ_ij/τ})], averaged over the anchors u.

    AUGCL paper, Eq. 5.

    Args:
        u, v: each M×d, unit rows. weights: w with diagonal 1, constant in backward.
    """
    return (
        panel(u, v, 1 / tau, heads=(weights,), block=block).rows[0] - paired(u, v, 1 / tau)
    ).mean()


def _scattered(chosen: Tensor, weight: Tensor) -> WeightRows:
    """Rows of ones with the weights of the chosen candidates (M×k) in their places."""

    def rows(start: int, stop: int) -> Tensor:
        return weight.new_ones(stop - start, len(chosen)).scatter_(
            1, chosen[start:stop], weight[start:stop]
        )

    return rows


def _by_distance(anchors: Tensor, candidates: Tensor, block: int | None) -> WeightRows:
    """u_ij = β/d_ij over their mean for candidates outside the positive's group, 1 within.

    AUGCL paper, Eq. 3. β and the mean cancel: the weights do not depend on it.
    """
    groups = affinity_groups(anchors, candidates, block)

    def rows(start: int, stop: int) -> Tensor:
        similarities = anchors[start:stop] @ candidates.T
        other = groups.other(slice(start, stop), similarities)
        itself = torch.zeros_like(other)
        itself.diagonal(offset=start).fill_(True)
        other &= ~itself
        distance = (2 - 2 * similarities).clamp(min=SMALLEST_DISTANCE**2).sqrt()
        closeness = other / distance
        mean = closeness.sum(dim=1, keepdim=True) / other.sum(dim=1, keepdim=True).clamp(min=1)
        return torch.where(
            other, closeness / mean.masked_fill(mean == 0, 1.0), torch.ones_like(closeness)
        )

    return rows
