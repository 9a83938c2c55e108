"""NML-GCL and ProGCL: the papers' settings land where they belong, and a small training goes
through."""

from __future__ import annotations

import pytest
import torch

from gclbench.config.validation import experiment_of
from gclbench.graph import Graph, make_graph
from gclbench.methods.nml_gcl import NmlGcl
from gclbench.methods.progcl import Progcl
from gclbench.negatives.nml import Nml
from gclbench.negatives.progcl import ProgclMix, ProgclWeight
from gclbench.negatives.uniform import Uniform
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

# NML-GCL paper and official code (docs/sources.md): lr, weight decay, tau, epochs, T_M, alpha, edge
# and feature drop of both views.
NML_SETTINGS = {
    "cora": (5e-4, 1e-3, 0.8, 200, 2, 0.1, 0.4, 0.1),
    "citeseer": (5e-4, 5e-3, 0.7, 50, 3, 0.1, 0.4, 0.1),
    "pubmed": (5e-4, 0.0, 0.5, 150, 3, 0.05, 0.4, 0.1),
    "amazon_photo": (1e-4, 0.0, 0.5, 50, 5, 0.1, 0.4, 0.1),
    "amazon_computers": (5e-4, 0.0, 0.4, 50, 8, 0.1, 0.4, 0.1),
    "wiki_cs": (5e-4, 0.0, 0.5, 50, 6, 0.2, 0.2, 0.1),
}

# ProGCL's official code (docs/sources.md): lr, architecture, projector, activation, edge drops,
# feature drops, tau, epochs. Coauthor Physics has GCA's row (3.7).
PROGCL_SETTINGS = {
    "amazon_photo": (0.01, [256, 128], 128, "rrelu_mean", [0.6, 0.3], [0.2, 0.3], 0.2, 2500),
    "amazon_computers": (0.01, [256, 128], 128, "rrelu_mean", [0.6, 0.3], [0.2, 0.3], 0.2, 2000),
    "coauthor_cs": (1e-4, [512, 256], 256, "rrelu_mean", [0.3, 0.2], [0.3, 0.4], 0.2, 1000),
    "coauthor_phy": (0.01, [256, 128], 64, "rrelu_mean", [0.4, 0.1], [0.1, 0.4], 0.5, 1500),
    "wiki_cs": (0.01, [512, 256], 256, "prelu", [0.2, 0.3], [0.1, 0.1], 0.4, 3000),
}


@pytest.mark.parametrize("dataset", NML_SETTINGS)
def test_the_settings_of_nml_gcl(dataset):
    settings = experiment_of(["method=nml_gcl", f"dataset={dataset}"]).settings
    lr, weight_decay, tau, epochs, inner_steps, alpha, edges, columns = NML_SETTINGS[dataset]
    method, negatives = settings["method"], settings["negatives"]
    assert (method["lr"], method["weight_decay"], method["tau"], method["epochs"]) == (
        lr,
        weight_decay,
        tau,
        epochs,
    )
    assert (method["edge_drop"], method["feature_drop"]) == ([edges] * 2, [columns] * 2)
    assert (method["architecture"], method["activation"], method["last_activation"]) == (
        [512, 512],
        "rrelu",
        False,
    )
    assert (method["projector"], method["normalize_features"], method["intra"]) == (0, False, False)
    assert (negatives["name"], negatives["metric"], negatives["hidden"]) == (
        "nml",
        "separable",
        512,
    )
    assert (negatives["inner_steps"], negatives["alpha"]) == (inner_steps, alpha)
    # One Adam in the official code: the metric's rate and weight decay are the encoder's.
    assert (negatives["lr"], negatives["weight_decay"]) == (lr, weight_decay)


def test_nml_keeps_its_rows_on_another_base_and_a_filters_alpha_is_not_its_own():
    settings = experiment_of(
        ["method=grace", "negatives=nml", "filter=gnnbp", "dataset=citeseer"]
    ).settings
    assert (
        settings["negatives"]["inner_steps"] == 3 and settings["negatives"]["weight_decay"] == 5e-3
    )
    assert settings["filter"]["alpha"] == 0.4 and settings["negatives"]["alpha"] == 0.1


@pytest.mark.parametrize("dataset", PROGCL_SETTINGS)
def test_the_settings_of_progcl(dataset):
    settings = experiment_of(["method=progcl", f"dataset={dataset}"]).settings
    method = settings["method"]
    names = (
        "lr",
        "architecture",
        "projector",
        "activation",
        "edge_drop",
        "feature_drop",
        "tau",
        "epochs",
    )
    assert tuple(method[name] for name in names) == PROGCL_SETTINGS[dataset]
    assert (method["centrality"], method["weight_decay"], method["normalize_features"]) == (
        "eigenvector",
        1e-5,
        True,
    )
    assert method["intra"] and method["last_activation"]
    assert settings["negatives"] == {
        "name": "progcl_weight",
        "start_epoch": 400,
        "high_weight": 0.05,
        "em_steps": 10,
        "sampled_columns": 100,
    }


def test_progcl_on_a_citation_graph_has_graces_row():
    for dataset in ("cora", "citeseer", "pubmed", "dblp_citation", "acm"):
        progcl, grace = (
            experiment_of([f"method={name}", f"dataset={dataset}"]).settings["method"]
            for name in ("progcl", "grace")
        )
        assert {**progcl, "name": "grace"} == {**grace, "centrality": "eigenvector"}


def test_a_named_pair_takes_another_strategy():
    mix = experiment_of(["method=progcl", "negatives=progcl_mix"]).settings["negatives"]
    assert mix.pop("selected") == 1000, "ProGCL's official code"
    assert mix == {**experiment_of(["method=progcl"]).settings["negatives"], "name": "progcl_mix"}
    assert experiment_of(["method=mmix_mp", "negatives=imix"]).settings["negatives"] == {
        "name": "imix",
        "alpha": 1.0,
    }
    assert experiment_of(["method=nml_gcl"]).settings["negatives"]["detach"] is False, (
        "the official code's weights carry gradients"
    )
    assert experiment_of(["method=nml_gcl", "negatives=uniform"]).settings["negatives"] == {
        "name": "uniform"
    }


def ring(count: int = 24) -> Graph:
    """Two rings, each with features of its own."""
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(count, 10, generator=generator) < 0.3).float()
    x[: count // 2, :2], x[count // 2 :, 2:4] = 1, 1
    half = torch.arange(count // 2)
    edges = torch.stack([half, (half + 1) % (count // 2)])
    return make_graph(
        x, torch.cat([edges, edges + count // 2], dim=1), None, "rings", undirected=True
    )


STRATEGIES = [
    (NmlGcl, Nml(metric="separable", hidden=8, inner_steps=2)),
    (NmlGcl, Nml(metric="pairwise", hidden=4, inner_steps=1)),
    (NmlGcl, Nml(metric="oracle")),
    (NmlGcl, Nml(metric="uniform")),
    (NmlGcl, Nml(metric="cosine")),
    (Progcl, ProgclWeight()),
    (Progcl, ProgclMix(selected=5)),
]


@pytest.mark.parametrize("method,strategy", STRATEGIES)
def test_a_training_repeats_itself_to_the_bit_and_is_not_the_uniform_one(method, strategy):
    settings = {
        "epochs": 6,
        "lr": 0.01,
        "architecture": (8, 6),
        "projector": 4,
        "activation": "rrelu",
    }
    graph, labels = ring(), torch.full((24,), -1)

    def embedded(negatives):
        watch = Watch()
        embedding = method(**settings).fit(graph, labels, Streams(5), watch, negatives)
        assert watch.reached == 6
        return embedding

    first, second = embedded(strategy), embedded(strategy)
    assert torch.equal(first.z, second.z) and bool(torch.isfinite(first.z).all())
    assert not torch.equal(first.z, embedded(Uniform()).z)
    rows = first.contrast.weights
    if isinstance(strategy, ProgclMix):
        assert rows is None
    else:
        found = rows(0, 24)
        torch.testing.assert_close((found.sum(dim=1) - found.diagonal()) / 23, torch.ones(24))
