"""SSGC: simple spectral graph convolution (S²GC, Zhu and Koniusz 2021), its clustering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, OneOf
from gclbench.filters.symmetric import SymmetricAdjacency
from gclbench.graph.carrier import Data
from gclbench.methods.adaptive_smoothing import AdaptiveSmoothing, Powers
from gclbench.methods.clusters import leading_directions


@METHODS.register("ssgc")
@dataclass(frozen=True)
class Ssgc(AdaptiveSmoothing):
    """SSGC: leading directions of the mean of the first powers S^k X of smoothed features.

    There are as many powers as make the clusters tightest. S is without self-loops, as in its
    clustering code; only an isolated node has one, and so keeps its features. A node without
    features in its neighbourhood comes out as zero.

    Attributes:
        dimensions: right singular vectors that the smoothed features are projected on; rows are
            then scaled to unit length.
        output: `projected`, those unit rows; `filtered`, the smoothed features at the same order
            (a control of link prediction in the DMT / DMAT / DMAT-i paper, whose row is
            `filter=ssgc`).
    """

    dimensions: Count = 16
    output: Annotated[str, OneOf("projected", "filtered")] = "projected"

    def power(self, graph: Data) -> Callable[[Tensor], Tensor]:
        """x ← S x."""
        return SymmetricAdjacency(
            graph.edge_index, graph.num_nodes, False, graph.edge_weight
        ).product

    def represented(
        self, powers: Powers, order: int, k: int, start: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """The projection's unit rows, for both."""
        powers.total = powers.x.clone() if order == 1 else powers.total + powers.x
        # X V = U Σ: the projection on the right singular vectors. The mean's factor 1/K does not
        # change unit rows.
        left, values = leading_directions(powers.total, self.dimensions, start)
        rows = normalize(left * values, dim=1)
        return rows, rows

    def embedded(self, powers: Powers, order: int, z: Tensor) -> Tensor:
        """Those rows, or the mean of the powers."""
        return z if self.output == "projected" else powers.total / order
