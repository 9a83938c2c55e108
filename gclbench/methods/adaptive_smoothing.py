"""Smoothing until clusters stop getting tighter: what AGC and SSGC share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from gclbench.component.settings import Count
from gclbench.embedding import Embedding
from gclbench.filters.symmetric import by_columns
from gclbench.graph.carrier import Data
from gclbench.methods.clusters import number_of_clusters, partition, spread
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@dataclass(frozen=True)
class AdaptiveSmoothing:
    """Smooths by one power more at a time while the clusters' spread falls; labels have no part in
    it.

    Attributes:
        clusters: number of clusters K; None takes the dataset's number of classes.
        max_order: powers at most.
        repetitions: of the k-means whose mean spread is compared. n_init: restarts of each.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    clusters: Count | None = None
    max_order: Count = 60
    repetitions: Count = 10
    n_init: Count = 10

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Embeds every node at the last order before the spread rises for the first time, or at
        `max_order`.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read.

        Raises:
            Unsupported: when the number of clusters is not known, or larger than the number of
                nodes.
        """
        k = number_of_clusters(graph, self.clusters, type(self).__name__.lower())
        step = self.power(graph)
        powers, start = Powers(graph.x), rng.numpy("kmeans_in_fit")
        for order in watch.iterations(self.max_order, powers=powers, start=start):
            powers.x = by_columns(powers.x, step)
            z, measured = self.represented(powers, order, k, start)
            spreads = [
                spread(measured, partition(z, k, self.n_init, int(start.integers(2**31))).clusters)
                for _ in range(self.repetitions)
            ]
            found = math.fsum(spreads) / self.repetitions
            watch(order, self.max_order, found)
            if found > powers.spread:
                break
            powers.spread, powers.z = found, self.embedded(powers, order, z)
        return Embedding(powers.z)

    def power(self, graph: Data) -> Callable[[Tensor], Tensor]:
        """From one power of the smoothed features to the next, any columns of them (N×F')."""
        raise TypeError(f"{type(self).__name__} defines no power")

    def represented(
        self, powers: Powers, order: int, k: int, start: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """What is clustered at an order (N×c), and what its clusters' spread is taken of (N×c')."""
        raise TypeError(f"{type(self).__name__} defines no representation")

    def embedded(self, powers: Powers, order: int, z: Tensor) -> Tensor:
        """What is returned for an order whose clustered representation is z."""
        return z


class Powers:
    """How far the smoothing is.

    Attributes:
        x: the present power (N×F). total: the sum of those so far, for a method that takes their
            mean.
        z: the embedding with the least spread. spread: its spread.
    """

    def __init__(self, x: Tensor):
        self.x = x
        self.total = torch.zeros(0)
        self.z = torch.zeros(0)
        self.spread = math.inf

    def state_dict(self) -> dict[str, Any]:
        """All of it."""
        return {"x": self.x, "total": self.total, "z": self.z, "spread": self.spread}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        device = self.x.device
        self.x, self.total, self.z = (state[name].to(device) for name in ("x", "total", "z"))
        self.spread = float(state["spread"])
