"""ProGCL (Xia et al. 2022): negatives weighted or mixed by how probably they are true ones.

On graphs the most similar negatives are mostly false. The similarities of two views, once they mean
something, are taken for a mixture of two Beta distributions, of true and of false negatives; B_ij =
P(true | s_ij)·s_ij with s = (θ + 1)/2 is large for those that are hard and true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Range
from gclbench.contrast import blocks
from gclbench.contrast.kept_weights import kept_matrix, rows_of
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.probable_negatives import FITTED, Fit, ProbableNegatives
from gclbench.negatives.strategy import Negatives, Pair, WeightRows
from gclbench.negatives.uniform import ones
from gclbench.training.streams import Streams

BOTH = "both directions"
"""Where the weights of both directions are kept."""


@NEGATIVES.register("progcl_weight")
@dataclass(frozen=True)
class ProgclWeight(Fit):
    """ProGCL-weight: after a warm-up, negatives weighted by hardness times probability to be true.

    ℓ_i = −log [ e^{θ_ii/τ} / (e^{θ_ii/τ} + Σ_{j≠i} b_ij (e^{θ_ij/τ} + e^{ρ_ij/τ})) ], b_ij = B_ij /
    mean_{j≠i} B_ij, mean of both directions. The mixture is fitted and B taken once, at iteration
    `start_epoch` or after half of the iterations if that is sooner; before, and where the sample
    has no two components, the weights are 1.

    Attributes:
        start_epoch: iteration of the fit. high_weight: initial share w₀ of false negatives.
            em_steps: EM steps.
        sampled_columns: the fit sees the similarities of all anchors with that many nodes.
    """

    version: ClassVar[str] = "2"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """Room for the reference embeddings (2·N·d numbers).

        Raises:
            Unsupported: when the graph has fewer than three nodes.
        """
        return WeightedNegatives(
            self, width, _enough(nodes, "progcl_weight"), rng.torch("negatives")
        )


@NEGATIVES.register("progcl_mix")
@dataclass(frozen=True)
class ProgclMix(Fit):
    """ProGCL-mix: after a warm-up, mixtures of the hardest true negatives are added to all others.

    The `selected` negatives of largest B of each anchor are paired by one random permutation, drawn
    anew for each direction and iteration; (B_a·θ_a + B_b·θ_b)/(B_a + B_b) is the similarity of the
    mixture of a and b. The rest is as in `progcl_weight`.

    Attributes:
        selected: negatives that are mixed, at most all of them. start_epoch, high_weight, em_steps,
            sampled_columns: as in `progcl_weight`.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    selected: Annotated[int, Range(least=2)] = 1000

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """Room for the reference embeddings (2·N·d numbers).

        Raises:
            Unsupported: when the graph has fewer than three nodes.
        """
        return MixedNegatives(self, width, _enough(nodes, "progcl_mix"), rng.torch("negatives"))


def _enough(nodes: int, name: str) -> int:
    if nodes < 3:
        raise Unsupported(
            f"negatives={name} needs two negatives for an anchor, hence three nodes, and this graph"
            f" has {nodes}; negatives=uniform needs two"
        )
    return nodes


class WeightedNegatives(ProbableNegatives):
    """ProGCL-weight at work."""

    settings: ProgclWeight

    def _directions(self, pair: Pair) -> tuple[Tensor, Tensor]:
        """Both at once where the weights are kept: a product serves u's anchors and v's."""
        kept = self._matrices(pair)
        if not kept:
            return super()._directions(pair)
        u, v, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        (forth, forth_turned), (back, back_turned) = kept
        across = panel(
            u,
            v,
            scale,
            (rows_of(forth),),
            columns=True,
            column_heads=(rows_of(back_turned),),
            block=pair.block,
        )
        of_u, of_v = across.rows[0], across.columns[0]
        if pair.intra:

            def within(z: Tensor, b: Tensor, turned: Tensor) -> Tensor:
                return panel(
                    z,
                    z,
                    scale,
                    (rows_of(b),),
                    skip_self=True,
                    symmetric=True,
                    column_heads=(rows_of(turned),),
                    block=pair.block,
                ).rows[0]

            of_u = torch.logaddexp(of_u, within(u, forth, forth_turned))
            of_v = torch.logaddexp(of_v, within(v, back, back_turned))
        own = paired(u, v, scale)
        return of_u - own, of_v - own

    def _matrices(self, pair: Pair) -> tuple[tuple[Tensor, Tensor], ...]:
        """Of each direction b, with 1 at the positive, and its transpose, M×M; none where they
        differ from step to step or are too large to keep."""
        if not self._is_fixed(pair):
            return ()
        if BOTH not in self._kept:
            count = len(pair.u)
            found = (
                kept_matrix(self._scaled(pair, forth), count, count) for forth in (True, False)
            )
            # Turned once: columns of a matrix in memory are slow to read.
            self._kept[BOTH] = tuple(
                (b.fill_diagonal_(1.0), b.T.contiguous()) for b in found if b is not None
            )
        matrices: tuple[tuple[Tensor, Tensor], ...] = self._kept[BOTH]
        return matrices

    def _direction(self, pair: Pair, forth: bool) -> Tensor:
        anchors, candidates, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        # Both kinds of pairs of an anchor in one panel: b, which is costly where it is not kept, is
        # then computed once for both.
        everything = torch.cat([candidates, anchors]) if pair.intra else candidates
        others = panel(
            anchors, everything, scale, (self._weights(pair, forth, pair.intra),), block=pair.block
        ).rows[0]
        return others - paired(anchors, candidates, scale)

    def _report_weights(self, pair: Pair) -> WeightRows:
        if int(self.state) != FITTED:
            return ones(pair)
        return self._weights(pair, forth=True, within=False)

    def _weights(self, pair: Pair, forth: bool, within: bool) -> WeightRows:
        """b of those anchors' inter-view pairs, in which the positive has 1; if `within`, followed
        by b of the intra-view ones."""
        kept = self._matrices(pair)
        negative = rows_of(kept[0 if forth else 1][0]) if kept else self._scaled(pair, forth)

        def rows(start: int, stop: int) -> Tensor:
            b = negative(start, stop)
            both = torch.cat([b, b], dim=1) if within else b.clone()
            both.diagonal(offset=start).fill_(1.0)
            if within:
                both.diagonal(offset=start + b.shape[1]).zero_()
            return both

        return rows

    def _scaled(self, pair: Pair, forth: bool) -> WeightRows:
        """b of those anchors' inter-view pairs, 0 at the positive."""
        hardness = self._hardness(pair, forth)

        def rows(start: int, stop: int) -> Tensor:
            b = hardness(start, stop)
            b /= b.sum(dim=1, keepdim=True) / (b.shape[1] - 1)
            return b

        return rows


class MixedNegatives(ProbableNegatives):
    """ProGCL-mix at work."""

    settings: ProgclMix

    def _direction(self, pair: Pair, forth: bool) -> Tensor:
        anchors, candidates, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        others = panel(anchors, candidates, scale, block=pair.block).rows[0]
        if pair.intra:
            within = panel(anchors, anchors, scale, skip_self=True, block=pair.block).rows[0]
            others = torch.logaddexp(others, within)
        mixed = self._mixed(anchors, candidates, scale, self._hardest(pair, forth), pair.block)
        return torch.logaddexp(others, mixed) - paired(anchors, candidates, scale)

    def _mixed(
        self,
        anchors: Tensor,
        candidates: Tensor,
        scale: float,
        hardest: Callable[[int, int], tuple[Tensor, Tensor]],
        block: int | None,
    ) -> Tensor:
        """log Σ over mixtures of e^{their similarity/τ}, (M,)."""
        count = min(self.settings.selected, len(candidates) - 1)
        partner = torch.randperm(count, generator=self.generators["draws"]).to(anchors.device)

        def rows(start: int, stop: int) -> Tensor:
            index, b = hardest(start, stop)
            similarities = (anchors[start:stop] @ candidates.T).gather(1, index)
            other = b[:, partner]
            share = b / (b + other)
            mixtures = share * similarities + (1 - share) * similarities[:, partner]
            return torch.logsumexp(scale * mixtures, dim=1)

        size = (
            blocks.block_rows(len(anchors), len(candidates), per_entry=2)
            if block is None
            else block
        )
        return blocks.by_blocks(rows, len(anchors), size)

    def _hardest(self, pair: Pair, forth: bool) -> Callable[[int, int], tuple[Tensor, Tensor]]:
        """(start, stop) → indices and B of those anchors' hardest negatives, B×selected each."""
        hardness = self._hardness(pair, forth)
        count = min(self.settings.selected, len(pair.v) - 1)

        def rows(start: int, stop: int) -> tuple[Tensor, Tensor]:
            b = hardness(start, stop)
            # The positive is out, however few true negatives there are.
            b.diagonal(offset=start).fill_(-1.0)
            best = b.topk(count, dim=1)
            # Two negatives of no weight at all share equally.
            return best.indices, best.values.clamp(min=torch.finfo(b.dtype).tiny)

        def everything() -> tuple[Tensor, Tensor]:
            size = blocks.block_rows(len(pair.u), len(pair.v))
            parts = [
                rows(start, min(start + size, len(pair.u))) for start in range(0, len(pair.u), size)
            ]
            return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

        kept = self._once(pair, forth, len(pair.u) * count, everything)
        if kept is None:
            return rows
        return lambda start, stop: (kept[0][start:stop], kept[1][start:stop])

    def _once(self, pair: Pair, key: Any, entries: int, compute: Callable[[], Any]) -> Any | None:
        """What is the same in every iteration, computed at the first call; None where it is too
        large to keep or differs."""
        if not self._is_fixed(pair) or entries > blocks.KEPT_ENTRIES:
            return None
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]
