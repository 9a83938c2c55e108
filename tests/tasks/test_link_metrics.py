from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from gclbench.tasks import link_metrics


@pytest.mark.parametrize("seed", range(3))
def test_auc_is_the_share_of_ordered_pairs_with_ties_as_one_half(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges, non_edges = rng.integers(0, 6, 40) + 1.0, rng.integers(0, 6, 30).astype(float)
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in edges for b in non_edges)
    assert link_metrics.link_auc(edges, non_edges) == pytest.approx(wins / (40 * 30))
    truth = np.r_[np.ones(40), np.zeros(30)]
    assert link_metrics.link_auc(edges, non_edges) == pytest.approx(
        roc_auc_score(truth, np.r_[edges, non_edges])
    )


@pytest.mark.parametrize("seed", range(3))
def test_average_precision_against_a_loop_over_thresholds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges, non_edges = rng.integers(0, 8, 40) + 1.0, rng.integers(0, 8, 30).astype(float)
    area, recall = 0.0, 0.0
    for threshold in sorted(set(edges) | set(non_edges), reverse=True):
        hits, false = sum(edges >= threshold), sum(non_edges >= threshold)
        area += (hits / 40 - recall) * hits / (hits + false)
        recall = hits / 40
    assert link_metrics.link_average_precision(edges, non_edges) == pytest.approx(area)
    truth = np.r_[np.ones(40), np.zeros(30)]
    assert link_metrics.link_average_precision(edges, non_edges) == pytest.approx(
        average_precision_score(truth, np.r_[edges, non_edges])
    )


def test_logits_are_dot_products_whatever_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20, 7)).astype(np.float32)
    pairs = rng.integers(0, 20, (2, 31))
    plain = [sum(float(a) * float(b) for a, b in zip(z[i], z[j], strict=True)) for i, j in pairs.T]
    for size in (4, 31, 100):
        monkeypatch.setattr(link_metrics, "PAIRS_PER_BLOCK", size)
        # Scores of other pairs first: memory left over from them must not pass for the right
        # answer.
        link_metrics.pair_logits(z + 1, pairs)
        np.testing.assert_allclose(link_metrics.pair_logits(z, pairs), plain, rtol=1e-12)


def test_large_logits_keep_their_order_where_a_sigmoid_would_tie() -> None:
    z = np.array([[10.0], [10.0], [9.0]], dtype=np.float32)
    high = link_metrics.pair_logits(z, np.array([[0], [1]]))
    low = link_metrics.pair_logits(z, np.array([[0], [2]]))
    assert 1 / (1 + np.exp(-high[0])) == 1 / (1 + np.exp(-low[0]))
    assert link_metrics.link_auc(high, low) == 1.0


@pytest.mark.parametrize("metric", [link_metrics.link_auc, link_metrics.link_average_precision])
def test_a_ranking_without_one_kind_of_pairs_is_refused(metric) -> None:
    with pytest.raises(
        ValueError,
        match="AUC and AP need both kinds of pairs; found scores of 0 edges and 2 non-edges",
    ):
        metric(np.array([]), np.array([0.1, 0.2]))
