"""A map of an embedding: t-SNE coordinates for scatter plots, and how well classes stand apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from gclbench.component.registry import TASKS
from gclbench.component.settings import OneOf, Range
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.tasks.embedding_rows import embedding_rows
from gclbench.tasks.whole_graph import WholeGraph
from gclbench.training.streams import Streams

DECIMALS = 2
"""Of the coordinates in a record. Maps are about a hundred wide, figures a few hundred points."""

NEIGHBOURS = 3
"""t-SNE looks at this many times the perplexity of neighbours. With fewer nodes its affinities say
little."""


@TASKS.register("tsne")
@dataclass(frozen=True)
class TsneMap(WholeGraph):
    """A two-dimensional map of the embedding by t-SNE; no score

    As in Figure 3 of the DMAT paper and Figure 3 of the NML-GCL paper: scikit-learn's t-SNE
    (Barnes-Hut, PCA start) of at most `points` nodes, the same nodes for every embedding of a seed.
    The record keeps the coordinates and the classes. Classes are read for colours and for the
    silhouette only.

    Attributes:
        points: nodes on the map at most, drawn evenly where the graph has more.
        perplexity: of t-SNE; the graph, or the sample, needs more than three times as many nodes.
        normalize: "l2" scales rows to unit length, "none" leaves them, "auto" scales those of
            embeddings with cosine geometry.
    """

    version: ClassVar[str] = "1"

    points: Annotated[int, Range(least=4)] = 3000
    perplexity: Annotated[float, Range(least=1)] = 30.0
    normalize: Annotated[str, OneOf("auto", "l2", "none")] = "auto"

    def split(self, graph: Graph, rng: Streams) -> Split | None:
        """None: nothing is held out.

        Raises:
            Unsupported: there are too few nodes for the perplexity.
        """
        nodes = min(self.points, graph.items)
        if nodes <= NEIGHBOURS * self.perplexity:
            raise Unsupported(
                f"task=tsne with perplexity {self.perplexity:g} needs more than"
                f" {NEIGHBOURS * self.perplexity:g} nodes, and has {nodes} of '{graph.name}'; try"
                f" task.tsne.perplexity={max(1, (nodes - 1) // (NEIGHBOURS + 1))}"
            )
        return None

    def evaluate(
        self, embedding: Embedding, graph: Graph, split: Split | None, rng: Streams
    ) -> dict[str, float]:
        """How well the classes stand apart in the embedding, before it is mapped.

        Returns:
            silhouette: mean silhouette (−1 to 1) of the classes among the mapped nodes of known
            class, with Euclidean distances of the mapped rows; left out without two classes.

        Raises:
            Unsupported: as `split`.
            ValueError: the embedding has the wrong number of rows or is not finite.
        """
        self.split(graph, rng)
        rows, classes = self._sample(embedding, graph, rng)
        score = _silhouette(rows, classes)
        return {} if score is None else {"silhouette": score}

    def data(
        self, embedding: Embedding, graph: Graph, split: Split | None, rng: Streams
    ) -> dict[str, Any]:
        """The map.

        Returns:
            x, y: coordinates, rounded to 0.01.
            classes: of the same nodes, −1 where unknown.
            nodes: N of the graph.
            kl_divergence: what t-SNE ended at.
            silhouette: of the classes on the map; left out without two classes.

        Raises:
            Unsupported: every row is the same, so that there is nothing to map.
            ValueError: as `evaluate`.
        """
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits

        rows, classes = self._sample(embedding, graph, rng)
        if not np.ptp(rows, axis=0).any():
            raise Unsupported(
                "task=tsne has nothing to map: every row of the embedding is the same"
            )
        model = TSNE(
            n_components=2, perplexity=self.perplexity, init="pca", random_state=rng.integer("tsne")
        )
        # scikit-learn's threads add up the repulsive forces in the order in which they finish: with
        # one a rerun is bit-identical.
        with threadpool_limits(limits=1):
            places = model.fit_transform(rows).astype(np.float64).round(DECIMALS)
        score = _silhouette(places, classes)
        return {
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "classes": classes.tolist(),
            "nodes": graph.items,
            "kl_divergence": round(float(model.kl_divergence_), 6),
            **({} if score is None else {"silhouette": score}),
        }

    def _sample(
        self, embedding: Embedding, graph: Graph, rng: Streams
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rows, classes) of the nodes on the map, in the graph's order."""
        rows = embedding_rows(embedding, graph, self.normalize)
        classes = np.full(graph.items, -1) if graph.y is None else graph.y.cpu().numpy()
        if graph.items <= self.points:
            return rows, classes
        chosen = np.sort(rng.numpy("tsne points").choice(graph.items, self.points, replace=False))
        return rows[chosen], classes[chosen]


def _silhouette(rows: np.ndarray, classes: np.ndarray) -> float | None:
    """Mean silhouette over the nodes of known class; None where it is not defined.

    That is so with one class, and with as many classes as nodes.
    """
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    known = classes >= 0
    kinds = len(np.unique(classes[known]))
    if not 2 <= kinds < known.sum():
        return None
    with threadpool_limits(limits=1):
        return float(silhouette_score(rows[known], classes[known]))
