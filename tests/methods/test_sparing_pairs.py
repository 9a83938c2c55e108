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

# lr, epochs, projector, row-normalised, clusters, mean.
HOMOGCL_SETTINGS = {
    "cora": (1e-3, 50, 0, True, 10, True),
    "citeseer": (1e-3, 40, 0, True, 30, False),
    "pubmed": (1e-3, 100, 0, True, 10, False),
    "amazon_photo": (1e-4, 50, 64, False, 10, False),
    "amazon_computers": (1e-4, 100, 0, False, 30, False),
    "wiki_cs": (1e-3, 50, 0, True, 10, False),
}
# τ, epochs, edge drop, row-normalised, hops, interval, μ, λ.
GRAPE_SETTINGS = {
    "cora": (0.5, 100, 0.4, True, 5, 5, 0.5, 1),
    "citeseer": (1.0, 20, 0.4, True, 3, 2, 0.5, 1),
    "pubmed": (1.0, 100, 0.4, True, 4, 10, 0.5, 1),
    "amazon_photo": (0.5, 100, 0.4, False, 2, 5, 0.1, 1),
    "amazon_computers": (0.5, 100, 0.4, False, 2, 10, 0.5, 1),
    "wiki_cs": (0.5, 100, 0.4, False, 2, 5, 0.5, 1),
    "coauthor_cs": (0.5, 100, 0.3, False, 3, 5, 0.1, 1),
    "coauthor_phy": (0.5, 100, 0.4, False, 2, 5, 0.5, 100),
    "acm": (0.5, 100, 0.4, True, 2, 5, 0.5, 1),
}
# Of HomoGCL's and GRAPE's codes.
ENCODER = {
    "architecture": [512, 256],
    "activation": "relu",
    "last_activation": False,
    "weight_decay": 0.0,
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


@pytest.mark.parametrize("dataset", HOMOGCL_SETTINGS)
def test_the_settings_of_homogcl(dataset):
    method, negatives = settings_of("homogcl", dataset)
    names = ("lr", "epochs", "projector", "normalize_features")
    found = (*(method[name] for name in names), negatives["clusters"], negatives["mean"])
    assert found == HOMOGCL_SETTINGS[dataset]
    assert {name: method[name] for name in ENCODER} == ENCODER
    assert (method["tau"], method["edge_drop"], method["feature_drop"]) == (
        0.5,
        [0.4] * 2,
        [0.1] * 2,
    )
    assert {name: negatives[name] for name in ("name", "sigma", "alpha", "steps")} == {
        "name": "homogcl", "sigma": 1e-3, "alpha": 1.0, "steps": 20
    }  # fmt: skip


@pytest.mark.parametrize("dataset", GRAPE_SETTINGS)
def test_the_settings_of_grape(dataset):
    method, negatives = settings_of("grape", dataset)
    names = ("hops", "interval", "balance", "penalty")
    found = (
        method["tau"],
        method["epochs"],
        method["edge_drop"][0],
        method["normalize_features"],
        *(negatives[name] for name in names),
    )
    assert found == GRAPE_SETTINGS[dataset]
    assert method["edge_drop"] == [method["edge_drop"][0]] * 2
    assert (method["lr"], method["feature_drop"], method["projector"]) == (1e-3, [0.1] * 2, 0)
    assert {name: method[name] for name in ENCODER} == ENCODER
    assert {name: negatives[name] for name in ("name", "scheme", "steps", "lr")} == {
        "name": "grape", "scheme": "mask", "steps": 10, "lr": 0.1
    }  # fmt: skip


def test_phases_has_one_setting_for_all_datasets():
    (method, negatives), other = settings_of("phases", "cora"), settings_of("phases", "pubmed")
    assert (method, negatives) == other
    assert {name: method[name] for name in ENCODER} == ENCODER
    assert (method["epochs"], method["tau"]) == (100, 0.5)
    assert negatives == {"name": "phases", "most": 0.1, "begin": 0.2, "end": 0.8}
