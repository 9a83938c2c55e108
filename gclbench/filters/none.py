"""No filter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gclbench.component.registry import FILTERS
from gclbench.filters.filtered import Filtered
from gclbench.graph.carrier import Data


@FILTERS.register("none")
@dataclass(frozen=True)
class NoFilter:
    """The features as they are."""

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    def apply(self, graph: Data, device: str = "cpu", folder: Path | None = None) -> Filtered:
        """The graph's own x (N×F), not copied."""
        return Filtered(graph.x)
