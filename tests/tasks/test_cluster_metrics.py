from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import (
    adjusted_rand_score,
    f1_score,
    fowlkes_mallows_score,
    normalized_mutual_info_score,
)

from gclbench.tasks import cluster_metrics as cm

SIZES = [(3, 3), (5, 2), (2, 5), (4, 1)]


def draw(classes: int, clusters: int, seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    agreeing = rng.random(n) < 0.5
    return labels, np.where(agreeing, (labels + 1) % clusters, rng.integers(0, clusters, n))


def draw_graph(
    seed: int, n: int = 25, clusters: int = 4, edges: int = 60
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n - 2), 2))  # the last two nodes stay isolated
    chosen = [pairs[i] for i in rng.choice(len(pairs), edges, replace=False)]
    both = np.array(chosen + [(v, u) for u, v in chosen]).T
    return both, rng.integers(0, clusters, n), chosen


def matchings(classes: list[int], clusters: list[int]) -> list[dict[int, int]]:
    """All one-to-one matchings of cluster to class; −1 stands for 'no class'."""
    padded = classes + [-1] * max(0, len(clusters) - len(classes))
    return [
        dict(zip(clusters, chosen, strict=True))
        for chosen in itertools.permutations(padded, len(clusters))
    ]


@pytest.mark.parametrize("classes,clusters", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_accuracy_is_the_best_over_all_matchings(classes: int, clusters: int, seed: int) -> None:
    labels, found = draw(classes, clusters, seed)
    best = max(
        sum(match[c] == y for y, c in zip(labels, found, strict=True)) / len(labels)
        for match in matchings(sorted(set(labels.tolist())), sorted(set(found.tolist())))
    )
    assert cm.clustering_accuracy(labels, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("classes,clusters", SIZES)
def test_macro_f1_is_sklearns_after_the_best_matching(classes: int, clusters: int) -> None:
    labels, found = draw(classes, clusters, seed=7)
    scores: dict[float, set[float]] = {}
    for match in matchings(sorted(set(labels.tolist())), sorted(set(found.tolist()))):
        named = np.array([match[c] for c in found])
        per_class = []
        for k in set(labels.tolist()):
            hit = int(((named == k) & (labels == k)).sum())
            per_class.append(2 * hit / (int((named == k).sum()) + int((labels == k).sum())))
        scores.setdefault(float(np.mean(named == labels)), set()).add(
            round(float(np.mean(per_class)), 10)
        )
    assert round(cm.clustering_macro_f1(labels, found), 10) in scores[max(scores)]


def test_matching_is_one_to_one_and_leaves_surplus_clusters_without_a_class() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1])
    found = np.array([5, 5, 9, 9, 7, 7])
    matched = cm.matched_labels(labels, found)
    assert matched[4:].tolist() == [1, 1]
    assert sorted({matched[0], matched[2]}) == [cm.UNMATCHED, 0]
    assert cm.clustering_accuracy(labels, found) == pytest.approx(4 / 6)


def test_missing_clusters_are_kept_not_patched() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2])
    found = np.zeros(6, dtype=int)
    assert cm.clustering_accuracy(labels, found) == pytest.approx(0.5)
    assert cm.clustering_macro_f1(labels, found) == pytest.approx((2 * 3 / 9) / 3)
    assert cm.normalized_mutual_information(labels, found) == pytest.approx(0.0)


def test_renaming_clusters_changes_no_agreement_metric() -> None:
    labels, found = draw(4, 4, seed=1)
    renamed = np.array([30, 2, 17, 8])[found]
    for metric in (
        cm.clustering_accuracy,
        cm.clustering_macro_f1,
        cm.normalized_mutual_information,
        cm.adjusted_rand_index,
        cm.fowlkes_mallows_index,
    ):
        assert metric(labels, renamed) == pytest.approx(metric(labels, found))
        assert metric(labels, labels + 10) == pytest.approx(1.0)
        assert metric(3 * labels + 2, found) == pytest.approx(metric(labels, found))


@pytest.mark.parametrize("classes,clusters", SIZES)
def test_nmi_uses_the_arithmetic_mean_of_the_entropies(classes: int, clusters: int) -> None:
    labels, found = draw(classes, clusters, seed=3)
    n = len(labels)
    information = entropy_labels = entropy_found = 0.0
    for a in set(labels.tolist()):
        p = np.mean(labels == a)
        entropy_labels -= p * math.log(p)
        for b in set(found.tolist()):
            both = np.sum((labels == a) & (found == b)) / n
            if both:
                information += both * math.log(both / (p * np.mean(found == b)))
    for b in set(found.tolist()):
        p = np.mean(found == b)
        entropy_found -= p * math.log(p)
    mine = cm.normalized_mutual_information(labels, found)
    assert mine == pytest.approx(2 * information / (entropy_labels + entropy_found), abs=1e-9)
    assert mine == pytest.approx(
        normalized_mutual_info_score(labels, found, average_method="arithmetic")
    )


@pytest.mark.parametrize("classes,clusters", SIZES)
def test_pair_counting_metrics_against_a_double_loop(classes: int, clusters: int) -> None:
    labels, found = draw(classes, clusters, seed=4)
    together = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for i, j in itertools.combinations(range(len(labels)), 2):
        together[bool(labels[i] == labels[j]), bool(found[i] == found[j])] += 1
    tp, fn, fp, tn = (
        together[True, True],
        together[True, False],
        together[False, True],
        together[False, False],
    )
    assert cm.fowlkes_mallows_index(labels, found) == pytest.approx(
        tp / math.sqrt((tp + fp) * (tp + fn))
    )
    expected = (tp + fp) * (tp + fn) / (tp + fn + fp + tn)
    ari = (tp - expected) / (((tp + fp) + (tp + fn)) / 2 - expected)
    assert cm.adjusted_rand_index(labels, found) == pytest.approx(ari)
    assert cm.adjusted_rand_index(labels, found) == pytest.approx(
        adjusted_rand_score(labels, found)
    )
    assert cm.fowlkes_mallows_index(labels, found) == pytest.approx(
        fowlkes_mallows_score(labels, found)
    )


@pytest.mark.parametrize("seed", range(4))
def test_modularity_against_the_double_loop_over_node_pairs(seed: int) -> None:
    edge_index, clusters, edges = draw_graph(seed)
    n, m = len(clusters), len(edges)
    adjacency = np.zeros((n, n))
    for u, v in edges:
        adjacency[u, v] = adjacency[v, u] = 1
    degrees = adjacency.sum(axis=1)
    q = 0.0
    for i in range(n):
        for j in range(n):
            if clusters[i] == clusters[j]:
                q += adjacency[i, j] - degrees[i] * degrees[j] / (2 * m)
    assert cm.modularity(edge_index, clusters) == pytest.approx(q / (2 * m), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_both_conductances_against_a_loop_over_edges(seed: int) -> None:
    edge_index, clusters, edges = draw_graph(seed)
    clusters[-2:] = (
        9  # isolated nodes with a cluster of their own: no edge, contributes 0 but counts
    )
    per_cluster = []
    for c in set(clusters.tolist()):
        inside = sum(clusters[u] == c and clusters[v] == c for u, v in edges)
        cut = sum((clusters[u] == c) != (clusters[v] == c) for u, v in edges)
        per_cluster.append(cut / (2 * inside + cut) if inside + cut else 0.0)
    assert cm.conductance(edge_index, clusters) == pytest.approx(
        sum(per_cluster) / len(per_cluster), abs=1e-12
    )
    assert 0.0 in per_cluster
    crossing = sum(clusters[u] != clusters[v] for u, v in edges)
    assert cm.pooled_conductance(edge_index, clusters) == pytest.approx(
        crossing / len(edges), abs=1e-12
    )


def test_the_two_conductances_differ_on_clusters_of_unequal_size() -> None:
    # a triangle 0-1-2 with a tail 3: one edge of four is cut; cluster {3} is all cut, the triangle
    # one of seven ends
    edges = np.array([[0, 1, 2, 0], [1, 2, 0, 3]])
    edge_index, clusters = np.concatenate([edges, edges[::-1]], axis=1), np.array([0, 0, 0, 1])
    assert cm.conductance(edge_index, clusters) == pytest.approx((1 / 7 + 1) / 2)
    assert cm.pooled_conductance(edge_index, clusters) == pytest.approx(1 / 4)
    assert cm.modularity(edge_index, clusters) == pytest.approx(3 / 4 - (7 / 8) ** 2 - (1 / 8) ** 2)


def test_macro_f1_equals_sklearn_when_clusters_are_the_classes_renamed_with_errors() -> None:
    labels, _ = draw(3, 3, seed=0)
    found = labels.copy()
    found[:5] = (found[:5] + 1) % 3
    assert cm.clustering_macro_f1(labels, (found + 1) % 3) == pytest.approx(
        f1_score(labels, found, average="macro")
    )


@pytest.mark.parametrize("metric", [cm.modularity, cm.conductance, cm.pooled_conductance])
def test_edge_metrics_refuse_what_is_undefined(metric) -> None:
    with pytest.raises(
        ValueError, match="the graph has no edges: modularity and conductance are undefined"
    ):
        metric(np.zeros((2, 0), dtype=int), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"edge_index has shape \(3, 2\); it must be 2×E"):
        metric(np.zeros((3, 2), dtype=int), np.array([0, 1]))


@pytest.mark.parametrize(
    "metric",
    [
        cm.clustering_accuracy,
        cm.clustering_macro_f1,
        cm.normalized_mutual_information,
        cm.adjusted_rand_index,
        cm.fowlkes_mallows_index,
    ],
)
def test_agreement_metrics_refuse_arrays_that_do_not_pair(metric) -> None:
    with pytest.raises(
        ValueError,
        match=r"labels \(2,\) and clusters \(3,\) must be two non-empty arrays of the same length",
    ):
        metric(np.array([0, 1]), np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="non-empty"):
        metric(np.array([], dtype=int), np.array([], dtype=int))


def test_unlabelled_nodes_are_refused_by_the_matching() -> None:
    with pytest.raises(ValueError, match="leave unlabelled nodes out before comparing"):
        cm.clustering_accuracy(np.array([0, -1]), np.array([0, 1]))
