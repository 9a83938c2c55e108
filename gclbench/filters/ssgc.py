"""The filter of S²GC: simple spectral graph convolution (Zhu and Koniusz 2021)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import FILTERS
from gclbench.component.settings import Count, Range
from gclbench.filters.filtered import Filtered
from gclbench.filters.symmetric import SymmetricAdjacency, by_columns
from gclbench.graph.carrier import Data


@FILTERS.register("ssgc")
@dataclass(frozen=True)
class SsgcFilter:
    """S²GC: α X + (1−α)/K Σ_{k=1…K} S^k X, the mean of the first K powers of the adjacency matrix.

    Attributes:
        order: K. alpha: weight α of the features themselves.
        self_loops: S of A + I (its classification code) or of A (its clustering code; isolated
            nodes have a loop there too).
        normalize_features: divide each row of the features by its absolute sum first (its
            classification code).
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True

    order: Count = 16
    alpha: Annotated[float, Range(least=0, most=1)] = 0.05
    self_loops: bool = True
    normalize_features: bool = True

    def apply(self, graph: Data, device: str = "cpu", folder: Path | None = None) -> Filtered:
        """Filters x (N×F float32), always on the CPU; device and folder are not used."""
        started = time.perf_counter()
        adjacency = SymmetricAdjacency(
            graph.edge_index, graph.num_nodes, self.self_loops, graph.edge_weight
        )
        size = (
            torch.linalg.vector_norm(graph.x, ord=1, dim=1, keepdim=True)
            if self.normalize_features
            else None
        )

        def smooth(x: Tensor) -> Tensor:
            if size is not None:
                x = x / size.masked_fill(size == 0, 1.0)
            power, total = x, torch.zeros_like(x)
            for _ in range(self.order):
                power = adjacency.product(power)
                total += power
            return self.alpha * x + (1.0 - self.alpha) / self.order * total

        x = by_columns(graph.x, smooth)
        return Filtered(
            x,
            {
                "solver": "powers",
                "sweeps": self.order,
                "seconds": round(time.perf_counter() - started, 6),
            },
        )
