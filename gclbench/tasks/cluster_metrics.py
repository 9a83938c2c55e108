"""Clustering metrics: agreement with classes, and quality of the partition as a cut of the graph.

All functions take NumPy arrays. `labels` and `clusters` are integer arrays of the same length;
their values are names only. `edge_index` (2×E) holds both directions of every undirected edge and
no self-loops, as `gclbench.graph.make_graph` builds it; parallel edges count each. `weight` (E)
holds the weights of its entries, None where all are 1: numbers of edges are then sums of weights.
"""

from __future__ import annotations

import numpy as np

# Names no class: what a cluster is matched to when there are more clusters than classes.
UNMATCHED = -1


def matched_labels(labels: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Each node's cluster renamed to the class that the cluster is matched to.

    The one-to-one matching has the most nodes in agreement (Hungarian algorithm, Kuhn 1955). The
    table of counts may be rectangular, as if padded with zeros: with fewer clusters than classes
    some classes get no cluster, with more some clusters get no class and their nodes the value −1.
    Predictions are never patched.

    Args:
        labels: classes, all ≥ 0.
        clusters: the predicted clusters.

    Returns:
        An int64 array with a class, or −1, per node.

    Raises:
        ValueError: for arrays that are empty or of different length, or a negative class.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    labels, clusters = _paired(labels, clusters)
    if labels.min() < 0:
        raise ValueError(
            "labels holds negative classes; leave unlabelled nodes out before comparing"
        )
    classes, class_of = np.unique(labels, return_inverse=True)
    names, cluster_of = np.unique(clusters, return_inverse=True)
    agreement = contingency_matrix(class_of, cluster_of)
    rows, columns = linear_sum_assignment(agreement, maximize=True)
    match = np.full(len(names), UNMATCHED, dtype=np.int64)
    match[columns] = classes[rows]
    return match[cluster_of]


def clustering_accuracy(labels: np.ndarray, clusters: np.ndarray) -> float:
    """ACC = max over one-to-one matchings π of (1/N) Σ_i [labels_i = π(clusters_i)], in [0, 1]."""
    return float(np.mean(matched_labels(labels, clusters) == labels))


def clustering_macro_f1(labels: np.ndarray, clusters: np.ndarray) -> float:
    """Unweighted mean over the classes of the F1 score after the matching of `matched_labels`.

    A class without a cluster scores 0 and counts in the mean.
    """
    from sklearn.metrics import f1_score

    matched = matched_labels(labels, clusters)
    return float(
        f1_score(labels, matched, labels=np.unique(labels), average="macro", zero_division=0.0)
    )


def normalized_mutual_information(labels: np.ndarray, clusters: np.ndarray) -> float:
    """NMI = I(labels; clusters) / ((H(labels) + H(clusters)) / 2), the arithmetic normalisation."""
    from sklearn.metrics import normalized_mutual_info_score

    labels, clusters = _paired(labels, clusters)
    return float(normalized_mutual_info_score(labels, clusters, average_method="arithmetic"))


def adjusted_rand_index(labels: np.ndarray, clusters: np.ndarray) -> float:
    """ARI: the Rand index, corrected for chance (Hubert & Arabie 1985); 1 for equal partitions,
    about 0 by chance."""
    from sklearn.metrics import adjusted_rand_score

    labels, clusters = _paired(labels, clusters)
    return float(adjusted_rand_score(labels, clusters))


def fowlkes_mallows_index(labels: np.ndarray, clusters: np.ndarray) -> float:
    """FMI = TP / √((TP+FP)(TP+FN)) over all pairs of nodes (Fowlkes & Mallows 1983)."""
    from sklearn.metrics import fowlkes_mallows_score

    labels, clusters = _paired(labels, clusters)
    return float(fowlkes_mallows_score(labels, clusters))


def modularity(
    edge_index: np.ndarray, clusters: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Newman's modularity Q = Σ_c [m_c/m − (vol_c/2m)²] (Newman & Girvan 2004).

    m_c is the number of undirected edges inside cluster c, vol_c the sum of its nodes' degrees, m
    the number of edges.

    Raises:
        ValueError: the graph has no edges, for which Q is undefined.
    """
    inside, cut = _edge_ends(edge_index, clusters, weight)
    ends = inside.sum() + cut.sum()
    volume = (inside + cut) / ends
    return float(inside.sum() / ends - np.square(volume).sum())


def conductance(
    edge_index: np.ndarray, clusters: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Mean over clusters of cut_c / (2 m_c + cut_c) (Yang & Leskovec 2012).

    cut_c is the number of edges with one end in c, m_c of those with both. A cluster without any
    edge contributes 0 and counts in the mean.

    Raises:
        ValueError: the graph has no edges.
    """
    inside, cut = _edge_ends(edge_index, clusters, weight)
    volume = inside + cut
    return float(np.mean(np.divide(cut, volume, out=np.zeros(len(cut)), where=volume > 0)))


def pooled_conductance(
    edge_index: np.ndarray, clusters: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Σ cut / Σ (cut + intra): the share of edges that join two clusters.

    The DMAT paper does not say whether it prints this or `conductance`, so both are reported.

    Raises:
        ValueError: the graph has no edges.
    """
    inside, cut = _edge_ends(edge_index, clusters, weight)
    return float(cut.sum() / (inside.sum() + cut.sum()))


def _paired(labels: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels, clusters = np.asarray(labels), np.asarray(clusters)
    if labels.shape != clusters.shape or labels.ndim != 1 or not len(labels):
        raise ValueError(
            f"labels {labels.shape} and clusters {clusters.shape} must be two non-empty arrays of"
            " the same length"
        )
    return labels, clusters


def _edge_ends(
    edge_index: np.ndarray, clusters: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Per cluster, as float64: ends of its internal edges (2 m_c) and of the edges that leave it
    (cut_c)."""
    edge_index = np.asarray(edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(
            f"edge_index has shape {edge_index.shape};"
            " it must be 2×E, both directions of every edge"
        )
    if edge_index.shape[1] == 0:
        raise ValueError("the graph has no edges: modularity and conductance are undefined")
    names, cluster_of = np.unique(clusters, return_inverse=True)
    source, target = cluster_of[edge_index[0]], cluster_of[edge_index[1]]
    same = source == target
    inside, cut = (
        np.bincount(
            source[chosen], None if weight is None else weight[chosen], minlength=len(names)
        ).astype(np.float64)
        for chosen in (same, ~same)
    )
    return inside, cut
