"""Link prediction metrics: scores of node pairs and how well they rank edges above non-edges."""

from __future__ import annotations

import numpy as np

# Bounds the gathered rows of one block: 2 × 16384 × d numbers.
PAIRS_PER_BLOCK = 16384


def pair_logits(z: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """z_i · z_j of every pair, in float64.

    The logit is the score, not its sigmoid. The sigmoid rounds large logits to 1, and such ties
    move AUC and AP.

    Args:
        z: embedding, N×d.
        pairs: node pairs, 2×P.

    Returns:
        P scores.
    """
    scores = np.empty(pairs.shape[1], dtype=np.float64)
    for start in range(0, pairs.shape[1], PAIRS_PER_BLOCK):
        block = slice(start, start + PAIRS_PER_BLOCK)
        left, right = z[pairs[0, block]], z[pairs[1, block]]
        scores[block] = np.einsum("pd,pd->p", left, right, dtype=np.float64)
    return scores


def link_auc(edges: np.ndarray, non_edges: np.ndarray) -> float:
    """AUC: the probability that an edge scores above a non-edge; a tie counts one half.

    Args:
        edges: scores of the held-out edges.
        non_edges: scores of the pairs that are no edges.

    Raises:
        ValueError: one of the two is empty.
    """
    from sklearn.metrics import roc_auc_score

    truth, scores = _ranked(edges, non_edges)
    return float(roc_auc_score(truth, scores))


def link_average_precision(edges: np.ndarray, non_edges: np.ndarray) -> float:
    """AP = Σ_n (R_n − R_{n−1}) P_n over the distinct score thresholds; arguments and errors as in
    `link_auc`."""
    from sklearn.metrics import average_precision_score

    truth, scores = _ranked(edges, non_edges)
    return float(average_precision_score(truth, scores))


def _ranked(edges: np.ndarray, non_edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(edges) or not len(non_edges):
        raise ValueError(
            f"AUC and AP need both kinds of pairs; found scores of {len(edges)} edges and"
            f" {len(non_edges)} non-edges"
        )
    truth = np.concatenate(
        [np.ones(len(edges), dtype=np.int64), np.zeros(len(non_edges), dtype=np.int64)]
    )
    return truth, np.concatenate([edges, non_edges])
