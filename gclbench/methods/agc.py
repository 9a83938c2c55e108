"""AGC: attributed graph clustering via adaptive graph convolution (Zhang et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.filters.agc import STRENGTH
from gclbench.filters.symmetric import SymmetricAdjacency
from gclbench.graph.carrier import Data
from gclbench.methods.adaptive_smoothing import AdaptiveSmoothing, Powers
from gclbench.methods.clusters import leading_directions


@METHODS.register("agc")
@dataclass(frozen=True)
class Agc(AdaptiveSmoothing):
    """AGC: leading singular vectors of features smoothed to where their clusters are tightest.

    The features are ((I + S)/2)^k X, with k by the spread of their clusters. The embedding is the K
    leading left singular vectors of the smoothed features (N×K); with fewer dimensions than
    clusters there are fewer of them, and one without a singular value is zero.
    """

    def power(self, graph: Data) -> Callable[[Tensor], Tensor]:
        """x ← (x + S x)/2."""
        adjacency = SymmetricAdjacency(graph.edge_index, graph.num_nodes, True, graph.edge_weight)
        return lambda x: adjacency.towards(x, STRENGTH)

    def represented(
        self, powers: Powers, order: int, k: int, start: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """The singular vectors are clustered; the spread is that of the smoothed features."""
        return leading_directions(powers.x, k, start)[0], powers.x
