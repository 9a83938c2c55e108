"""A method of another package: the whole of what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from gclbench.component.settings import Count
from gclbench.embedding import Embedding


@dataclass(frozen=True)
class RandomProjection:
    """Features times a random Gaussian matrix."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    filter: ClassVar[str] = "agc"
    paper: ClassVar[Mapping[str, Mapping[str, Any]]] = {"digits": {"dimension": 12, "agc.order": 3}}

    dimension: Count = 16

    def fit(self, graph, labels, rng, watch) -> Embedding:
        """N×dimension."""
        matrix = torch.randn(graph.x.shape[1], self.dimension, generator=rng.torch("projection"))
        return Embedding(graph.x @ matrix.to(graph.x.device) / self.dimension**0.5)
