"""Laplacian smoothing, the filter of AGE (Cui et al. 2020)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from torch import Tensor

from gclbench.component.registry import FILTERS
from gclbench.component.settings import Range
from gclbench.filters.filtered import Filtered
from gclbench.filters.symmetric import SymmetricAdjacency, by_columns
from gclbench.graph.carrier import Data


@FILTERS.register("laplacian")
@dataclass(frozen=True)
class Laplacian:
    """Laplacian smoothing of AGE: (I − s L)^t X, L = I − S of the graph with self-loops.

    Attributes:
        order: t; 0 leaves the features as they are.
        strength: s, AGE's k; 2/3 is its fixed value, 1/2 is AGC's filter.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True

    order: Annotated[int, Range(least=0)] = 3
    strength: Annotated[float, Range(above=0, most=1)] = 2 / 3

    def apply(self, graph: Data, device: str = "cpu", folder: Path | None = None) -> Filtered:
        """Filters x (N×F float32), always on the CPU; device and folder are not used."""
        return laplacian_smoothing(graph, self.order, self.strength)


def laplacian_smoothing(graph: Data, order: int, strength: float) -> Filtered:
    """(I − s L)^t X of a graph on the CPU, in slices of columns."""
    started = time.perf_counter()
    adjacency = SymmetricAdjacency(graph.edge_index, graph.num_nodes, True, graph.edge_weight)

    def smooth(x: Tensor) -> Tensor:
        for _ in range(order):
            x = adjacency.towards(x, strength)
        return x

    x = by_columns(graph.x, smooth)
    return Filtered(
        x, {"solver": "powers", "sweeps": order, "seconds": round(time.perf_counter() - started, 6)}
    )
