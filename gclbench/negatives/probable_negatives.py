"""What ProGCL's two strategies have in common: the warm-up, the fit of a mixture, and B.

B_ij = P(true | s_ij)·s_ij with s = (θ + 1)/2, from the mixture of two Beta distributions that the
similarities of two views are taken for (Xia et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from gclbench.component.settings import Count, Range
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.beta_mixture import BetaMixture, DegenerateMixture
from gclbench.negatives.strategy import Negatives, Pair, Report, WeightRows
from gclbench.negatives.uniform import UniformNegatives
from gclbench.training.loop import Loss

WARMING, FITTED, DEGENERATE = 0, 1, 2
"""Before the fit; after it; after a fit that found no mixture."""

STAYED_UNIFORM = {
    "progcl_degenerate": (
        "ProGCL found no two components in the similarities: its negatives stayed uniform"
    ),
    "progcl_unfitted": (
        "ProGCL never fitted its mixture, as no batch had three nodes: its negatives stayed uniform"
    ),
}
"""Finding to the remark on it."""


@dataclass(frozen=True)
class Fit:
    """Settings that both strategies have.

    Attributes:
        start_epoch: iteration of the fit. high_weight: initial share w₀ of false negatives.
            em_steps: EM steps.
        sampled_columns: the fit sees the similarities of all anchors with that many nodes.
    """

    start_epoch: Count = 400
    high_weight: Annotated[float, Range(above=0, below=1)] = 0.05
    em_steps: Count = 10
    sampled_columns: Count = 100


class ProbableNegatives(Negatives):
    """What both have: the warm-up, the fit, and B from the embeddings of the fit's iteration.

    Args:
        generator: of the sampled columns and the permutations, on the CPU.
    """

    components: Tensor
    state: Tensor
    referenced: Tensor
    reference_u: Tensor
    reference_v: Tensor

    def __init__(self, settings: Fit, width: int, nodes: int, generator: torch.Generator):
        super().__init__()
        self.settings = settings
        self.generators = {"draws": generator}
        self.register_buffer("state", torch.tensor(WARMING))
        self.register_buffer("components", torch.zeros(2, 3, dtype=torch.float64))
        self.register_buffer("referenced", torch.tensor(False))
        # Unit rows of both views when the mixture was fitted: 2·N·d numbers in place of the N² that
        # B has.
        self.register_buffer("reference_u", torch.zeros(nodes, width))
        self.register_buffer("reference_v", torch.zeros(nodes, width))
        self._kept: dict[Any, Any] = {}

    def start(self, pair: Pair) -> int:
        """The iteration of the fit."""
        return min(self.settings.start_epoch, pair.step.total // 2 + 1)

    def update(self, pair: Pair) -> None:
        """Fits the mixture when its iteration has come; the reference embeddings are those of this
        pair, if it has all nodes."""
        if int(self.state) != WARMING or pair.step.iteration < self.start(pair) or len(pair.u) < 3:
            return
        u, v = unit_rows(pair.u), unit_rows(pair.v)
        try:
            mixture = BetaMixture.fit(
                self._sample(u, v), self.settings.high_weight, self.settings.em_steps
            )
        except DegenerateMixture:
            self.state.fill_(DEGENERATE)
            return
        self.components.copy_(torch.tensor([mixture.low, mixture.high]))
        if not pair.is_batch:
            self.reference_u, self.reference_v = u.clone(), v.clone()
            self.referenced.fill_(True)
        self.state.fill_(FITTED)
        self._kept = {}

    def loss(self, pair: Pair) -> Loss:
        if int(self.state) == FITTED and len(pair.u) > 2:
            forth, back = self._directions(pair)
            contrast = 0.5 * (forth + back).mean()
        else:
            contrast = UniformNegatives()(pair).value
        final = int(self.state) != WARMING
        return Loss(contrast, {"contrast": contrast.detach()}, final=final)

    def report(self, pair: Pair) -> Report:
        """Weights, where it has any, and a finding on the fit.

        `progcl_degenerate` is 1 where the fit found no two components. `progcl_unfitted` is 1 where
        its time came and there was no fit. In both cases the negatives stayed uniform.
        """
        findings = self._findings(pair)
        remarks = [text for name, text in STAYED_UNIFORM.items() if findings.get(name)]
        return Report(self._report_weights(pair), findings=findings, remarks=remarks)

    def _findings(self, pair: Pair) -> dict[str, float]:
        if int(self.state) != WARMING:
            return {"progcl_degenerate": float(int(self.state) == DEGENERATE)}
        due = pair.step.total and pair.step.iteration >= self.start(pair)
        return {"progcl_unfitted": 1.0} if due else {}

    def _report_weights(self, pair: Pair) -> WeightRows | None:
        """The weights of the anchors' inter-view negatives, None where it has none."""
        return None

    def set_extra_state(self, state: Any) -> None:
        super().set_extra_state(state)
        self._kept = {}

    def _directions(self, pair: Pair) -> tuple[Tensor, Tensor]:
        """ℓ_i of the nodes as anchors in the first view, and in the second, (M,) each."""
        return self._direction(pair, forth=True), self._direction(pair.swapped(), forth=False)

    def _direction(self, pair: Pair, forth: bool) -> Tensor:
        """ℓ_i of the nodes of pair.u as anchors, (M,). forth: they are those of the first view."""
        raise TypeError(f"{type(self).__name__} defines no loss")

    def _sample(self, u: Tensor, v: Tensor) -> Tensor:
        """(θ + 1)/2 of all anchors with a few nodes, without positives."""
        count = len(v)
        chosen = torch.randperm(count, generator=self.generators["draws"])[
            : self.settings.sampled_columns
        ].to(u.device)
        similarities = u @ v[chosen].T
        negative = chosen[None] != torch.arange(count, device=u.device)[:, None]
        return (similarities[negative] + 1) / 2

    def _hardness(self, pair: Pair, forth: bool) -> WeightRows:
        """(start, stop) → B of those anchors, 0 at the positive; a row of zeros becomes ones."""
        low, high = self.components.tolist()
        mixture = BetaMixture(tuple(low), tuple(high))
        if self._is_fixed(pair):
            anchors, candidates = (
                (self.reference_u, self.reference_v)
                if forth
                else (self.reference_v, self.reference_u)
            )
        else:
            anchors, candidates = unit_rows(pair.u.detach()), unit_rows(pair.v.detach())

        def rows(start: int, stop: int) -> Tensor:
            with torch.no_grad():
                similar = (anchors[start:stop] @ candidates.T).add_(1).div_(2).clamp_(0, 1)
                b = mixture.low_probability(similar).mul_(similar)
                b.diagonal(offset=start).zero_()
                empty = b.sum(dim=1) < torch.finfo(b.dtype).tiny
                b[empty] = 1.0
                b.diagonal(offset=start).zero_()
                return b

        return rows

    def _is_fixed(self, pair: Pair) -> bool:
        """Whether B is that of the fit's iteration; in a batch, and after a fit to a batch, it is
        that of the pair itself."""
        return bool(self.referenced) and not pair.is_batch
