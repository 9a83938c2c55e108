"""Contextual stochastic block model: a graph and features that share hidden classes.

Source: Deshpande, Montanari, Mossel and Sen, Contextual Stochastic Block Models, NeurIPS 2018, here
with any number of classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gclbench.component.registry import DATASETS
from gclbench.component.settings import Count, NonNegative, Positive, Range
from gclbench.data.capacity import check_capacity
from gclbench.data.pairs import draw_distinct, number_of_pairs, pair_of
from gclbench.graph import Graph, make_graph


@DATASETS.register("sbm")
@dataclass(frozen=True)
class SBM:
    """Contextual stochastic block model: generated graph and features with hidden classes

    Nodes fall into classes of equal size (up to one), in random order. Each pair of nodes is joined
    independently, with probability p_in inside a class and p_out between classes; these follow from
    `degree` and `homophily`. Features are x_i = signal · m_c + ε_i with a random unit vector m_c
    for each class and standard normal ε_i.

    Attributes:
        nodes: N.
        classes: k.
        features: F.
        degree: expected mean degree.
        homophily: expected fraction of the edges that join nodes of one class; 1/k or so is no
            signal.
        signal: distance of a class mean from the origin, in standard deviations of the noise.
        seed: of the graph; the seed of a run does not change the data.
    """

    nodes: Count = 1000
    classes: Count = 4
    features: Count = 64
    degree: Positive = 10.0
    homophily: Annotated[float, Range(least=0, most=1)] = 0.8
    signal: NonNegative = 2.0
    seed: Annotated[int, Range(least=0)] = 0

    def __post_init__(self) -> None:
        if self.nodes < 2 or self.classes > self.nodes:
            raise ValueError(
                f"sbm needs at least 2 nodes and no more classes than nodes, not nodes={self.nodes}"
                f" and classes={self.classes}"
            )
        if not (self.degree > 0 and 0 <= self.homophily <= 1):
            raise ValueError(
                "sbm needs degree > 0 and homophily from 0 to 1,"
                f" not degree={self.degree:g} and homophily={self.homophily:g}"
            )
        self.probabilities()

    def probabilities(self) -> tuple[float, float]:
        """(p_in, p_out): the edge probabilities inside a class and between classes.

        Raises:
            ValueError: degree and homophily that need a probability above 1.
        """
        sizes = self._sizes()
        inside = sum(number_of_pairs(size) for size in sizes)
        between = number_of_pairs(self.nodes) - inside
        edges = self.nodes * self.degree / 2
        wanted = {
            "inside a class": (edges * self.homophily, inside),
            "between classes": (edges * (1 - self.homophily), between),
        }
        for where, (count, pairs) in wanted.items():
            if count > pairs:
                raise ValueError(
                    f"degree={self.degree:g} with homophily={self.homophily:g} needs {count:.0f}"
                    f" edges {where}, where there are only {pairs} pairs;"
                    " lower degree or change homophily"
                )
        return tuple(count / pairs if pairs else 0.0 for count, pairs in wanted.values())  # type: ignore[return-value]

    def load(self) -> Graph:
        """The graph; the same for the same fields.

        Raises:
            GraphError: more nodes than fit into memory.
        """
        entries = int(self.nodes * (self.degree + 1))
        check_capacity(self.nodes, self.features, "sbm", entries, copies=2)
        rng = np.random.default_rng([self.seed, 0x5B])
        order = rng.permutation(self.nodes)
        sizes = self._sizes()
        starts = np.concatenate([[0], np.cumsum(sizes)])
        y = np.empty(self.nodes, dtype=np.int64)
        y[order] = np.repeat(np.arange(self.classes), sizes)
        p_in, p_out = self.probabilities()
        blocks: list[np.ndarray] = []
        for c, size in enumerate(sizes):
            u, v = pair_of(_bernoulli(rng, number_of_pairs(size), p_in))
            blocks.append(np.stack([u, v]) + starts[c])
            # All nodes of earlier classes at once: the probability is the same for each of them.
            cell = _bernoulli(rng, size * int(starts[c]), p_out)
            earlier = max(int(starts[c]), 1)
            blocks.append(np.stack([cell % earlier, cell // earlier + starts[c]]))
        edges = order[np.concatenate(blocks, axis=1)]
        means = rng.standard_normal((self.classes, self.features), dtype=np.float32)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        x = rng.standard_normal((self.nodes, self.features), dtype=np.float32)
        x += np.float32(self.signal) * means[y]
        return make_graph(x, edges, y, "sbm", undirected=True)

    def _sizes(self) -> list[int]:
        return [math.ceil((self.nodes - c) / self.classes) for c in range(self.classes)]


def _bernoulli(rng: np.random.Generator, population: int, probability: float) -> np.ndarray:
    """Which of 0 … population−1 come up when each does so independently with the same probability
    (int64)."""
    if not population:
        return np.empty(0, dtype=np.int64)
    return draw_distinct(rng, population, int(rng.binomial(population, probability)))
