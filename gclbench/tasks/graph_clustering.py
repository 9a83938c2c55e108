"""Graph clustering: k-means on embeddings of graphs, measured against classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from gclbench.component.registry import TASKS
from gclbench.component.settings import Count, OneOf, Range
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph
from gclbench.tasks.clustering import agreement, chance, fit_kmeans, number_of_clusters
from gclbench.tasks.embedding_rows import embedding_rows, standardised, standardises
from gclbench.tasks.scores import Scores
from gclbench.tasks.whole_graph import WholeGraph
from gclbench.training.streams import Streams


@TASKS.register("graph_clustering")
@dataclass(frozen=True)
class GraphClustering(WholeGraph):
    """Graph clustering by k-means: ACC, NMI, ARI, macro-F1, FMI.

    As node clustering, on the graphs of a collection. Nothing is hidden from training. The classes
    are read for the number of clusters and for scoring only.

    Attributes:
        clusters: number of clusters; None takes the number of classes.
        n_init: restarts.
        normalize: "l2" scales rows to unit length, "standardize" gives every column zero mean and
            unit variance, "none" leaves the rows, "auto" is "l2" for embeddings with cosine
            geometry and "standardize" otherwise.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[str] = "graphs"

    clusters: Annotated[int, Range(least=2)] | None = None
    n_init: Count = 10
    normalize: Annotated[str, OneOf("auto", "l2", "standardize", "none")] = "auto"

    def split(self, graph: Graph, rng: Streams) -> Split | None:
        """None: every graph is clustered.

        Raises:
            Unsupported: the number of clusters is unknown, or larger than the number of graphs.
        """
        number_of_clusters(graph, self.clusters, "graph_clustering")
        return None

    def rows(self, embedding: Embedding, graph: Graph) -> np.ndarray:
        """The rows that are clustered, n×d.

        Raises:
            ValueError: the embedding has the wrong number of rows or is not finite.
        """
        z = embedding_rows(embedding, graph, self.normalize)
        return standardised(z) if standardises(self.normalize, embedding.geometry) else z

    def evaluate(
        self, embedding: Embedding, graph: Graph, split: Split | None, rng: Streams
    ) -> Scores:
        """Metrics of one k-means clustering, seeded by the stream `kmeans`.

        Returns:
            acc, nmi, ari, macro_f1, fmi over the labelled graphs (left out when there are fewer
            than two classes); inertia; clusters_found, the number of non-empty clusters. They are
            degenerate with a single cluster; their floor is that of node clustering.

        Raises:
            Unsupported: as `split`.
            ValueError: the embedding has the wrong number of rows or is not finite.
        """
        k = number_of_clusters(graph, self.clusters, "graph_clustering")
        z = self.rows(embedding, graph)
        clusters, inertia = fit_kmeans(z, k, self.n_init, rng.integer("kmeans"))
        labels = np.full(graph.items, -1) if graph.y is None else graph.y.numpy()
        known = labels >= 0
        comparable = len(np.unique(labels[known])) > 1
        count = len(np.unique(clusters))
        metrics = agreement(labels[known], clusters[known]) if comparable else {}
        return Scores(
            {**metrics, "inertia": inertia, "clusters_found": float(count)},
            degenerate=("one cluster holds every graph",) if count == 1 else (),
            floor=chance(labels[known], k, rng.numpy("chance")) if comparable else {},
            clusters=clusters,
        )
