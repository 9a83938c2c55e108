"""What a task finds: its metrics, what makes them say little, and what says nothing would score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gclbench.tasks.cluster_metrics import adjusted_rand_index


class Scores(dict[str, float]):
    """Metrics by name, fractions.

    Attributes:
        degenerate: one sentence per way in which the result collapsed; the numbers stand, and say
            little.
        floor: by metric, what is reached without looking at the embedding: by the majority class
            of the training nodes, or by clusters dealt at random.
        clusters: (n,) of each item, where the metrics are of clusters.
    """

    def __init__(
        self,
        metrics: Mapping[str, float],
        degenerate: Iterable[str] = (),
        floor: Mapping[str, float] | None = None,
        clusters: np.ndarray | None = None,
    ):
        super().__init__(metrics)
        self.degenerate = tuple(degenerate)
        self.floor = dict(floor or {})
        self.clusters = clusters

    def since(self, earlier: Scores | None) -> dict[str, float]:
        """What these clusters have in common with an earlier look's: `stability`, their adjusted
        Rand index. It reads no label. Nothing where one of the two has no clusters, or others were
        clustered."""
        if earlier is None or earlier.clusters is None or self.clusters is None:
            return {}
        if len(earlier.clusters) != len(self.clusters):
            return {}
        return {"stability": adjusted_rand_index(earlier.clusters, self.clusters)}
