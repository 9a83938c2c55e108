"""GRACE+ (Chi and Ma 2024): positives and negatives weighted by a similarity that is fixed before
the training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Count, Positive, Range
from gclbench.contrast import blocks
from gclbench.contrast.kept_weights import rows_at_once
from gclbench.contrast.panel import KEPT_BYTES, paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.affinity import Affinity
from gclbench.negatives.refusal import WITH_EDGES
from gclbench.negatives.strategy import (
    Negatives,
    Pair,
    Report,
    WeightRows,
    check_two_nodes,
    mean_of,
)
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams


@NEGATIVES.register("grace_plus")
@dataclass(frozen=True)
class GracePlusWeights:
    """GRACE+: weights of positives and negatives from PageRank and the features' cosines.

    With R = (1−β)·PPR + β·κ·cos(x), n_ij ∝ e^{−R_ij/τ⁻} (j ≠ i, mean 1) and p_ij ∝ e^{R_ij/τ⁺} − 1
    (sum 1): ℓ_i = −log { [e^{Σ_{j≠i} p_ij ρ_ij/τ} + e^{Σ_j p_ij θ_ij/τ}] / [e^{θ_ii/τ} + Σ_{j≠i}
    n_ij (e^{ρ_ij/τ} + e^{θ_ij/τ})] }, mean of both directions. Without `intra` the ρ are left out.

    Attributes:
        tau_positive, tau_negative: τ⁺ and τ⁻. feature_share: β.
        entries: of a row of PPR that are kept, the largest ones.
        anchors: random nodes that an iteration's loss is averaged over; 0 for all.
    """

    version: ClassVar[str] = "1"
    needs_edges: ClassVar[bool] = True

    tau_positive: Positive = 0.1
    tau_negative: Positive = 0.1
    feature_share: Annotated[float, Range(least=0, most=1)] = 0.6
    entries: Count = 512
    anchors: Annotated[int, Range(least=0)] = 0

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """The stream of anchors; the similarity is computed with the first pair.

        Raises:
            Unsupported: when the graph has a single node.
        """
        check_two_nodes("grace_plus", nodes)
        return GracePlusNegatives(self, rng.torch("negatives"))


class GracePlusNegatives(Negatives):
    """The weights at work. They follow from the graph alone, so no checkpoint holds them.

    Args:
        generator: of the anchors.
    """

    def __init__(self, settings: GracePlusWeights, generator: torch.Generator):
        super().__init__()
        self.settings = settings
        self.generators = {"anchors": generator}
        self._affinity: Affinity | None = None
        self._kept: tuple[Tensor, Tensor] | None = None

    def forward(self, pair: Pair) -> Loss:
        """The same anchors for all views."""
        anchors = self._anchors(pair)
        return mean_of([self._loss(each, anchors) for each in pair.each()])

    def loss(self, pair: Pair) -> Loss:
        return self._loss(pair, self._anchors(pair))

    def report(self, pair: Pair) -> Report:
        """The weights n, mean 1."""

        def rows(start: int, stop: int) -> Tensor:
            return self._weights(pair, torch.arange(start, stop, device=pair.u.device))[0]

        return Report(weights=rows)

    def _anchors(self, pair: Pair) -> Tensor | None:
        """(A,) rows of the pair that the loss is averaged over; None for all."""
        if not 0 < self.settings.anchors < len(pair.u):
            return None
        order = torch.randperm(len(pair.u), generator=self.generators["anchors"])
        return order[: self.settings.anchors].to(pair.u.device)

    def _loss(self, pair: Pair, anchors: Tensor | None) -> Loss:
        if len(pair.u) < 2:
            return Loss(0 * (pair.u.sum() + pair.v.sum()))
        u, v, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        chosen = torch.arange(len(u), device=u.device) if anchors is None else anchors
        first, second = u.index_select(0, chosen), v.index_select(0, chosen)
        # u_1, v_1, u_2, v_2, …: a block of rows holds both directions of its nodes, whose weights
        # are the same.
        rows = torch.stack([first, second], dim=1).flatten(0, 1)
        weights = self._negative_rows(pair, chosen)
        others = panel(rows, torch.cat([u, v]), scale, (weights,), block=pair.block).rows[0]

        both, width = torch.cat([u, v], dim=1), u.shape[1]
        size = blocks.block_rows(len(chosen), len(u), 2) if pair.block is None else pair.block

        def means(start: int, stop: int) -> Tensor:
            p = self._weights(pair, chosen[start:stop])[1].to(both.dtype)
            return torch.cat([p @ both, p.gather(1, chosen[start:stop, None])], dim=1)

        mean_u, mean_v, own = blocks.by_blocks(means, len(chosen), size).split(
            [width, width, 1], dim=1
        )
        positives = [paired(first, mean_v, scale), paired(second, mean_u, scale)]
        if pair.intra:
            within = (
                paired(first, mean_u - own * first, scale),
                paired(second, mean_v - own * second, scale),
            )
            positives = [torch.logaddexp(*terms) for terms in zip(positives, within, strict=True)]
        loss = (others - torch.stack(positives, dim=1).flatten()).mean()
        return Loss(loss, {"contrast": loss.detach()})

    def _negative_rows(self, pair: Pair, chosen: Tensor) -> WeightRows:
        """Weights of the rows u_1, v_1, u_2, v_2, … with all u, then all v."""
        count = len(pair.u)

        def tile(start: int, stop: int) -> Tensor:
            first, last = start // 2, (stop + 1) // 2
            nodes = chosen[first:last]
            n = self._weights(pair, nodes)[0].to(pair.u.dtype)
            rows = n.new_zeros(len(nodes), 2, 2, count)
            rows[:, 0, 1] = rows[:, 1, 0] = n
            place = torch.arange(len(nodes), device=n.device)
            rows[place, 0, 1, nodes] = rows[place, 1, 0, nodes] = 1.0
            if pair.intra:
                rows[:, 0, 0] = rows[:, 1, 1] = n
            return rows.flatten(0, 1).flatten(1)[start - 2 * first : stop - 2 * first]

        return tile

    def _weights(self, pair: Pair, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """(n, p) of rows of the pair, by their numbers."""
        with torch.no_grad():
            count = len(pair.u)
            if pair.batch is None and count**2 * pair.u.element_size() <= KEPT_BYTES:
                if self._kept is None:
                    everyone, size = torch.arange(count).to(nodes), rows_at_once(count, count)
                    n, p = self._computed(pair, everyone[:size])
                    if size < count:
                        some, n, p = (n, p), n.new_empty(count, count), p.new_empty(count, count)
                        n[:size], p[:size] = some
                        for part in everyone[size:].split(size):
                            n[part], p[part] = self._computed(pair, part)
                    self._kept = n, p
                return self._kept[0][nodes], self._kept[1][nodes]
            return self._computed(pair, nodes)

    def _computed(self, pair: Pair, nodes: Tensor) -> tuple[Tensor, Tensor]:
        ids = nodes if pair.batch is None else pair.batch[nodes]
        similar = self._similarity(pair).rows(ids, pair.batch)
        place = torch.arange(len(nodes), device=nodes.device)
        # Any factor of a row goes out with its mean: the largest weight is 1 before.
        n = similar.clone()
        n[place, nodes] = torch.inf
        n = n.sub_(n.amin(dim=1, keepdim=True)).div_(-self.settings.tau_negative).exp_()
        n /= n.sum(dim=1, keepdim=True) / (n.shape[1] - 1)
        # The official code's bound. A sum of N such numbers is a float32.
        most = math.log(torch.finfo(torch.float32).max / (10 * similar.shape[1]))
        p = similar.clamp_(min=0.0).div_(self.settings.tau_positive).clamp_(max=most).expm1_()
        p[place, nodes] = p[place, nodes].clamp(min=1.0)
        return n, p.div_(p.sum(dim=1, keepdim=True))

    def _similarity(self, pair: Pair) -> Affinity:
        """R of the graph.

        Raises:
            Unsupported: where the base shows no features or no edges.
        """
        if self._affinity is None:
            if pair.features is None or pair.edge_index is None:
                raise Unsupported(
                    "negatives=grace_plus weights nodes by edges and features, and this method"
                    f" shows no such; {WITH_EDGES}"
                )
            self._affinity = Affinity(
                pair.features, pair.edge_index, self.settings.feature_share, self.settings.entries
            )
        return self._affinity
