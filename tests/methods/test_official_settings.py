"""GCA, BGRL, CCA-SSG, DGI and MVGRL: the settings of their official codes land in the method."""

from __future__ import annotations

from typing import Any

import pytest

from gclbench.config.validation import experiment_of

GCA_COLUMNS = (
    "lr",
    "architecture",
    "projector",
    "activation",
    "edge_drop",
    "feature_drop",
    "tau",
    "epochs",
)
# GCA's official code (docs/sources.md); the first layer is twice as wide as `hidden`, and its RReLU
# has the mean slope.
GCA_SETTINGS = {
    "amazon_photo": (0.1, [512, 256], 64, "relu", [0.3, 0.5], [0.1, 0.1], 0.3, 2000),
    "amazon_computers": (0.01, [256, 128], 128, "rrelu_mean", [0.6, 0.3], [0.2, 0.3], 0.2, 2000),
    "coauthor_cs": (5e-4, [512, 256], 256, "rrelu_mean", [0.3, 0.2], [0.3, 0.4], 0.4, 1000),
    "coauthor_phy": (0.01, [256, 128], 64, "rrelu_mean", [0.4, 0.1], [0.1, 0.4], 0.5, 1500),
    "wiki_cs": (0.01, [512, 256], 256, "prelu", [0.2, 0.3], [0.1, 0.1], 0.4, 3000),
    # GRACE's rows (docs/choices.md, docs/sources.md); a dataset without one has Cora's.
    "cora": (5e-4, [256, 128], 128, "relu", [0.2, 0.4], [0.3, 0.4], 0.4, 200),
    "citeseer": (1e-3, [512, 256], 256, "prelu", [0.2, 0.0], [0.3, 0.2], 0.9, 200),
    "pubmed": (1e-3, [512, 256], 256, "relu", [0.4, 0.1], [0.0, 0.2], 0.7, 1500),
    "dblp_citation": (1e-3, [512, 256], 256, "relu", [0.1, 0.4], [0.1, 0.0], 0.7, 1000),
    "acm": (5e-4, [256, 128], 128, "relu", [0.2, 0.4], [0.3, 0.4], 0.4, 200),
}

BGRL_COLUMNS = ("architecture", "lr", "edge_drop", "feature_drop", "epochs")
# BGRL's official code (docs/sources.md).
BGRL_SETTINGS = {
    "wiki_cs": ([512, 256], 5e-4, [0.2, 0.3], [0.2, 0.1], 10000),
    "amazon_photo": ([256, 128], 1e-4, [0.4, 0.1], [0.1, 0.2], 10000),
    "amazon_computers": ([256, 128], 5e-4, [0.5, 0.4], [0.2, 0.1], 10000),
    "coauthor_cs": ([512, 256], 1e-5, [0.3, 0.2], [0.3, 0.4], 10000),
    "coauthor_phy": ([256, 128], 1e-5, [0.4, 0.1], [0.1, 0.4], 10000),
    # Wiki-CS's with a tenth of its epochs (docs/choices.md).
    "cora": ([512, 256], 5e-4, [0.2, 0.3], [0.2, 0.1], 1000),
}

CCA_SSG_COLUMNS = (
    "epochs",
    "encoder",
    "architecture",
    "decorrelation",
    "feature_drop",
    "edge_drop",
    "normalize_features",
)
# CCA-SSG's official code (docs/sources.md); both λ of Coauthor and the drops of Coauthor CS, which
# it leaves out, are those of the official README and main.py.
CCA_SSG_SETTINGS = {
    "cora": (50, "gcn", [512, 512], 1e-3, 0.1, 0.4, True),
    "citeseer": (20, "gcn", [512], 5e-4, 0.0, 0.4, True),
    "pubmed": (100, "gcn", [512, 512], 1e-3, 0.3, 0.5, True),
    "amazon_computers": (50, "gcn", [512, 512], 5e-4, 0.1, 0.3, False),
    "amazon_photo": (50, "gcn", [512, 512], 1e-3, 0.2, 0.3, False),
    "coauthor_cs": (50, "mlp", [512, 512], 1e-3, 0.2, 0.2, False),
    "coauthor_phy": (100, "gcn", [512, 512], 1e-3, 0.5, 0.5, False),
    # Cora's (docs/choices.md).
    "acm": (50, "gcn", [512, 512], 1e-3, 0.1, 0.4, True),
}

# DGI's official code (docs/sources.md).
DGI_SETTINGS = {
    "epochs": 10000,
    "patience": 20,
    "lr": 1e-3,
    "weight_decay": 0.0,
    "hidden": 512,
    "activation": "prelu",
    "normalize_features": True,
}

# MVGRL's official code (docs/sources.md); the full graph and τ: docs/choices.md.
MVGRL_SETTINGS = {
    "objective": "summary",
    "epochs": 3000,
    "patience": 20,
    "subgraphs": 0,
    "subgraph_nodes": 2000,
    "lr": 1e-3,
    "weight_decay": 0.0,
    "hidden": 512,
    "activation": "prelu",
    "alpha": 0.2,
    "tau": 1.0,
    "intra": True,
}


def composed(method: str, dataset: str) -> dict[str, Any]:
    return experiment_of([f"method={method}", f"dataset={dataset}"]).settings["method"]


@pytest.mark.parametrize("dataset", GCA_SETTINGS)
def test_the_settings_of_gca(dataset: str) -> None:
    found = composed("gca", dataset)
    assert {name: found[name] for name in GCA_COLUMNS} == dict(
        zip(GCA_COLUMNS, GCA_SETTINGS[dataset], strict=True)
    )
    assert (found["centrality"], found["weight_decay"], found["normalize_features"]) == (
        "degree",
        1e-5,
        True,
    )
    assert found["intra"] and found["last_activation"]


@pytest.mark.parametrize("dataset", BGRL_SETTINGS)
def test_the_settings_of_bgrl(dataset: str) -> None:
    found = composed("bgrl", dataset)
    assert {name: found[name] for name in BGRL_COLUMNS} == dict(
        zip(BGRL_COLUMNS, BGRL_SETTINGS[dataset], strict=True)
    )
    assert (found["predictor"], found["momentum"], found["warmup"]) == (512, 0.99, 0.1)
    assert (found["weight_decay"], found["normalize_features"]) == (1e-5, True)


@pytest.mark.parametrize("dataset", CCA_SSG_SETTINGS)
def test_the_settings_of_cca_ssg(dataset: str) -> None:
    found = composed("cca_ssg", dataset)
    assert {name: found[name] for name in CCA_SSG_COLUMNS} == dict(
        zip(CCA_SSG_COLUMNS, CCA_SSG_SETTINGS[dataset], strict=True)
    )
    assert (found["lr"], found["weight_decay"]) == (1e-3, 0.0)


@pytest.mark.parametrize("dataset", ["cora", "amazon_photo"])
def test_dgi_has_the_same_settings_everywhere(dataset: str) -> None:
    found = composed("dgi", dataset)
    assert {name: found[name] for name in DGI_SETTINGS} == DGI_SETTINGS


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed", "amazon_photo"])
def test_mvgrl_has_the_same_settings_everywhere_but_for_citeseers_features(dataset: str) -> None:
    found = composed("mvgrl", dataset)
    assert {name: found[name] for name in MVGRL_SETTINGS} == MVGRL_SETTINGS
    assert found["normalize_features"] is (dataset == "citeseer")
