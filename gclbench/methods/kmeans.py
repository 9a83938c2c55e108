"""The features themselves as the embedding: what the k-means rows of the papers cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Contrast, Embedding
from gclbench.graph.carrier import Data
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

ENTRIES_FOR_ANALYSES = 1 << 25
"""Largest N·F of which unit rows are kept for analyses: 128 MiB in float32."""


@METHODS.register("kmeans")
@dataclass(frozen=True)
class GivenFeatures:
    """The features as they are, or as `filter=…` makes them: k-means, and the filter alone.

    The KMeans row of the DMT / DMAT / DMAT-i paper; task=clustering runs the k-means. With fewer
    distinct points than clusters, each of them is a cluster and the other clusters stay empty;
    `clusters_found` counts those that do not. For task=contrast both views are the features' unit
    rows, at τ = 1: the hardness of raw and of smoothed features (Figure 6a, b of that paper).
    """

    version: ClassVar[str] = "2"
    takes_weights: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """x (N×F), not trained on anything."""
        rows = unit_rows(graph.x) if graph.x.numel() <= ENTRIES_FOR_ANALYSES else None
        return Embedding(graph.x, contrast=None if rows is None else Contrast(rows, rows, tau=1.0))
