"""Cross-validation of graphs: folds, no look at a test fold, and graphs that cannot be compared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize as normalized

from gclbench.data.splits import stratified_folds
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.tasks.clustering import fit_kmeans
from gclbench.tasks.criteria import value_of
from gclbench.tasks.graph_classification import GraphClassification, _majority
from gclbench.tasks.graph_clustering import GraphClustering
from gclbench.tasks.support_vectors import _similarities, classify
from gclbench.training.streams import Streams

GRAPHS = 60


def pairs(classes: np.ndarray | None) -> Graph:
    """A graph of two nodes for each label."""
    count = GRAPHS if classes is None else len(classes)
    nodes = np.arange(2 * count)
    return make_graph(
        np.ones((2 * count, 1)),
        nodes.reshape(-1, 2).T,
        classes,
        "pairs",
        graph_of=nodes // 2,
        undirected=True,
    )


def clouds(seed: int = 0) -> tuple[Graph, Embedding]:
    """Three classes and rows that tell them apart."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(GRAPHS) % 3
    rows = 4 * np.eye(3, 5)[classes] + rng.normal(size=(GRAPHS, 5))
    return pairs(classes), Embedding(torch.from_numpy(rows).float())


def test_folds_are_disjoint_of_like_size_and_with_like_shares() -> None:
    y = np.array([0] * 23 + [1] * 31 + [-1] * 4 + [2] * 10)
    split = stratified_folds(y, 10, np.random.default_rng(0))
    tests = list(split.parts.values())
    assert sorted(np.concatenate(tests).tolist()) == np.flatnonzero(y >= 0).tolist()
    assert {len(test) for test in tests} <= {6, 7}
    for name in range(3):
        counts = [int((y[test] == name).sum()) for test in tests]
        assert max(counts) - min(counts) <= 1
    again = stratified_folds(y, 10, np.random.default_rng(1))
    assert again.hash != split.hash and split.protocol == "stratified_10_folds"


@pytest.mark.parametrize("svm", ["linear", "rbf"])
def test_classes_that_are_apart_are_told_apart(svm: str) -> None:
    graph, embedding = clouds()
    task = GraphClassification(svm=svm, folds=3, inner_folds=2)
    rng = Streams(0)
    found = task.evaluate(embedding, graph, task.split(graph, rng), rng)
    assert found["accuracy"] > 0.95 and found["macro_f1"] > 0.95
    assert set(found) == {"accuracy", "macro_f1", "accuracy_fold_std", "unconverged"}
    noise = Embedding(torch.randn(GRAPHS, 5, generator=torch.Generator().manual_seed(0)))
    assert task.evaluate(noise, graph, task.split(graph, rng), rng)["accuracy"] < 0.6


def test_the_spread_over_folds_is_that_of_their_accuracies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, embedding = clouds()
    task, rng = GraphClassification(folds=3), Streams(0)
    split = task.split(graph, rng)
    scores = iter([[0.5, 1.0, 0.9], [0.1, 0.2, 0.3]])
    monkeypatch.setattr(
        "gclbench.tasks.graph_classification._scores",
        lambda *given: (one := next(scores), one),
    )
    found = task.evaluate(embedding, graph, split, rng)
    assert found["accuracy"] == pytest.approx(0.8)
    assert found["accuracy_fold_std"] == pytest.approx(np.std([0.5, 1.0, 0.9], ddof=1))


def test_inner_folds_are_drawn_anew_for_each_fold_and_repeat_with_the_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []
    module = "gclbench.tasks.graph_classification.classify"
    monkeypatch.setattr(module, lambda *words: given.append(words[-1]) or classify(*words))
    graph, embedding = clouds()
    task = GraphClassification(folds=3, inner_folds=2)
    for seed in (0, 0, 1):
        task.evaluate(embedding, graph, task.split(graph, Streams(0)), Streams(seed))
    assert given[:3] == given[3:6] and len(set(given)) == 6


def test_rows_of_a_test_fold_do_not_scale_the_others() -> None:
    """Mean and deviation are those of the training rows."""
    train, test = np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[1e6, 6.0]])
    for normalize in ("auto", "standardize"):
        own, other = GraphClassification(normalize=normalize)._scaled(train, test, "euclidean")
        assert own.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
        assert other.tolist() == [[1e6 - 2, 0.0]]


def test_the_similarities_of_rbf_are_scikit_learns() -> None:
    """γ = 1 / (d · variance of all training entries), its `scale`."""
    rng = np.random.default_rng(0)
    train, test = 3 * rng.standard_normal((9, 4)), rng.standard_normal((5, 4))
    own, other = _similarities(train, test)
    gamma = 1 / (4 * train.var())
    np.testing.assert_allclose(own, rbf_kernel(train, gamma=gamma), atol=1e-12)
    np.testing.assert_allclose(other, rbf_kernel(test, train, gamma=gamma), atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_of_equally_good_c_the_smallest_is_taken(kernel: str) -> None:
    y = np.repeat([0, 1], 10)
    x = np.stack([20.0 * y - 10, np.linspace(-1, 1, 20)], axis=1)
    found = classify(x, y, x, kernel, (100.0, 1.0, 10.0), 2, seed=0)
    assert found.C == 1.0 and np.array_equal(found.predicted, y) and not found.unconverged


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_c_with_the_best_inner_folds_is_taken(kernel: str) -> None:
    """20 of 200 rows are of the other class, far out: with 1e-6 all is the majority."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [180, 20])
    x = rng.standard_normal((200, 2)) + 6 * y[:, None]
    found = classify(x, y, x, kernel, (1e-6, 10.0), 4, seed=0)
    assert found.C == 10.0
    assert np.mean(found.predicted == y) > 0.98


def test_the_floor_reads_no_label_of_the_fold() -> None:
    labels = np.array([0, 0, 0, 1, 1, -1])
    assert _majority(labels, np.array([0, 1])).tolist() == [1, 1]
    assert _majority(labels, np.array([3, 4, 2])).tolist() == [0, 0, 0]


def test_labels_of_a_test_fold_change_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, embedding = clouds()
    task, rng = GraphClassification(folds=4), Streams(0)
    split = task.split(graph, rng)
    before = task._fitted(embedding, graph, split, rng)
    test = split.parts["fold_2"]
    wrong = graph.y.clone()
    wrong[test] = (wrong[test] + 1) % 3
    after = task._fitted(embedding, pairs(wrong.numpy()), split, rng)
    assert np.array_equal(before[2].predicted, after[2].predicted)
    assert before[2].C == after[2].C
    # The other folds train on them.
    assert any(
        not np.array_equal(before[fold].predicted, after[fold].predicted) for fold in (0, 1, 3)
    )


def test_a_fold_s_labels_hide_that_fold() -> None:
    graph, _ = clouds()
    task = GraphClassification(folds=4)
    split = task.split(graph, Streams(0))
    labels = task.fold_labels(graph, split)
    for visible, test in zip(labels, split.parts.values(), strict=True):
        hidden = np.flatnonzero(visible.numpy() < 0)
        assert np.array_equal(hidden, test)
        assert torch.equal(visible[visible >= 0], graph.y[visible >= 0])
    assert (task.labels(graph, split) == -1).all() and labels[0] is not graph.y


def test_of_trainings_per_fold_the_own_scores_count_each_in_its_fold() -> None:
    graph, embedding = clouds()
    task, rng = GraphClassification(folds=4), Streams(0)
    split = task.split(graph, rng)
    each = []
    for number, test in enumerate(split.parts.values()):
        scores = torch.zeros(GRAPHS, 3)
        scores[torch.arange(GRAPHS), (graph.y + 1) % 3] = 1  # wrong everywhere …
        if number < 3:
            scores[test] = torch.nn.functional.one_hot(graph.y[test], 3).float()  # … but there
        each.append(replace(embedding, scores=scores))
    found = task.evaluate(each, graph, split, rng)
    assert found["accuracy"] == pytest.approx(0.75) and found["svm_accuracy"] > 0.95


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        (None, "graph_classification needs labels, and 'pairs' has none; try task=similarity"),
        (np.zeros(30, dtype=int), "compares classes, and the labels name 1; it needs two or more"),
        (
            np.array([0] * 30 + [1] * 4),
            r"of 'pairs': class 1 has 4 item\(s\), fewer than the 10 folds of the cross-validation;"
            " take task.graph_classification.folds=4",
        ),
        (np.array([0] * 30 + [1]), r"class 1 has 1 item\(s\).*; take another dataset"),
    ],
)
def test_what_cannot_be_cross_validated(classes: np.ndarray | None, text: str) -> None:
    with pytest.raises(Unsupported, match=text):
        GraphClassification().split(pairs(classes), Streams(0))


def test_a_machine_in_more_columns_than_rows_is_that_of_its_inner_products() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    x[y == 1, 0] += 2
    turn = np.linalg.qr(rng.normal(size=(60, 60)))[0][:6]
    narrow = classify(x[:30], y[:30], x[30:], "linear", (0.1, 1.0), 3, 0)
    wide = classify(x[:30] @ turn, y[:30], x[30:] @ turn, "linear", (0.1, 1.0), 3, 0)
    assert np.array_equal(narrow.predicted, wide.predicted) and narrow.C == wide.C


@pytest.mark.parametrize("width", [4, 40])
@pytest.mark.parametrize("svm", ["linear", "rbf"])
def test_rows_of_zeros_are_one_class_however_wide(svm: str, width: int) -> None:
    y = np.arange(40) % 2
    y[:3] = 1
    found = classify(np.zeros((30, width)), y[:30], np.zeros((10, width)), svm, (0.1, 1.0), 3, 0)
    assert len(np.unique(found.predicted)) == 1


def test_a_column_that_is_constant_says_nothing() -> None:
    graph, embedding = clouds()
    constant = Embedding(torch.cat([embedding.z, torch.full((GRAPHS, 1), 7.0)], dim=1))
    task, rng = GraphClassification(folds=3), Streams(0)
    split = task.split(graph, rng)
    assert task.evaluate(constant, graph, split, rng) == pytest.approx(
        task.evaluate(embedding, graph, split, rng)
    )


@pytest.mark.parametrize("normalize", ["auto", "standardize", "none", "l2"])
@pytest.mark.parametrize("task", [GraphClustering, GraphClassification])
def test_a_search_s_criterion_judges_the_rows_that_the_task_evaluates(
    task: type[GraphClustering | GraphClassification], normalize: str
) -> None:
    graph, embedding = clouds()
    scaled = Embedding(embedding.z * torch.tensor([1e4, 1.0, 1.0, 1.0, 1.0]))
    chosen = task(normalize=normalize)
    found = value_of("silhouette", chosen, graph, None, scaled, math.nan, Streams(0))
    z = scaled.z.numpy()
    rows = {"none": z, "l2": normalized(z)}.get(normalize, (z - z.mean(0)) / z.std(0))
    clusters, _ = fit_kmeans(rows, 3, 10, Streams(0).integer("criterion"))
    assert found == pytest.approx(silhouette_score(rows, clusters), abs=1e-5)
    cosine = replace(scaled, geometry="cosine")
    unit = value_of("silhouette", task(), graph, None, cosine, math.nan, Streams(0))
    assert unit == value_of("silhouette", task(normalize="l2"), graph, None, scaled, 0, Streams(0))


def test_graph_clustering_finds_the_clouds_at_any_scale_of_a_column() -> None:
    graph, embedding = clouds()
    scaled = Embedding(embedding.z * torch.tensor([1e4, 1.0, 1.0, 1.0, 1.0]))
    task = GraphClustering()
    assert task.split(graph, Streams(0)) is None
    for one in (embedding, scaled):
        found = task.evaluate(one, graph, None, Streams(0))
        assert found["acc"] > 0.9 and found["clusters_found"] == 3
        assert 0.3 < found.floor["acc"] < 0.6 and abs(found.floor["ari"]) < 0.1
        assert not found.degenerate
    same = task.evaluate(Embedding(torch.ones(GRAPHS, 2)), graph, None, Streams(0))
    assert same.degenerate == ("one cluster holds every graph",)
    with pytest.raises(Unsupported, match="100 clusters, and 'pairs' has 60 graphs; give at most"):
        GraphClustering(clusters=100).split(graph, Streams(0))
    with pytest.raises(Unsupported, match="has no labels; give it with task.graph_clustering"):
        task.split(pairs(None), Streams(0))
