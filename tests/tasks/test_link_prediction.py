from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from gclbench.component.registry import TASKS
from gclbench.component.settings import bind
from gclbench.data.splits import LeakError, Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, with_features
from gclbench.tasks.judging import judged
from gclbench.tasks.link_prediction import LinkPrediction
from gclbench.training.streams import Streams

Toy = Callable[..., Graph]


def pairs(edge_index: object) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in np.asarray(edge_index).T.tolist()}


def test_it_is_registered_and_hides_edges() -> None:
    task = TASKS.load("link_prediction")()
    assert isinstance(task, LinkPrediction) and task.hides and task.version == "1"


def test_training_sees_the_training_edges_in_both_directions_and_no_others(toy: Toy) -> None:
    graph, task = toy(masks=True), LinkPrediction()
    split = task.split(graph, Streams(0))
    visible = task.hide(graph, split)
    everything, kept = pairs(graph.edge_index), pairs(visible.edge_index)
    held_out = pairs(split.parts["val_edges"]) | pairs(split.parts["test_edges"])
    assert kept == pairs(split.parts["train_edges"]) == everything - held_out
    assert split.parts["val_edges"].shape[1] == round(0.05 * len(everything))
    assert split.parts["test_edges"].shape[1] == round(0.10 * len(everything))
    assert visible.edge_index.shape[1] == 2 * len(kept)
    directed = set(map(tuple, visible.edge_index.T.tolist()))
    assert {(v, u) for u, v in directed} == directed
    assert (
        torch.equal(visible.x, graph.x)
        and torch.equal(visible.y, graph.y)
        and visible.name == graph.name
    )
    assert torch.equal(visible.val_mask, graph.val_mask)
    assert visible.content_hash != graph.content_hash
    assert pairs(graph.edge_index) == everything
    assert visible.repairs == graph.repairs == ()


def test_different_seeds_hide_different_edges(toy: Toy) -> None:
    graph, task = toy(), LinkPrediction()
    hashes = [task.hide(graph, task.split(graph, Streams(seed))).content_hash for seed in (0, 0, 1)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("part", ["val_edges", "test_edges"])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_split_that_leaks_is_caught_when_the_graph_is_hidden(
    toy: Toy, part: str, flipped: bool
) -> None:
    graph, task = toy(), LinkPrediction()
    honest = task.split(graph, Streams(0))
    leaked = honest.parts[part][:, :1]
    shown = np.concatenate(
        [honest.parts["train_edges"], leaked[::-1] if flipped else leaked], axis=1
    )
    sabotaged = Split(honest.protocol, {**honest.parts, "train_edges": shown})
    with pytest.raises(
        LeakError, match=f"1 of .* pairs of '{part}' are edges of the training graph 'toy'"
    ):
        task.hide(graph, sabotaged)


def test_no_label_is_visible(toy: Toy) -> None:
    graph, task = toy(), LinkPrediction()
    labels = task.labels(graph, task.split(graph, Streams(0)))
    assert labels.dtype == torch.long and labels.tolist() == [-1] * 120


def test_metrics_are_those_of_scikit_learn_on_dot_products(toy: Toy) -> None:
    graph, task = toy(), LinkPrediction()
    split = task.split(graph, Streams(1))
    metrics = task.evaluate(Embedding(graph.x), graph, split, Streams(1))
    product = graph.x.double().numpy() @ graph.x.double().numpy().T
    expected = {}
    for part, prefix in (("test", ""), ("val", "val_")):
        edges, absent = split.parts[f"{part}_edges"], split.parts[f"{part}_non_edges"]
        truth = np.r_[np.ones(edges.shape[1]), np.zeros(absent.shape[1])]
        scores = np.r_[product[edges[0], edges[1]], product[absent[0], absent[1]]]
        expected[f"{prefix}auc"] = roc_auc_score(truth, scores)
        expected[f"{prefix}ap"] = average_precision_score(truth, scores)
        assert not pairs(absent) & pairs(graph.edge_index)
    assert metrics == pytest.approx(expected)
    assert metrics["auc"] > 0.5


def test_validation_pairs_are_scored_and_not_shown(toy: Toy) -> None:
    graph, task = toy(), LinkPrediction()
    split = task.split(graph, Streams(1))
    visible = task.hide(graph, split)
    metrics = task.evaluate(Embedding(graph.x), graph, split, Streams(1))
    score = task.validation(visible, split)
    assert score(Embedding(graph.x)) == metrics["val_auc"] + metrics["val_ap"]
    shown = judged(visible, task, split)
    assert "validation" in with_features(shown, graph.x) and "validation" not in visible
    assert shown.content_hash == visible.content_hash, (
        "what a method may choose by is no part of what it is trained on"
    )


def test_an_embedding_that_says_nothing_scores_one_half(toy: Toy) -> None:
    graph, task = toy(), LinkPrediction()
    split = task.split(graph, Streams(1))
    metrics = task.evaluate(Embedding(torch.ones(120, 4)), graph, split, Streams(1))
    assert metrics == {"auc": 0.5, "ap": 0.5, "val_auc": 0.5, "val_ap": 0.5}


def test_cosine_embeddings_are_normalised_unless_told_otherwise(toy: Toy) -> None:
    graph, task = toy(), LinkPrediction()
    split = task.split(graph, Streams(1))
    stretched = graph.x * torch.logspace(-3, 3, 120)[:, None]
    unit = task.evaluate(
        Embedding(torch.nn.functional.normalize(graph.x, dim=1)), graph, split, Streams(1)
    )
    assert task.evaluate(Embedding(stretched, "cosine"), graph, split, Streams(1)) == pytest.approx(
        unit
    )
    assert LinkPrediction(normalize="l2").evaluate(
        Embedding(stretched), graph, split, Streams(1)
    ) == pytest.approx(unit)
    raw = task.evaluate(Embedding(stretched), graph, split, Streams(1))
    assert (
        raw
        == LinkPrediction(normalize="none").evaluate(
            Embedding(stretched, "cosine"), graph, split, Streams(1)
        )
        != unit
    )


def test_what_it_does_not_support(toy: Toy) -> None:
    with pytest.raises(Unsupported, match="link prediction needs edges, and 'toy' has none"):
        LinkPrediction().split(toy(edges=0), Streams(0))
    with pytest.raises(Unsupported, match="too few for one in each part"):
        LinkPrediction().split(toy(edges=8), Streams(0))


def test_settings_bind_with_their_bounds() -> None:
    errors: list[str] = []
    assert bind(
        LinkPrediction, {"val_fraction": 0.1, "test_fraction": 0.2}, "task", errors
    ) == LinkPrediction(0.1, 0.2)
    assert bind(LinkPrediction, {"val_fraction": 0, "test_fraction": 0.5}, "task", errors) is None
    assert [error.partition(" ")[0] for error in errors] == [
        "task.val_fraction=0",
        "task.test_fraction=0.5",
    ]
