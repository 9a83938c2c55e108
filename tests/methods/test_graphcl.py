"""GraphCL on collections: its loss against double loops, and its strategies."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from methods.small_collection import small_collection

from gclbench.component.registry import NEGATIVES
from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.contrast.graph_views import AUGMENTATIONS
from gclbench.graph import Unsupported
from gclbench.methods.graphcl import Graphcl, GraphclModel
from gclbench.negatives.augcl import Augcl
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uniform import Uniform
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

STEP = Step(1, 2)


def model(**settings) -> GraphclModel:
    return GraphclModel(Graphcl(**settings), small_collection(), Streams(0), Uniform())


def cosines(pair: Pair) -> list[list[float]]:
    u, v = (rows.detach().double() for rows in (pair.u, pair.v))
    return [[float(torch.cosine_similarity(a, b, dim=0)) / pair.tau for b in v] for a in u]


def test_the_plain_loss_is_the_papers_double_loop() -> None:
    built = model(batch_size=10)
    pair = built.pair(STEP, built.collection.batch(torch.arange(6)))
    total, scores = 0.0, cosines(pair)
    for i in range(6):
        below = sum(math.exp(scores[i][j]) for j in range(6) if j != i)
        total -= math.log(math.exp(scores[i][i]) / below)
    assert built.plain(pair).value.item() == pytest.approx(total / 6, rel=1e-5)


def test_the_other_objective_has_the_positive_below_and_both_directions() -> None:
    built = model(objective="all")
    pair = built.pair(STEP, built.collection.batch(torch.arange(6)))
    total, scores = 0.0, cosines(pair)
    for i in range(6):
        row = sum(math.exp(scores[i][j]) for j in range(6))
        column = sum(math.exp(scores[j][i]) for j in range(6))
        total += 0.5 * (math.log(row) + math.log(column)) - scores[i][i]
    assert built.plain(pair).value.item() == pytest.approx(total / 6, rel=1e-5)


def test_the_first_view_is_the_graph_itself_unless_both_are_augmented() -> None:
    for both in (False, True):
        built = model(both=both, augmentations=("mask",), ratio=0.9)
        batch = built.collection.batch(torch.arange(10))
        pair = built.pair(STEP, batch)
        itself = built.projected(built.encoded(batch), None)
        assert torch.allclose(pair.u, itself) != both
        assert not torch.allclose(pair.v, itself)


def test_only_the_encoder_is_evaluated() -> None:
    found = Graphcl(epochs=0).fit(small_collection(), torch.empty(0), Streams(0), Watch())
    built = model()
    built.eval()
    torch.testing.assert_close(found.z, built.encoded(built.collection.all))


OF_NODES = {
    "grace_plus": "edges and features",
    "grape": "shows no",
    "homogcl": "takes neighbours for positives",
}
"""Strategies that read what graphs do not have between each other, and what they say."""


@pytest.mark.parametrize("name", OF_NODES)
def test_strategies_about_neighbours_are_refused(name: str) -> None:
    negatives = experiment_of(["method=graphcl", f"negatives={name}"]).components.negatives
    with pytest.raises(Unsupported, match=OF_NODES[name]):
        Graphcl(epochs=1).fit(small_collection(), torch.empty(0), Streams(0), Watch(), negatives)


@pytest.mark.parametrize("name", sorted(set(NEGATIVES.names()) - set(OF_NODES)))
def test_every_strategy_runs_with_its_settings_for_graphs(name: str) -> None:
    words = (f"negatives={name}", "method.epochs=4", "method.batch_size=8")
    components = experiment_of(["method=graphcl", *words]).components
    graph = small_collection()
    found = components.method.fit(
        graph, torch.full((24,), -1), Streams(0), Watch(), components.negatives
    )
    plain = replace(components.method).fit(graph, torch.full((24,), -1), Streams(0), Watch())
    assert torch.isfinite(found.z).all()
    assert torch.equal(found.z, plain.z) == (name == "uniform")
    assert found.contrast is not None and found.contrast.u.shape == (24, 96)


def test_augcls_network_learns_from_pairs_of_all_graphs_once(monkeypatch) -> None:
    seen = []
    from gclbench.negatives.augcl import AugclNegatives

    train = AugclNegatives._train

    def watched(self, network, pair):
        seen.append((pair.step.iteration, len(pair.u), pair.u.requires_grad))
        train(self, network, pair)

    monkeypatch.setattr(AugclNegatives, "_train", watched)
    method = Graphcl(epochs=4, batch_size=8)
    method.fit(small_collection(), torch.empty(0), Streams(0), Watch(), Augcl())
    assert seen == [(3, 24, False)]


def test_unknown_augmentations_are_refused() -> None:
    with pytest.raises(ConfigErrors) as refused:
        experiment_of(["method=graphcl", "method.augmentations=[drop,cut]"])
    assert "must be one or more of drop, edges, mask, subgraph, identity" in str(refused.value)
    with pytest.raises(ConfigErrors, match="one or more of"):
        experiment_of(["method=graphcl", "method.augmentations=[]"])


def test_the_named_pair_is_augcls_own_setting() -> None:
    named = experiment_of(["method=augcl_graphcl"]).components
    pair = experiment_of(["method=graphcl", "negatives=augcl", "method.epochs=40"]).components
    assert named.negatives == pair.negatives
    assert named.method.epochs == 40 and named.method.tau == pair.method.tau == 0.2
    assert set(named.method.augmentations) < set(AUGMENTATIONS)
