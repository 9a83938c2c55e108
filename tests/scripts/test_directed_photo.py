"""The filter and the measures on directed pairs, against what is known of them."""

from __future__ import annotations

import directed_photo
import numpy as np
import pytest
import torch

from gclbench.config.validation import experiment_of
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import Graph, make_graph, with_features
from gclbench.records import Record
from gclbench.tasks.cluster_metrics import conductance, modularity, pooled_conductance
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

PAIRS = np.array([[0, 0, 1, 1, 2, 3, 3], [1, 2, 2, 2, 0, 0, 4]])
"""1 points to 2 twice, 4 to none, and none to 3."""


def symmetric(multiple: bool) -> Graph:
    rng = np.random.default_rng(0)
    pairs = rng.integers(40, size=(2, 90))
    x = rng.normal(size=(40, 70)).astype(np.float32)
    return make_graph(x, pairs, rng.integers(4, size=40), "some", multiple=multiple)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("r", [0.5, 0.3])
def test_the_series_is_the_inverse(self_loops: bool, r: float) -> None:
    alpha, x = 0.03, np.random.default_rng(0).normal(size=(5, 3))
    a = np.eye(5) * self_loops
    np.add.at(a, tuple(PAIRS), 1.0)
    degree = np.maximum(a.sum(axis=1), 1.0)
    to, fro = np.diag(degree**r), np.diag(degree**-r)
    inverse = np.linalg.inv(np.eye(5) - (1 - alpha) * np.diag(1 / degree) @ a)
    found, series = directed_photo.smoothed(PAIRS, x, alpha, r, self_loops)
    exact = alpha * to @ inverse @ fro @ x
    assert np.abs(fro @ (found - exact)).max() <= 1e-6 * np.abs(fro @ exact).max() * (1 + 1e-6)
    assert series.error <= 1e-6 and series.sweeps > 10
    loose, quick = directed_photo.smoothed(PAIRS, x, alpha, r, self_loops, tolerance=1e-2)
    assert quick.sweeps < series.sweeps and not np.allclose(loose, exact, rtol=1e-6)


def test_a_node_reads_those_it_points_to() -> None:
    """As GBP's push goes: what is at `to` moves to `from`."""
    pairs = np.array([[0], [1]])
    found, _ = directed_photo.smoothed(pairs, np.eye(2), 0.5, 0.5, self_loops=False)
    assert found == pytest.approx(np.array([[0.5, 0.25], [0.0, 0.5]]), abs=1e-6)
    mirrored, _ = directed_photo.smoothed(pairs[::-1], np.eye(2), 0.5, 0.5, self_loops=False)
    assert mirrored == pytest.approx(np.array([[0.5, 0.0], [0.25, 0.5]]), abs=1e-6)


@pytest.mark.parametrize("multiple", [True, False])
@pytest.mark.parametrize("self_loops", [True, False])
def test_on_a_symmetric_graph_it_is_the_librarys_filter(multiple: bool, self_loops: bool) -> None:
    graph = symmetric(multiple)
    shipped = GnnBP(alpha=0.03, rrz=0.5, self_loops=self_loops, tol=1e-6).apply(graph).x.numpy()
    pairs, x = graph.edge_index.numpy(), graph.x.numpy()
    assert x.shape[1] > directed_photo.COLUMNS, "more than one group of columns"
    found, _ = directed_photo.smoothed(pairs, x, 0.03, 0.5, self_loops)
    assert np.linalg.norm(found - shipped) < 1e-5 * np.linalg.norm(shipped)


@pytest.mark.parametrize("multiple", [True, False])
def test_on_a_symmetric_graph_measures_are_the_librarys(multiple: bool) -> None:
    edges = symmetric(multiple).edge_index.numpy()
    clusters = np.random.default_rng(1).integers(3, size=40) * 2
    found = directed_photo.qualities(edges, clusters)
    for name, value in found.items():
        library = {"modularity": modularity, "conductance": conductance}[name.partition("_")[0]]
        library = pooled_conductance if name.endswith("_pooled") else library
        assert value == pytest.approx(library(edges, clusters), abs=1e-12), name


def test_measures_of_directed_pairs() -> None:
    """Clusters {0, 1, 2} and {3, 4}: of 7 pairs 5 start in the first, 6 end in it, 5 do both."""
    clusters = np.array([0, 0, 0, 1, 1])
    found = directed_photo.qualities(PAIRS, clusters)
    assert found == pytest.approx(
        {
            "modularity_out": 6 / 7 - (5**2 + 2**2) / 49,
            "modularity_in": 6 / 7 - (6**2 + 1) / 49,
            "modularity_both": 6 / 7 - (5 * 6 + 2 * 1) / 49,
            "conductance_out": (0 / 5 + 1 / 2) / 2,
            "conductance_in": (1 / 6 + 0 / 1) / 2,
            "conductance_pooled": 1 / 7,
        }
    )
    turned = directed_photo.qualities(PAIRS[::-1], clusters)
    swapped = {"out": "in", "in": "out", "both": "both", "pooled": "pooled"}
    for name, value in turned.items():
        measure, _, volume = name.partition("_")
        assert value == pytest.approx(found[f"{measure}_{swapped[volume]}"]), name


def test_counts_of_directed_pairs() -> None:
    assert directed_photo.counts(PAIRS, 5) == {
        "pairs": 7,
        "half_of_pairs": 3,
        "pairs_with_their_reverse": 2,
        "nodes_that_point_to_none": 1,
        "nodes_that_none_points_to": 1,
    }


def test_what_is_clustered_is_what_the_library_clusters() -> None:
    """By its own runs of the methods, on a graph whose features the series filters."""
    dataset = ["dataset=sbm", "dataset.nodes=60", "dataset.features=8"]
    small = ["method.epochs=3", "method.architecture=[6,4]", "method.batch_size=32"]
    words = {**directed_photo.RUNS, "dmat_i": ("method=dmat_i", *small)}
    experiments = {
        what: experiment_of([*those, *dataset, "task=clustering", "device=cpu"])
        for what, those in words.items()
    }
    planned = experiments["dmat_i"]
    graph = planned.components.dataset.load()
    pairs, gnnbp = graph.edge_index.numpy(), planned.settings["filter"]
    x, _ = directed_photo.smoothed(pairs, graph.x.numpy(), gnnbp["alpha"], gnnbp["rrz"])
    settings = {key: value for key, value in planned.settings["method"].items() if key != "name"}
    found = {
        what: numbers
        for what, numbers, _ in directed_photo.measured(
            graph, pairs, x.astype(np.float32), settings, seed=1
        )
    }
    assert list(found) == list(words)
    for what, experiment in experiments.items():
        parts, rng = experiment.components, Streams(1)
        seen = with_features(graph, parts.filter.apply(graph).x)
        embedding = parts.method.fit(seen, torch.full((60,), -1), rng, Watch())
        metrics = dict(parts.tasks["clustering"].evaluate(embedding, graph, None, rng))
        record = Record("", {}, "ok", metrics)
        away = directed_photo.from_record(found[what], record)
        assert away == pytest.approx(dict.fromkeys(away or {}, 0.0), abs=1e-9), what
        assert away is not None and set(away) >= {"acc", *directed_photo.SHIPPED}
    assert directed_photo.from_record(found["dmat_i"], None) is None


def test_the_summary_has_means_beside_print() -> None:
    rows = [
        {
            "graph": "directed",
            "clustered": "dmat_i",
            "label_free": {"modularity_out": value},
            "reads_labels": {"acc": 2 * value},
        }
        for value in (0.1, 0.3)
    ]
    means, known = directed_photo.means(rows), directed_photo.printed_numbers()
    assert means[0]["seeds"] == 2
    first, *rest = directed_photo.summary({"means": means, "printed": known})
    assert first == "directed, dmat_i: modularity_out 20.0, acc 40.0"
    assert [line.partition(":")[0] for line in rest] == ["printed, kmeans_raw", "printed, dmat_i"]
    assert all("?" not in line and "conductance" in line for line in rest)
    assert known["graph"]["edges"] == 143_662 / 2
