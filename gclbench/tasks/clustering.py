"""Node clustering: k-means on the embedding, measured against classes and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from gclbench.component.registry import TASKS
from gclbench.component.settings import Count, OneOf, Range
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.nn.kmeans import kmeans
from gclbench.tasks.cluster_metrics import (
    adjusted_rand_index,
    clustering_accuracy,
    clustering_macro_f1,
    conductance,
    fowlkes_mallows_index,
    modularity,
    normalized_mutual_information,
    pooled_conductance,
)
from gclbench.tasks.embedding_rows import embedding_rows
from gclbench.tasks.scores import Scores
from gclbench.tasks.whole_graph import WholeGraph
from gclbench.training.streams import Streams

SPARSE_BELOW = 0.05
"""Share of non-zero entries below which k-means works on compressed rows: 20 times faster on
Coauthor CS, whose share is 0.009."""

DEALS = 5
"""Random clusterings behind the floor."""


@TASKS.register("clustering")
@dataclass(frozen=True)
class Clustering(WholeGraph):
    """Node clustering by k-means: ACC, NMI, ARI, macro-F1, FMI, modularity, conductance.

    Lloyd's algorithm from k-means++ starts; the restart with the smallest inertia is kept. Fewer
    clusters than asked for are taken as they come. Nothing is hidden from training. The classes are
    read for the number of clusters and for scoring only. A method that defines clusters (age, sdcn)
    is measured by its own, unless `clusters` is set: then by k-means with that many.

    Attributes:
        clusters: number of clusters; None takes the number of classes, or the method's own
            clusters.
        n_init: restarts.
        normalize: "l2" scales rows to unit length, "none" leaves them, "auto" scales those of
            embeddings with cosine geometry.
    """

    version: ClassVar[str] = "1"

    clusters: Annotated[int, Range(least=2)] | None = None
    n_init: Count = 10
    normalize: Annotated[str, OneOf("auto", "l2", "none")] = "auto"

    def split(self, graph: Graph, rng: Streams) -> Split | None:
        """None: every node is clustered.

        Raises:
            Unsupported: the number of clusters is unknown, or larger than the number of nodes.
        """
        number_of_clusters(graph, self.clusters, "clustering")
        return None

    def evaluate(
        self, embedding: Embedding, graph: Graph, split: Split | None, rng: Streams
    ) -> Scores:
        """Metrics of the method's own clusters, or else of one k-means clustering, seeded by the
        stream `kmeans`.

        Returns:
            acc, nmi, ari, macro_f1, fmi over the labelled nodes (left out when there are fewer than
            two classes); modularity, conductance (mean over clusters), conductance_pooled on all
            edges of `graph`, by their weights (left out when it has none); inertia of k-means, or
            own_clusters (1) in its place; clusters_found, the number of non-empty clusters. For an
            embedding with a history also acc_oracle, nmi_oracle, … of the iteration with the
            largest ACC, and oracle_iteration, its number. Labels choose that iteration, so these
            are not comparable with the others. They are degenerate with a single cluster; their
            floor are clusters dealt at random, as many and each as likely as another, in the mean
            of `DEALS` draws.

        Raises:
            Unsupported: as `split`.
            ValueError: the embedding has the wrong number of rows or is not finite.
        """
        k = number_of_clusters(graph, self.clusters, "clustering")
        z = embedding_rows(embedding, graph, self.normalize)
        own = embedding.clusters if self.clusters is None else None
        inertia: float | None = None
        if own is None:
            clusters, inertia = fit_kmeans(z, k, self.n_init, rng.integer("kmeans"))
        else:
            clusters = own.cpu().numpy().astype(np.int64)
        labels = _labels(graph)
        known = labels >= 0
        comparable = len(np.unique(labels[known])) > 1
        metrics = agreement(labels[known], clusters[known]) if comparable else {}
        if graph.edge_index.shape[1]:
            edge_index, *weight = (part.numpy() for part in graph.edges)
            metrics["modularity"] = modularity(edge_index, clusters, *weight)
            metrics["conductance"] = conductance(edge_index, clusters, *weight)
            metrics["conductance_pooled"] = pooled_conductance(edge_index, clusters, *weight)
        metrics.update({"own_clusters": 1.0} if inertia is None else {"inertia": inertia})
        metrics["clusters_found"] = float(len(np.unique(clusters)))
        if own is not None and embedding.history is not None and comparable:
            metrics.update(
                _oracle(labels[known], embedding.history.cpu().numpy().astype(np.int64)[:, known])
            )
        return Scores(
            metrics,
            degenerate=("one cluster holds every node",) if metrics["clusters_found"] == 1 else (),
            floor=chance(labels[known], k, rng.numpy("chance")) if comparable else {},
            clusters=clusters,
        )


def number_of_clusters(graph: Graph, asked: int | None, task: str) -> int:
    """The number asked for, or that of the classes.

    Args:
        task: its name.

    Raises:
        Unsupported: it is unknown, or larger than the number of items.
    """
    k = asked
    if k is None:
        labels = _labels(graph)
        k = len(np.unique(labels[labels >= 0]))
        if k < 2:
            found = "has no labels" if k == 0 else "has one class only"
            raise Unsupported(
                f"{task} takes its number of clusters from the classes, and '{graph.name}'"
                f" {found}; give it with task.{task}.clusters=K"
            )
    if k > graph.items:
        raise Unsupported(
            f"{task} was asked for {k} clusters, and '{graph.name}' has {graph.items}"
            f" {graph.item_kind}; give at most that many with task.{task}.clusters=K"
        )
    return k


def _labels(graph: Graph) -> np.ndarray:
    """The classes (n); −1 everywhere for a graph without labels."""
    if graph.y is None:
        return np.full(graph.items, -1, dtype=np.int64)
    return graph.y.numpy()


def agreement(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """ACC, NMI, ARI, macro-F1 and FMI of clusters (n) and classes (n)."""
    return {
        "acc": clustering_accuracy(truth, found),
        "nmi": normalized_mutual_information(truth, found),
        "ari": adjusted_rand_index(truth, found),
        "macro_f1": clustering_macro_f1(truth, found),
        "fmi": fowlkes_mallows_index(truth, found),
    }


def chance(truth: np.ndarray, k: int, rng: np.random.Generator) -> dict[str, float]:
    """Agreement of classes (n) and k clusters dealt at random, the mean of `DEALS` draws."""
    draws = [agreement(truth, rng.integers(k, size=len(truth))) for _ in range(DEALS)]
    return {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]}


def _oracle(truth: np.ndarray, history: np.ndarray) -> dict[str, float]:
    """Agreement in the iteration with the largest ACC, the first of them."""
    best = int(np.argmax([clustering_accuracy(truth, found) for found in history]))
    of_best = {f"{name}_oracle": value for name, value in agreement(truth, history[best]).items()}
    return {**of_best, "oracle_iteration": best + 1.0}


def fit_kmeans(z: np.ndarray, k: int, n_init: int, seed: int) -> tuple[np.ndarray, float]:
    """Cluster of every row and the sum of squared distances to the centres."""
    found = kmeans(
        csr_matrix(z) if np.count_nonzero(z) < SPARSE_BELOW * z.size else z, k, n_init, seed
    )
    return found.clusters, found.inertia
