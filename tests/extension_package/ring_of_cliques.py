"""A dataset of another package: the whole of what it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gclbench.component.settings import Count
from gclbench.graph import Graph, make_graph


@dataclass(frozen=True)
class RingOfCliques:
    """Cliques joined in a ring by one edge each; a node's class is its clique."""

    cliques: Count = 6
    size: Count = 10

    def load(self) -> Graph:
        """N = cliques·size nodes; features are the class one-hot plus noise (N×cliques)."""
        y = np.repeat(np.arange(self.cliques), self.size)
        inside = np.stack(np.nonzero(np.triu(y[:, None] == y, 1)))
        first = np.arange(self.cliques) * self.size
        ring = np.stack([first, (first + 2 * self.size - 1) % y.size])
        noise = np.random.default_rng(0).normal(size=(y.size, self.cliques))
        x = np.eye(self.cliques)[y] + 0.1 * noise
        edges = np.concatenate([inside, ring], axis=1)
        return make_graph(x, edges, y, "ring_of_cliques", undirected=True)
