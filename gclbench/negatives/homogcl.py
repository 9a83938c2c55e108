"""HomoGCL (Li et al. 2023): neighbours are positives, as far as their soft clusters agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Count, NonNegative, Positive
from gclbench.contrast.pair_entries import PairEntries
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.refusal import WITH_EDGES
from gclbench.negatives.strategy import Negatives, Pair, Report, check_two_nodes, mean_of
from gclbench.negatives.uniform import mean_one
from gclbench.nn.kmeans import kmeans
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams


@NEGATIVES.register("homogcl")
@dataclass(frozen=True)
class Homogcl:
    """HomoGCL: neighbours are positives as far as their soft clusters agree, and no negatives.

    p_i ∝ e^{−‖z_i − c‖²/σ} over the centres c of k-means on the embedding without augmentation, new
    ones in each iteration; s_ij = cos(p_i, p_j). With N₁, N₂ the neighbours in either view,
    ℓ_i = −log pos/(pos + neg), pos = e^{θ_ii/τ} + Σ_{j∈N₁(i)} s_ij e^{ρ_ij/τ} and
    neg = Σ_{j≠i, j∉N₁(i)} e^{ρ_ij/τ} + Σ_{j≠i, j∉N₂(i)} e^{θ_ij/τ}, mean of both directions, plus α
    times the mean squared difference of p over edges. Without `intra` neg has no ρ.

    Attributes:
        clusters: k, at most the number of nodes. steps: of k-means. sigma: σ. alpha: α.
        mean: divide the sum over neighbours by their number.
    """

    version: ClassVar[str] = "1"
    needs_edges: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    clusters: Count = 10
    steps: Count = 20
    sigma: Positive = 1e-3
    alpha: NonNegative = 1.0
    mean: bool = False

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """The seed of its k-means.

        Raises:
            Unsupported: when the graph has a single node.
        """
        check_two_nodes("homogcl", nodes)
        return HomogclNegatives(self, rng.integer("negatives"))


class HomogclNegatives(Negatives):
    """The clusters and the contrast at work.

    Attributes:
        fewest: the smallest number of distinct clusters that k-means has found so far where fewer
            came out than were asked for; 0 where that never was.
    """

    fewest: Tensor

    def __init__(self, settings: Homogcl, seed: int):
        super().__init__()
        self.settings, self.seed = settings, seed
        self.register_buffer("fewest", torch.tensor(0))

    def forward(self, pair: Pair) -> Loss:
        """One clustering for all views."""
        p = self._assigned(pair)
        return mean_of([self._loss(each, p) for each in pair.each()])

    def loss(self, pair: Pair) -> Loss:
        return self._loss(pair, self._assigned(pair))

    def report(self, pair: Pair) -> Report:
        """Weights of the inter-view negatives: 0 for v's neighbours, the others alike. The finding
        `homogcl_clusters` says of how many clusters k-means had found too few."""
        fewest = int(self.fewest)
        findings = {"homogcl_clusters": float(fewest)} if fewest else {}
        remark = (
            f"HomoGCL asked k-means for {self.settings.clusters} clusters, and the embedding had"
            f" {fewest} distinct {'row' if fewest == 1 else 'rows'} at the fewest:"
            f" negatives.clusters={max(1, fewest)} asks for no more"
        )
        near = self._neighbours(pair, 1)
        weights = mean_one(near.complement(pair.v))
        return Report(weights, findings=findings, remarks=[remark] * bool(findings))

    def _loss(self, pair: Pair, p: Tensor) -> Loss:
        u, v, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        near_u, near_v = (self._neighbours(pair, view) for view in (0, 1))
        own = paired(u, v, scale)
        # One product serves both directions: a column of the second head is an anchor of v.
        forth, back = near_v.complement(u, 0.0), near_u.transposed().complement(u, 0.0)
        across = panel(u, v, scale, (forth,), columns=True, column_heads=(back,), block=pair.block)
        losses = []
        for anchors, near, outside in (
            (u, near_u, across.rows[0]),
            (v, near_v, across.columns[0]),
        ):
            positive = near.logsumexp(
                near.similarities(anchors, anchors, scale), self._trust(near, p), own
            )
            if pair.intra:
                heads = (near.complement(u),)
                inside = panel(
                    anchors, anchors, scale, heads, skip_self=True, block=pair.block
                ).rows[0]
                outside = torch.logaddexp(outside, inside)
            losses.append(torch.logaddexp(positive, outside) - positive)
        contrast = torch.stack(losses).mean()
        terms = {"contrast": contrast.detach()}
        if not self.settings.alpha:
            return Loss(contrast, terms)
        homophily = self.settings.alpha * self._homophily(pair, p)
        return Loss(contrast + homophily, {**terms, "homophily": homophily.detach()})

    def _assigned(self, pair: Pair) -> Tensor:
        """p, M×k: with its gradient."""
        z = pair.embedding
        centres = self._centres(z, pair.step.iteration)
        # Differences of large squares would be off by more than σ.
        distance = torch.cdist(z, centres, compute_mode="donot_use_mm_for_euclid_dist")
        return torch.softmax(-distance.square() / self.settings.sigma, dim=1)

    def _centres(self, z: Tensor, iteration: int) -> Tensor:
        """Those of k-means, without empty clusters. The seed depends on the iteration alone."""
        rows = z.detach()
        if not bool(rows.isfinite().all()):
            return rows[:1] * torch.nan
        asked = min(self.settings.clusters, len(rows))
        steps, seed = self.settings.steps, (self.seed + iteration) % 2**31
        means = kmeans(rows.cpu().numpy(), asked, 1, seed, iterations=steps)
        found = torch.from_numpy(means.clusters).unique()
        if len(found) < self.settings.clusters:
            fewest = int(self.fewest)
            self.fewest.fill_(min(fewest, len(found)) if fewest else len(found))
        return torch.from_numpy(means.centres).to(z)[found.to(z.device)]

    def _trust(self, near: PairEntries, p: Tensor) -> Tensor:
        """s_ij of the pairs, divided by the number of i's neighbours where that is asked for."""
        unit = normalize(p, dim=1)
        trust = near.similarities(unit, unit, 1.0)
        return trust / near.counts[near.row] if self.settings.mean else trust

    def _homophily(self, pair: Pair, p: Tensor) -> Tensor:
        source, target = self._edges(lambda: pair.edges)
        if not len(source):
            return 0 * p.sum()
        return (p.index_select(0, source) - p.index_select(0, target)).square().mean()

    def _neighbours(self, pair: Pair, view: int) -> PairEntries:
        source, target = self._edges(lambda: pair.edges_of(view))
        return PairEntries(source, target, len(pair.u), len(pair.u))

    def _edges(self, edges: Callable[[], Tensor | None]) -> Tensor:
        """2×E'.

        Raises:
            Unsupported: where the base shows no edges.
        """
        found = edges()
        if found is None:
            raise Unsupported(
                "negatives=homogcl takes neighbours for positives, and this method shows no edges;"
                f" {WITH_EDGES}"
            )
        return found
