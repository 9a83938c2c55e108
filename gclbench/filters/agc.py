"""The filter of AGC: adaptive graph convolution (Zhang et al. 2019), at an order that is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from gclbench.component.registry import FILTERS
from gclbench.component.settings import Range
from gclbench.filters.filtered import Filtered
from gclbench.filters.laplacian import laplacian_smoothing
from gclbench.graph.carrier import Data

STRENGTH = 0.5
"""G = (I + S)/2 = I − L/2."""


@FILTERS.register("agc")
@dataclass(frozen=True)
class AgcFilter:
    """AGC's low-pass filter: ((I + S)/2)^k X, S with self-loops; method=agc finds k itself

    Attributes:
        order: k; 0 leaves the features as they are.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True

    order: Annotated[int, Range(least=0)] = 12

    def apply(self, graph: Data, device: str = "cpu", folder: Path | None = None) -> Filtered:
        """Filters x (N×F float32), always on the CPU; device and folder are not used."""
        return laplacian_smoothing(graph, self.order, STRENGTH)
