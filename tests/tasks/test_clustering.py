from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from gclbench.component.registry import TASKS
from gclbench.component.settings import bind
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.tasks import cluster_metrics as cm
from gclbench.tasks import clustering
from gclbench.tasks.clustering import Clustering
from gclbench.training.streams import Streams

Toy = Callable[..., Graph]
AGREEMENT = {"acc", "nmi", "ari", "macro_f1", "fmi"}
CUT = {"modularity", "conductance", "conductance_pooled"}


def test_it_is_registered_and_hides_nothing(toy: Toy) -> None:
    task, graph = TASKS.load("clustering")(), toy()
    assert isinstance(task, Clustering) and not task.hides and task.version == "1"
    split = task.split(graph, Streams(0))
    assert split is None
    assert task.hide(graph, split) is graph
    labels = task.labels(graph, split)
    assert labels.dtype == torch.long and labels.tolist() == [-1] * 120


def test_metrics_are_those_of_scikit_learns_kmeans(toy: Toy) -> None:
    graph, rng = toy(), Streams(3)
    metrics = Clustering(normalize="none").evaluate(Embedding(graph.x), graph, None, rng)
    model = KMeans(
        3, init="k-means++", n_init=10, algorithm="lloyd", random_state=rng.integer("kmeans")
    ).fit(graph.x.numpy())
    truth, edges = graph.y.numpy(), graph.edge_index.numpy()
    assert metrics == pytest.approx(
        {
            "acc": cm.clustering_accuracy(truth, model.labels_),
            "nmi": cm.normalized_mutual_information(truth, model.labels_),
            "ari": cm.adjusted_rand_index(truth, model.labels_),
            "macro_f1": cm.clustering_macro_f1(truth, model.labels_),
            "fmi": cm.fowlkes_mallows_index(truth, model.labels_),
            "modularity": cm.modularity(edges, model.labels_),
            "conductance": cm.conductance(edges, model.labels_),
            "conductance_pooled": cm.pooled_conductance(edges, model.labels_),
            "inertia": model.inertia_,
            "clusters_found": 3.0,
        }
    )
    assert metrics["acc"] > 0.6


def test_the_same_seed_gives_the_same_bits_and_another_seed_other_starts(toy: Toy) -> None:
    graph = toy()
    noise = Embedding(torch.randn(120, 5, generator=torch.Generator().manual_seed(0)))
    task = Clustering(clusters=9, n_init=1)
    first = task.evaluate(noise, graph, None, Streams(1))
    assert first == task.evaluate(noise, graph, None, Streams(1))
    assert first != task.evaluate(noise, graph, None, Streams(2))


def test_more_restarts_never_have_more_inertia(toy: Toy) -> None:
    graph = toy()
    noise = Embedding(torch.randn(120, 5, generator=torch.Generator().manual_seed(0)))
    one, many = (
        Clustering(clusters=9, n_init=n).evaluate(noise, graph, None, Streams(1)) for n in (1, 30)
    )
    assert many["inertia"] < one["inertia"]


def test_cosine_embeddings_are_normalised_unless_told_otherwise(toy: Toy) -> None:
    graph = toy()
    stretched = graph.x * torch.logspace(-2, 2, 120)[:, None]
    unit = torch.nn.functional.normalize(graph.x, dim=1)
    expected = Clustering(normalize="none").evaluate(Embedding(unit), graph, None, Streams(0))
    assert Clustering().evaluate(
        Embedding(stretched, "cosine"), graph, None, Streams(0)
    ) == pytest.approx(expected)
    assert Clustering(normalize="l2").evaluate(
        Embedding(stretched), graph, None, Streams(0)
    ) == pytest.approx(expected)
    assert (
        Clustering().evaluate(Embedding(stretched), graph, None, Streams(0))["acc"]
        < expected["acc"]
    )


def test_fewer_distinct_rows_than_clusters_are_kept_as_they_come(toy: Toy) -> None:
    graph = toy()
    z = torch.where(graph.y == 0, 1.0, -1.0)[:, None]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metrics = Clustering().evaluate(Embedding(z), graph, None, Streams(0))
    assert not caught
    assert metrics["clusters_found"] == 2
    assert metrics["acc"] == pytest.approx(80 / 120)
    assert metrics["macro_f1"] == pytest.approx((1 + 2 * 40 / (80 + 40) + 0) / 3)
    assert metrics["inertia"] == pytest.approx(0, abs=1e-6)


def test_a_methods_own_clusters_are_measured_unless_a_number_is_asked_for(toy: Toy) -> None:
    graph = toy()
    noise = torch.randn(120, 5, generator=torch.Generator().manual_seed(0))
    own = Embedding(noise, clusters=(graph.y + 1) % 3)
    metrics = Clustering().evaluate(own, graph, None, Streams(0))
    assert (
        metrics["acc"] == 1
        and metrics["own_clusters"] == 1
        and metrics["clusters_found"] == 3
        and "inertia" not in metrics
    )
    assert metrics["modularity"] == pytest.approx(
        cm.modularity(graph.edge_index.numpy(), graph.y.numpy())
    )
    asked = Clustering(clusters=3)
    assert asked.evaluate(own, graph, None, Streams(0)) == asked.evaluate(
        Embedding(noise), graph, None, Streams(0)
    )
    assert "own_clusters" not in asked.evaluate(own, graph, None, Streams(0))


def test_the_oracle_is_the_iteration_with_the_largest_accuracy_under_names_of_its_own(
    toy: Toy,
) -> None:
    y = toy().y.clone()
    y[:30] = -1
    graph = toy(y=y)
    truth = toy().y
    history = torch.stack([truth * 0, torch.where(torch.arange(120) < 60, truth, 0), truth * 0])
    last = torch.where(torch.arange(120) < 90, truth * 0, truth)
    metrics = Clustering().evaluate(
        Embedding(graph.x, clusters=last, history=history.int()), graph, None, Streams(0)
    )
    known = y.numpy() >= 0
    assert metrics["oracle_iteration"] == 2
    assert metrics["acc_oracle"] == cm.clustering_accuracy(
        y.numpy()[known], history[1].numpy()[known]
    )
    assert metrics["nmi_oracle"] == cm.normalized_mutual_information(
        y.numpy()[known], history[1].numpy()[known]
    )
    assert metrics["acc"] == cm.clustering_accuracy(y.numpy()[known], last.numpy()[known])


def test_with_a_number_of_clusters_asked_for_nothing_is_of_the_methods_own(toy: Toy) -> None:
    """Neither an iteration of its history nor the floor, which deals as many clusters as asked."""
    graph = toy()
    own = Embedding(graph.x, clusters=graph.y, history=graph.y[None])
    metrics = Clustering(clusters=6).evaluate(own, graph, None, Streams(0))
    assert not [name for name in metrics if "oracle" in name]
    truth = graph.y.numpy()
    dealt = clustering.chance(truth, 6, Streams(0).numpy("chance"))
    assert metrics.floor == dealt
    # Three clusters would hold more of a class each.
    assert dealt["acc"] < clustering.chance(truth, 3, Streams(0).numpy("chance"))["acc"] - 0.05


def test_unlabelled_nodes_are_clustered_but_not_scored(toy: Toy) -> None:
    y = toy().y.clone()
    y[:30] = -1
    graph = toy(y=y)
    z = torch.eye(3)[toy().y]
    z[:30] = torch.eye(3)[0]  # would be wrong for most, were they scored
    metrics = Clustering().evaluate(Embedding(z), graph, None, Streams(0))
    assert all(metrics[name] == pytest.approx(1.0) for name in AGREEMENT)
    everyone = np.where(np.arange(120) < 30, 0, toy().y.numpy())
    assert metrics["modularity"] == pytest.approx(cm.modularity(graph.edge_index.numpy(), everyone))


def test_without_classes_only_the_cut_and_the_inertia_are_measured(toy: Toy) -> None:
    for y in (None, torch.zeros(120, dtype=torch.long)):
        graph, task = toy(y=y), Clustering(clusters=4)
        assert task.split(graph, Streams(0)) is None
        assert set(task.evaluate(Embedding(graph.x), graph, None, Streams(0))) == CUT | {
            "inertia",
            "clusters_found",
        }


def test_without_edges_only_the_agreement_is_measured(toy: Toy) -> None:
    graph = toy(edges=0)
    assert set(Clustering().evaluate(Embedding(graph.x), graph, None, Streams(0))) == AGREEMENT | {
        "inertia",
        "clusters_found",
    }


def test_what_it_does_not_support(toy: Toy) -> None:
    with pytest.raises(
        Unsupported,
        match=(
            "clusters from the classes, and 'toy' has no labels; give it with"
            " task.clustering.clusters=K"
        ),
    ):
        Clustering().split(toy(y=None), Streams(0))
    with pytest.raises(Unsupported, match="'toy' has no labels"):
        Clustering().split(toy(y=torch.full((120,), -1)), Streams(0))
    with pytest.raises(
        Unsupported, match="'toy' has one class only; give it with task.clustering.clusters=K"
    ):
        Clustering().split(toy(y=torch.zeros(120, dtype=torch.long)), Streams(0))
    with pytest.raises(
        Unsupported, match="asked for 121 clusters, and 'toy' has 120 nodes; give at most that many"
    ):
        Clustering(clusters=121).split(toy(), Streams(0))


def test_settings_bind_with_their_bounds() -> None:
    errors: list[str] = []
    assert bind(
        Clustering, {"clusters": None, "n_init": 3, "normalize": "l2"}, "task", errors
    ) == Clustering(None, 3, "l2")
    assert bind(Clustering, {"clusters": 1, "n_init": 0, "normalize": "l1"}, "task", errors) is None
    assert [error.partition(" ")[0] for error in errors] == [
        "task.clusters=1",
        "task.n_init=0",
        "task.normalize='l1'",
    ]


@pytest.mark.parametrize("words", [4, 40])
def test_rows_that_are_mostly_zero_are_clustered_compressed_and_alike(
    monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    """Three groups of nodes with words of their own among 300: 1 % or 13 % of the entries are not
    zero."""
    given: list[type] = []

    class Spy(KMeans):
        def fit(self, rows, *rest):
            given.append(type(rows))
            return super().fit(rows, *rest)

    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    x = np.zeros((60, 300), dtype=np.float32)
    for row, mine in zip(x, group, strict=True):
        row[100 * mine + rng.choice(50, size=words, replace=False)] = 1
    x[:, [50, 150, 250]] = 3 * np.eye(3)[group]
    monkeypatch.setattr("sklearn.cluster.KMeans", Spy)
    found, inertia = clustering.fit_kmeans(x, 3, 5, 0)
    assert (given[0] is np.ndarray) == (words == 40)
    assert cm.normalized_mutual_information(group, found) == pytest.approx(1)
    centres = np.stack([x[group == each].mean(axis=0) for each in range(3)])
    assert inertia == pytest.approx(((x - centres[group]) ** 2).sum(), rel=1e-4)
