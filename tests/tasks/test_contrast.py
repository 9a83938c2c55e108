"""The analyses of a training's negatives against plain loops over pairs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.registry import TASKS
from gclbench.config.validation import experiment_of
from gclbench.embedding import Contrast, Embedding
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.tasks import contrast_metrics
from gclbench.tasks.contrast import ContrastAnalysis
from gclbench.tasks.contrast_metrics import (
    false_negative_effect,
    hardness_histogram,
    mixture_scores,
    row_areas,
    weight_scores,
)
from gclbench.training.streams import Streams

NODES = 23
LABELS = torch.tensor([0, 1, 2, 0, 1, 0, -1, 2, 2, 0, 1, 1, 0, 2, -1, 1, 0, 0, 1, 2, 2, 0, 1])
BLOCKS = (1, 5 * NODES, 10_000)


def unit(seed: int) -> Tensor:
    return normalize(
        torch.randn(NODES, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64),
        dim=1,
    )


def dot(a: Tensor, b: Tensor) -> float:
    return sum(x * y for x, y in zip(a.tolist(), b.tolist()))


def noisy_weights(seed: int = 0) -> Tensor:
    """Smaller for the anchor's class on the whole, with ties, each row of mean 1 over j ≠ i."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randint(1, 6, (NODES, NODES), generator=generator).double()
    weights -= 0.5 * (LABELS[:, None] == LABELS)
    own = weights.diagonal()
    return weights * (NODES - 1) / (weights.sum(dim=1) - own)[:, None]


def rows_of(matrix: Tensor) -> Callable[[int, int], Tensor]:
    return lambda start, stop: matrix[start:stop]


def graph(labels: Tensor | None = LABELS) -> Graph:
    edges = torch.stack([torch.arange(NODES - 1), torch.arange(1, NODES)])
    return make_graph(torch.ones(NODES, 2), edges, labels, "small", undirected=True)


@pytest.fixture(params=BLOCKS)
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(contrast_metrics, "BLOCK_ENTRIES", request.param)
    return request.param


@pytest.mark.usefixtures("block")
def test_hardness_histogram() -> None:
    u, v = unit(0), unit(1)
    v[0] = u[1]  # a cosine of 1, at the histogram's very end
    counts, total = [0] * 20, 0.0
    for i in range(NODES):
        for j in range(NODES):
            if LABELS[i] >= 0 and LABELS[j] >= 0 and LABELS[i] != LABELS[j]:
                cosine = max(-1.0, min(1.0, dot(u[i], v[j])))
                counts[min(19, int((cosine + 1) * 10))] += 1
                total += cosine
    found, mean = hardness_histogram(u, v, LABELS, 20)
    assert found.tolist() == pytest.approx([count / sum(counts) for count in counts])
    assert mean == pytest.approx(total / sum(counts))
    assert counts[19] > 0


@pytest.mark.usefixtures("block")
def test_weight_scores() -> None:
    weights = noisy_weights()
    found = suspects = same = pairs = 0
    areas = []
    for i in range(NODES):
        if LABELS[i] < 0:
            continue
        mean = sum(float(weights[i, j]) for j in range(NODES) if j != i) / (NODES - 1)
        others = [j for j in range(NODES) if j != i and LABELS[j] >= 0]
        for j in others:
            is_same, suspected = (
                bool(LABELS[i] == LABELS[j]),
                float(weights[i, j]) < mean * (1 - 1e-6),
            )
            pairs, same, suspects, found = (
                pairs + 1,
                same + is_same,
                suspects + suspected,
                found + (is_same and suspected),
            )
        areas.append(
            roc_auc_score(
                [bool(LABELS[i] != LABELS[j]) for j in others],
                [float(weights[i, j]) for j in others],
            )
        )
    scores = weight_scores(rows_of(weights), LABELS)
    assert scores == pytest.approx(
        {
            "same_class_share": same / pairs,
            "false_negative_recall": found / same,
            "false_negative_precision": found / suspects,
            "weight_auc": float(np.mean(areas)),
        }
    )
    assert (
        scores["false_negative_precision"] > scores["same_class_share"]
        and scores["weight_auc"] > 0.6
    ), "the weights do know"


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_equal_weights_suspect_nobody(noise: float) -> None:
    """Not even when single precision leaves them unequal in the last digit."""
    weights = torch.ones(NODES, NODES) + noise * torch.randn(
        NODES, NODES, generator=torch.Generator().manual_seed(0)
    )
    scores = weight_scores(rows_of(weights), LABELS)
    assert scores["false_negative_recall"] == 0.0
    assert "false_negative_precision" not in scores
    if not noise:
        assert scores["weight_auc"] == 0.5


def test_weights_that_know_the_classes() -> None:
    same = (LABELS[:, None] == LABELS).double()
    found = weight_scores(rows_of(1 - same), LABELS)
    assert (found["false_negative_recall"], found["weight_auc"]) == (1.0, 1.0)
    found = weight_scores(rows_of(same), LABELS)
    assert (found["false_negative_recall"], found["weight_auc"]) == (0.0, 0.0)


def test_areas_of_rows_without_both_kinds_are_not_numbers() -> None:
    weight = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 2.0, 0.0]])
    low = torch.tensor([[True, False, False], [False, False, False], [True, False, False]])
    high = torch.tensor([[False, True, True], [True, True, True], [False, True, True]])
    assert row_areas(weight, low, high).tolist() == pytest.approx(
        [1.0, math.nan, 0.25], nan_ok=True
    )


@pytest.mark.usefixtures("block")
def test_mixture_scores() -> None:
    shares = torch.rand(
        NODES, NODES, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    shares[shares < 0.5] = 0
    shares[4] = 0
    shares[4, 4] = 1  # mixes nothing in
    shares /= shares.sum(dim=1, keepdim=True)
    own, entropy, same_class = [], [], []
    for i in range(NODES):
        row = shares[i].tolist()
        own.append(row[i])
        entropy.append(-sum(share * math.log(share) for share in row if share > 0))
        if LABELS[i] < 0:
            continue
        parts = [
            (row[j], bool(LABELS[i] == LABELS[j]))
            for j in range(NODES)
            if j != i and LABELS[j] >= 0
        ]
        if sum(share for share, _ in parts) > 0:
            same_class.append(
                sum(share for share, same in parts if same) / sum(share for share, _ in parts)
            )
    assert mixture_scores(rows_of(shares), LABELS) == pytest.approx(
        {
            "mix_self": np.mean(own),
            "mix_entropy": np.mean(entropy),
            "mix_same_class": np.mean(same_class),
        }
    )
    assert mixture_scores(rows_of(torch.eye(NODES)), LABELS) == {
        "mix_self": 1.0,
        "mix_entropy": 0.0,
    }


def plain_tau0(u: Tensor, v: Tensor, tau: float, tuples: list[list[int]]) -> list[float]:
    """Eq. 8, one sample after the other."""
    known = [j for j in range(NODES) if LABELS[j] >= 0]

    def mean(i: int, nodes: list[int]) -> float:
        values = [math.exp(dot(u[i], view[j]) / tau) for j in nodes for view in (u, v)]
        return sum(values) / len(values)

    found = []
    for members in tuples:
        for i in members:
            same = [j for j in known if j != i and LABELS[j] == LABELS[i]]
            near = [j for j in same if j in members]
            if LABELS[i] < 0 or not near or len(near) == len(same):
                continue
            prior = sum(1 for j in known if LABELS[j] == LABELS[i]) / len(known)
            other = mean(i, [j for j in known if LABELS[j] != LABELS[i]])
            found.append(prior * abs(mean(i, near) - other) / abs(mean(i, near) - mean(i, same)))
    return found


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_tau0(tau: float) -> None:
    u, v = unit(0), unit(1)
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(0))
    tuples = list(order.split(9))
    wanted = plain_tau0(u, v, tau, [members.tolist() for members in tuples])
    assert len(wanted) > 10
    assert sorted(false_negative_effect(u, v, LABELS, tau, tuples).tolist()) == pytest.approx(
        sorted(wanted), rel=1e-9
    )


def test_tau0_at_the_smallest_temperature_is_finite() -> None:
    u = unit(0)
    assert bool(
        false_negative_effect(u, unit(1), LABELS, 1e-3, list(torch.arange(NODES).split(9)))
        .isfinite()
        .all()
    )


def test_an_anchor_as_far_from_every_node_has_no_tau0() -> None:
    """Orthogonal to all others, its τ⁰ is 0/0; the quantiles over all anchors would be too."""
    u = torch.cat([unit(0), torch.zeros(NODES, 1)], dim=1)
    u[3] = 0
    u[3, -1] = 1
    found = false_negative_effect(u, u, LABELS, 0.5, list(torch.arange(NODES).split(9)))
    u[3] = 0
    without = false_negative_effect(u, u, LABELS, 0.5, list(torch.arange(NODES).split(9)))
    assert len(found) == len(without) > 10 and bool(found.isfinite().all())


def test_anchors_without_a_direction_have_no_tau0() -> None:
    """A node of zeros is as far from every class: its τ⁰ would be a quotient of rounding errors."""
    u, v = unit(0), unit(1)
    tuples = list(torch.arange(NODES).split(9))
    u[3] *= 1e-13
    nearly = false_negative_effect(u, v, LABELS, 0.5, tuples).tolist()
    u[3] = 0
    found = false_negative_effect(u, v, LABELS, 0.5, tuples).tolist()
    assert len(found) == len(nearly) - 1
    # Anchors keep their order: up to node 3 the first ones are the same, from there on the next
    # ones.
    assert found[:3] == pytest.approx(nearly[:3]) and found[3:] == pytest.approx(nearly[4:])


def contrast(**changes: object) -> Contrast:
    return Contrast(
        **{"u": unit(0), "v": unit(1), "tau": 0.5, "weights": rows_of(noisy_weights()), **changes}
    )  # type: ignore[arg-type]


def test_everything_together() -> None:
    task = ContrastAnalysis(tuple_size=9)
    embedding = Embedding(
        torch.ones(NODES, 2), contrast=contrast(mixture=rows_of(torch.eye(NODES)))
    )
    metrics = task.evaluate(embedding, graph(), None, Streams(0))
    assert metrics == task.evaluate(embedding, graph(), None, Streams(0))
    assert sum(metrics[f"hardness_{number:02d}"] for number in range(1, 21)) == pytest.approx(1)
    assert metrics["tau0_q1"] < metrics["tau0_median"] < metrics["tau0_q3"]
    order = torch.randperm(NODES, generator=Streams(0).torch("tuples"))
    wanted = plain_tau0(unit(0), unit(1), 0.5, [members.tolist() for members in order.split(9)])
    assert metrics["tau0_median"] == pytest.approx(float(np.median(wanted)))
    assert {"hardness_mean", "same_class_share", "weight_auc", "mix_self", "mix_entropy"} <= set(
        metrics
    )
    assert all(type(value) is float for value in metrics.values())


def test_only_what_there_is_is_reported() -> None:
    embedding = Embedding(torch.ones(NODES, 2), contrast=contrast(weights=None))
    metrics = ContrastAnalysis(tuple_size=512).evaluate(embedding, graph(), None, Streams(0))
    assert set(metrics) == {f"hardness_{number:02d}" for number in range(1, 21)} | {"hardness_mean"}


def test_methods_without_contrast_and_graphs_without_classes_are_refused() -> None:
    task = ContrastAnalysis()
    with pytest.raises(
        Unsupported, match="this method keeps none; try it with method=grace or method=dmat_i"
    ):
        task.evaluate(Embedding(torch.ones(NODES, 2)), graph(), None, Streams(0))
    for labels, count in (
        (None, 0),
        (torch.full((NODES,), -1), 0),
        (torch.zeros(NODES, dtype=torch.long), 1),
    ):
        with pytest.raises(
            Unsupported,
            match=f"'small' has {count} of them; it needs a dataset with two classes or more",
        ):
            task.split(graph(labels), Streams(0))
    with pytest.raises(
        ValueError, match=r"the last views have 23 and 5 rows, but the graph has 23 nodes"
    ):
        task.evaluate(
            Embedding(torch.ones(NODES, 2), contrast=contrast(v=unit(1)[:5])),
            graph(),
            None,
            Streams(0),
        )


def test_no_label_is_shown_to_a_method_and_nothing_is_hidden() -> None:
    task, given = ContrastAnalysis(), graph()
    assert task.split(given, Streams(0)) is None
    assert task.hide(given, None) is given
    assert task.labels(given, None).tolist() == [-1] * NODES
    assert not task.hides


def test_is_asked_for_by_name() -> None:
    assert TASKS.load("contrast") is ContrastAnalysis
    assert "contrast" not in experiment_of([]).components.tasks, "opt-in"
    tasks = experiment_of(
        ["task=contrast", "method=grace", "dataset=cora", "task.contrast.tuple_size=64"]
    ).components.tasks
    assert tasks == {"contrast": ContrastAnalysis(tuple_size=64)}
