"""A strategy for negatives of another package, and a method that is a pair with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.settings import Positive
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.methods.grace import Grace
from gclbench.negatives.strategy import Negatives
from gclbench.training.loop import Loss


@dataclass(frozen=True)
class ConstantWeight:
    """Every negative has the same weight."""

    version: ClassVar[str] = "1"

    weight: Positive = 2.0

    def build(self, width, nodes, rng, device) -> Negatives:
        return ConstantNegatives(self.weight)


class ConstantNegatives(Negatives):
    def __init__(self, weight: float):
        super().__init__()
        self.weight = weight

    def loss(self, pair) -> Loss:
        u, v, scale = unit_rows(pair.u), unit_rows(pair.v), 1 / pair.tau

        def weights(start, stop):
            rows = u.new_full((stop - start, len(v)), self.weight)
            rows.diagonal(offset=start).fill_(1.0)
            return rows

        return Loss((panel(u, v, scale, (weights,)).rows[0] - paired(u, v, scale)).mean())


@dataclass(frozen=True)
class WeightedGrace(Grace):
    """GRACE with negatives of constant weight."""

    negatives: ClassVar[str] = "constant_weight"
    paper: ClassVar = {"ring_of_cliques": {"tau": 0.25, "constant_weight.weight": 3.0}}
