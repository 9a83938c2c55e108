"""GRAPE (Hao et al. 2024): nodes that express each other are false negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range
from gclbench.contrast.pair_entries import PairEntries
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.refusal import WITH_EDGES
from gclbench.negatives.self_expression import SelfExpression, scaled, within_hops
from gclbench.negatives.strategy import Negatives, Pair, Report, check_two_nodes
from gclbench.negatives.uniform import mean_one
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams


@NEGATIVES.register("grape")
@dataclass(frozen=True)
class Grape:
    """GRAPE: negatives count less the more their embeddings express each other within k hops.

    S = (C₊ + C₊ᵀ)/2 of the self-expression C (`self_expression.py`), learned anew every `interval`
    iterations. Scheme `mask`, S scaled to at most 1: ℓ_i = −log [ e^{θ_ii/τ} / (e^{θ_ii/τ} +
    Σ_{j≠i} (1 − S_ij)(e^{θ_ij/τ} + e^{ρ_ij/τ})) ]. Scheme `weight`: all negatives count, and
    Σ_j S_ij e^{ρ_ij/τ} is added above and below. Mean of both directions; without `intra` only
    `mask`, without the ρ.

    Attributes:
        scheme: `mask` or `weight`. hops: k. interval: iterations from one learning to the next.
        penalty: λ. balance: μ, the share of the absolute values in the penalty.
        steps: of Adam, twice in each learning. lr: of that Adam.
    """

    version: ClassVar[str] = "3"
    needs_edges: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    learns: ClassVar[bool] = False

    scheme: Annotated[str, OneOf("mask", "weight")] = "mask"
    hops: Count = 2
    interval: Count = 5
    penalty: NonNegative = 1.0
    balance: Annotated[float, Range(least=0, most=1)] = 0.5
    steps: Count = 10
    lr: Positive = 0.1

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """Streams of the start and of the scaling; the pattern is found with the first pair.

        Raises:
            Unsupported: when the graph has a single node.
        """
        check_two_nodes("grape", nodes)
        return GrapeNegatives(self, rng)


class GrapeNegatives(Negatives):
    """The self-expression and the contrast at work.

    In a batch the entries among its nodes are learned from the batch, and the others stay.
    """

    def __init__(self, settings: Grape, rng: Streams):
        super().__init__()
        self.settings = settings
        self.generators = {"start": rng.torch("negatives"), "scale": rng.torch("negatives scale")}
        self._pairs: Tensor | None = None
        self._c: Tensor | None = None
        self._active: Tensor | None = None
        self._share: Tensor | None = None
        self._entries: PairEntries | None = None

    def update(self, pair: Pair) -> None:
        """Learns C of the embedding without augmentation, when its iteration has come."""
        if (pair.step.iteration - 1) % self.settings.interval:
            return
        pairs, chosen = self._pattern(pair)
        c, active = self._state(pair)
        part = slice(None) if chosen is None else chosen
        with torch.no_grad():
            z = pair.embedding.to(c.dtype)
            expression = SelfExpression(
                pairs,
                c[part],
                active[part],
                len(pair.u),
                self._inputs(pair),
                self.settings.penalty,
                self.settings.balance,
            )
            expression.fit(z, self.settings.steps, self.settings.lr)
            share = expression.symmetric()
            if self.settings.scheme == "mask":
                share = scaled(share, self.generators["scale"])
            # New tensors: a state that was kept before holds the old ones.
            known = torch.zeros_like(c) if self._share is None else self._share
            self._c = _replaced(c, part, expression.value)
            self._active = _replaced(active, part, expression.active)
            self._share = _replaced(known.to(c.device), part, share)
        self._entries = None

    def loss(self, pair: Pair) -> Loss:
        u, v, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        near, own = self._near(pair), paired(u, v, scale)
        masks = self.settings.scheme == "mask"
        less = near.complement(u)
        # S is symmetric: the columns of one product are the other direction.
        across = panel(u, v, scale, (less if masks else None,), columns=True, block=pair.block)
        # An S in the positives is in the denominator once more.
        inside = less if masks else near.times(-1.0).complement(u)
        losses = []
        for anchors, below in ((u, across.rows[0]), (v, across.columns[0])):
            above = own
            if not masks:
                values = near.similarities(anchors, anchors, scale)
                above = near.logsumexp(values, near.numbers(values), own)
            if pair.intra:
                within = panel(
                    anchors,
                    anchors,
                    scale,
                    (inside,),
                    skip_self=True,
                    symmetric=True,
                    block=pair.block,
                ).rows[0]
                below = torch.logaddexp(below, within)
            elif not masks:
                raise Unsupported(
                    "negatives.scheme=weight takes nodes of the same view for positives, and this"
                    " method contrasts none (method.intra=false); negatives.scheme=mask does not"
                )
            losses.append(below - above)
        contrast = torch.stack(losses).mean()
        return Loss(contrast, {"contrast": contrast.detach()})

    def report(self, pair: Pair) -> Report:
        """The weights 1 − S, their mean 1, and the finding `grape_masked`: the mean of S over all
        pairs of different nodes. Under the scheme `weight` the weights are 1."""
        count = len(pair.u)
        if self.settings.scheme != "mask":
            return Report(lambda start, stop: pair.v.new_ones(stop - start, count))
        near = self._near(pair)
        masked = float(near.numbers(pair.v).sum()) / max(1, count * (count - 1))
        return Report(mean_one(near.complement(pair.v)), findings={"grape_masked": masked})

    def get_extra_state(self) -> dict[str, Any]:
        return {
            **super().get_extra_state(),
            "c": self._c,
            "active": self._active,
            "share": self._share,
        }

    def set_extra_state(self, state: Any) -> None:
        super().set_extra_state(state)
        self._c, self._active, self._share = state["c"], state["active"], state["share"]
        self._entries = None

    def _near(self, pair: Pair) -> PairEntries:
        """S among the rows of the pair, its entries that are not 0."""
        if self._entries is not None and not pair.is_batch:
            return self._entries
        count = len(pair.u)
        if self._share is None:
            none = torch.zeros(0, dtype=torch.int64, device=pair.u.device)
            return PairEntries(none, none, count, count, pair.u.new_zeros(0))
        pairs, chosen = self._pattern(pair)
        share = self._share.to(pair.u.device)
        share = share if chosen is None else share[chosen]
        kept = share != 0
        entries = PairEntries(pairs[0][kept], pairs[1][kept], count, count, share[kept])
        if not pair.is_batch:
            self._entries = entries
        return entries

    def _pattern(self, pair: Pair) -> tuple[Tensor, Tensor | None]:
        """2×P' pairs among the rows of the pair, sorted, and which of the graph's they are.

        Raises:
            Unsupported: where the base shows no edges, or the pairs are too many.
        """
        if pair.edge_index is None:
            raise Unsupported(
                "negatives=grape looks for false negatives within hops of the graph, and this"
                f" method shows no edges; {WITH_EDGES}"
            )
        nodes = pair.nodes if pair.nodes is not None else len(pair.u)
        if self._pairs is None:
            self._pairs = within_hops(pair.edge_index, nodes, self.settings.hops)
        if pair.batch is None:
            return self._pairs, None
        place = torch.full((nodes,), -1, dtype=torch.int64, device=self._pairs.device)
        place[pair.batch] = torch.arange(len(pair.batch), device=place.device)
        among = place[self._pairs]
        chosen = (among >= 0).all(dim=0).nonzero()[:, 0]
        among = among[:, chosen]
        order = torch.argsort(among[0] * len(pair.batch) + among[1])
        return among[:, order], chosen[order]

    def _state(self, pair: Pair) -> tuple[Tensor, Tensor]:
        """C and the active set: at first normal deviates, and the edges."""
        pairs = self._pairs
        assert pairs is not None and pair.edge_index is not None
        if self._c is None or self._active is None:
            nodes = pair.nodes if pair.nodes is not None else len(pair.u)
            self._c = torch.randn(pairs.shape[1], generator=self.generators["start"]).to(
                pairs.device
            )
            joined = pair.edge_index[0] * nodes + pair.edge_index[1]
            self._active = torch.isin(pairs[0] * nodes + pairs[1], joined)
        self._c, self._active = self._c.to(pairs.device), self._active.to(pairs.device)
        return self._c, self._active

    def _inputs(self, pair: Pair) -> int:
        """F, 1 where the base shows no features."""
        return 1 if pair.features is None else pair.features.shape[1]


def _replaced(old: Tensor, part: Tensor | slice, new: Tensor) -> Tensor:
    """A copy of `old` with `new` in its places `part`."""
    copy = old.clone()
    copy[part] = new
    return copy
