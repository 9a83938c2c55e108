"""The features as embedding, and what their clustering is where k-means has little to work with."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods import kmeans
from gclbench.methods.kmeans import GivenFeatures
from gclbench.tasks.clustering import Clustering
from gclbench.tasks.contrast import ContrastAnalysis
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

CLASSES = np.arange(12) % 3
RING = np.stack([np.arange(12), (np.arange(12) + 1) % 12])


def clustered(x: np.ndarray, clusters: int | None = None) -> dict[str, float]:
    graph = make_graph(x.astype(np.float32), RING, CLASSES, "toy", undirected=True)
    return Clustering(clusters=clusters).evaluate(embedded(graph), graph, None, Streams(0))


def embedded(graph: Graph):
    return GivenFeatures().fit(graph, torch.full((graph.num_nodes,), -1), Streams(0), Watch())


def test_the_embedding_is_the_features() -> None:
    graph = make_graph(np.eye(12, dtype=np.float32), RING, None, "toy", undirected=True)
    found = embedded(graph)
    assert found.z is graph.x and found.geometry == "euclidean" and found.clusters is None


def test_duplicate_points_leave_clusters_empty() -> None:
    metrics = clustered(np.where(CLASSES == 0, 1.0, -1.0)[:, None], clusters=5)
    assert metrics["clusters_found"] == 2 and metrics["inertia"] == pytest.approx(0, abs=1e-9)
    assert metrics["acc"] == pytest.approx(8 / 12)


def test_features_of_zeros_are_one_cluster() -> None:
    metrics = clustered(np.zeros((12, 4)))
    assert metrics["clusters_found"] == 1 and metrics["inertia"] == 0
    assert metrics["acc"] == pytest.approx(1 / 3) and metrics["nmi"] == 0
    assert metrics["modularity"] == pytest.approx(0) and metrics["conductance"] == 0


def test_more_clusters_than_dimensions() -> None:
    metrics = clustered(CLASSES[:, None] * 10.0 + np.arange(12)[:, None] * 1e-3)
    assert metrics["clusters_found"] == 3 and metrics["acc"] == 1


def test_one_cluster_is_refused() -> None:
    graph = make_graph(
        np.eye(12, dtype=np.float32), RING, np.zeros(12, dtype=np.int64), "one", undirected=True
    )
    with pytest.raises(
        Unsupported, match="'one' has one class only; give it with task.clustering.clusters=K"
    ):
        Clustering().split(graph, Streams(0))


def test_features_stand_in_for_views_so_that_their_hardness_can_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    graph = make_graph(x, RING, CLASSES, "toy", undirected=True)
    metrics = ContrastAnalysis(tuple_size=6).evaluate(embedded(graph), graph, None, Streams(0))
    rows = x / np.linalg.norm(x, axis=1, keepdims=True)
    other = CLASSES[:, None] != CLASSES
    shares, _ = np.histogram((rows @ rows.T)[other], bins=20, range=(-1, 1))
    assert [metrics[f"hardness_{number:02d}"] for number in range(1, 21)] == pytest.approx(
        (shares / other.sum()).tolist()
    )
    monkeypatch.setattr(kmeans, "ENTRIES_FOR_ANALYSES", 35)
    assert embedded(graph).contrast is None
