"""A method of another package: the whole of what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from gclbench.component.settings import Count
from gclbench.embedding import Embedding


@dataclass(frozen=True)
class RandomProjection:
    """Features times a random Gaussian matrix."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False

    dimension: Count = 16

    def fit(self, graph, labels, rng, watch) -> Embedding:
        """N×dimension."""
        matrix = torch.randn(graph.x.shape[1], self.dimension, generator=rng.torch("projection"))
        return Embedding(graph.x @ matrix.to(graph.x.device) / self.dimension**0.5)
