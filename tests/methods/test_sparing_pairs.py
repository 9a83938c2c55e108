"""GRACE+ and its kin: the settings of their official codes land where they belong."""

from __future__ import annotations

import pytest

from gclbench.config.validation import experiment_of

# The official code (docs/sources.md): τ⁺, τ⁻, β, anchors.
GRACE_PLUS_SETTINGS = {
    "cora": (0.1, 0.1, 0.6, 0),
    "citeseer": (10, 0.001, 0.9, 0),
    "pubmed": (1, 0.1, 0.7, 5000),
    "dblp_citation": (10, 10, 0.5, 5000),
    "amazon_photo": (0.001, 0.1, 0.5, 0),
    "amazon_computers": (0.1, 0.001, 0.3, 0),
    "wiki_cs": (0.5, 0.01, 0.5, 0),
    "coauthor_cs": (1, 0.01, 0.7, 0),
}


def settings_of(method: str, dataset: str) -> tuple[dict, dict]:
    """The settings of the method, and of its strategy."""
    found = experiment_of([f"method={method}", f"dataset={dataset}"]).settings
    return found["method"], found["negatives"]


@pytest.mark.parametrize("dataset", GRACE_PLUS_SETTINGS)
def test_the_settings_of_grace_plus(dataset):
    method, negatives = settings_of("grace_plus", dataset)
    names = ("tau_positive", "tau_negative", "feature_share", "anchors")
    assert negatives["name"] == "grace_plus"
    assert tuple(negatives[name] for name in names) == GRACE_PLUS_SETTINGS[dataset]
    base, _ = settings_of("grace", dataset)
    assert method == {**base, "name": "grace_plus"}
