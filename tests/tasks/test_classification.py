from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from gclbench.component.registry import TASKS
from gclbench.component.settings import bind
from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.tasks.classification import C_GRID, FURTHER, Classification
from gclbench.training.streams import Streams

Toy = Callable[..., Graph]


def reference(x: np.ndarray, y: np.ndarray, split: Split) -> dict[str, float]:
    """Plain scikit-learn, cold start for every C."""
    train, val, test = (split.parts[part] for part in ("train", "val", "test"))
    models = [
        LogisticRegression(C=C, max_iter=5000, tol=1e-7).fit(x[train], y[train]) for C in C_GRID
    ]
    scores = [model.score(x[val], y[val]) for model in models]
    best = int(np.argmax(scores))
    predicted = models[best].predict(x[test])
    return {
        "accuracy": float(np.mean(predicted == y[test])),
        "micro_f1": f1_score(y[test], predicted, average="micro"),
        "macro_f1": f1_score(y[test], predicted, average="macro"),
        "val_accuracy": scores[best],
        "C": C_GRID[best],
        "unconverged": 0.0,
    }


def test_it_is_registered_and_hides_no_edges(toy: Toy) -> None:
    task, graph = TASKS.load("classification")(), toy()
    assert isinstance(task, Classification) and not task.hides and task.version == "1"
    assert task.hide(graph, task.split(graph, Streams(0))) is graph
    assert C_GRID[0] == 2**-10 and C_GRID[-1] == 2**10 and len(C_GRID) == 11
    assert FURTHER == (2**12, 2**14, 2**16, 2**18, 2**20)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("classes", [2, 4])
def test_metrics_are_those_of_plain_scikit_learn(toy: Toy, seed: int, classes: int) -> None:
    graph, task = toy(nodes=300, classes=classes, seed=seed), Classification(tolerance=1e-7)
    split = task.split(graph, Streams(seed))
    metrics = task.evaluate(Embedding(graph.x), graph, split, Streams(seed))
    assert metrics == pytest.approx(
        reference(graph.x.numpy().astype(float), graph.y.numpy(), split)
    )
    assert metrics["micro_f1"] == pytest.approx(metrics["accuracy"])


def test_the_random_split_follows_the_seed(toy: Toy) -> None:
    graph, task = toy(), Classification()
    split = task.split(graph, Streams(5))
    assert {part: len(nodes) for part, nodes in split.parts.items()} == {
        "train": 12,
        "val": 12,
        "test": 96,
    }
    assert split.hash == task.split(graph, Streams(5)).hash != task.split(graph, Streams(6)).hash
    first = task.evaluate(Embedding(graph.x), graph, split, Streams(5))
    assert first == task.evaluate(Embedding(graph.x), graph, split, Streams(5))


def test_the_public_split_is_the_masks(toy: Toy) -> None:
    graph, task = toy(masks=True), Classification(protocol="public")
    split = task.split(graph, Streams(9))
    assert split.protocol == "public"
    for part in ("train", "val", "test"):
        assert split.parts[part].tolist() == graph[f"{part}_mask"].nonzero()[:, 0].tolist()
    metrics = task.evaluate(Embedding(graph.x), graph, split, Streams(9))
    assert metrics["accuracy"] == pytest.approx(
        reference(graph.x.numpy().astype(float), graph.y.numpy(), split)["accuracy"]
    )


@pytest.mark.parametrize("protocol", ["random_10_10_80", "public"])
def test_labels_show_training_classes_and_nothing_else(toy: Toy, protocol: str) -> None:
    graph, task = toy(masks=True), Classification(protocol=protocol)
    before = graph.y.clone()
    split = task.split(graph, Streams(2))
    labels = task.labels(graph, split)
    train = np.zeros(120, dtype=bool)
    train[split.parts["train"]] = True
    assert labels.dtype == torch.long
    assert torch.equal(labels[train], graph.y[train])
    assert (labels[~train] == -1).all()
    labels[:] = 0
    assert torch.equal(graph.y, before)


def test_test_labels_decide_nothing(toy: Toy) -> None:
    graph, task = toy(), Classification()
    split = task.split(graph, Streams(0))
    honest = task.evaluate(Embedding(graph.x), graph, split, Streams(0))
    changed = graph.y.clone()
    changed[split.parts["test"]] = 1 - changed[split.parts["test"]].clamp(max=1)
    other = task.evaluate(Embedding(graph.x), toy(y=changed), split, Streams(0))
    assert {key: other[key] for key in ("val_accuracy", "C", "unconverged")} == {
        key: honest[key] for key in ("val_accuracy", "C", "unconverged")
    }
    assert other["accuracy"] != honest["accuracy"]


def test_the_tested_model_never_saw_validation_rows(toy: Toy) -> None:
    # Validation rows sit where class 0 is, but carry class 1: a refit on them would turn test
    # predictions over.
    split = Split(
        "made", {"train": np.arange(0, 8), "val": np.arange(8, 32), "test": np.arange(32, 40)}
    )
    y = torch.tensor([0, 1] * 4 + [1] * 24 + [0] * 8)
    z = torch.where(torch.arange(40) < 8, torch.tensor([0.0, 1.0]).repeat(20), torch.zeros(40))[
        :, None
    ]
    metrics = Classification().evaluate(Embedding(z), toy(nodes=40, y=y), split, Streams(0))
    assert metrics["val_accuracy"] == 0 and metrics["accuracy"] == 1


def test_normalisation(toy: Toy) -> None:
    graph = toy(nodes=300)
    y = graph.y.numpy()
    stretched = (graph.x * torch.logspace(-2, 2, 300)[:, None]).contiguous()
    unit = torch.nn.functional.normalize(graph.x, dim=1).numpy().astype(float)
    split = Classification().split(graph, Streams(0))
    expected = reference(unit, y, split)
    for task, embedding in (
        (Classification(tolerance=1e-7), Embedding(stretched, "cosine")),
        (Classification(normalize="l2", tolerance=1e-7), Embedding(stretched)),
    ):
        assert task.evaluate(embedding, graph, split, Streams(0))["accuracy"] == pytest.approx(
            expected["accuracy"]
        )
    raw = Classification().evaluate(Embedding(graph.x), graph, split, Streams(0))
    assert raw == Classification(normalize="none").evaluate(
        Embedding(graph.x, "cosine"), graph, split, Streams(0)
    )


def test_standardize_takes_its_statistics_from_training_rows_only(toy: Toy) -> None:
    graph = toy(nodes=300)
    task = Classification(normalize="standardize", tolerance=1e-7)
    split = task.split(graph, Streams(0))
    constant = torch.cat([graph.x * 50 + 7, torch.full((300, 1), 2.0)], dim=1)
    scaler = StandardScaler().fit(constant.numpy()[split.parts["train"]].astype(float))
    expected = reference(scaler.transform(constant.numpy().astype(float)), graph.y.numpy(), split)
    assert task.evaluate(Embedding(constant), graph, split, Streams(0)) == pytest.approx(expected)


def test_the_rows_a_criterion_judges_are_standardized_where_the_probes_are(toy: Toy) -> None:
    graph = toy()
    z = Embedding(graph.x * torch.tensor([1e3, 1.0, 1.0]))
    rows = Classification(normalize="standardize").rows(z, graph)
    assert rows == pytest.approx(StandardScaler().fit_transform(z.z.numpy()), abs=1e-4)
    assert (Classification().rows(z, graph) == z.z.numpy()).all()


def test_fits_that_stop_early_are_counted(toy: Toy) -> None:
    graph, task = toy(), Classification(max_iter=1, tolerance=1e-12)
    split = task.split(graph, Streams(0))
    assert task.evaluate(Embedding(graph.x), graph, split, Streams(0))["unconverged"] == len(C_GRID)


def test_rows_of_small_numbers_get_less_regularisation_than_the_grid_has(toy: Toy) -> None:
    graph, task = toy(nodes=300, classes=4), Classification()
    split = task.split(graph, Streams(0))
    draw = np.random.default_rng(0)
    signal = 0.01 * np.eye(4)[graph.y.numpy()]
    rows = Embedding(torch.from_numpy(np.hstack([signal, draw.normal(size=(300, 2))])).float())
    found = task.evaluate(rows, graph, split, Streams(0))
    assert found["C"] in FURTHER
    # What chooses a step stays within the grid.
    assert found["val_accuracy"] > task.validation(graph, split)(rows)


def test_classes_absent_from_training_are_scored_as_missed(toy: Toy) -> None:
    y = toy().y.clone()
    split = Classification().split(toy(), Streams(0))
    lonely = int(split.parts["test"][0])
    y[lonely] = 3
    graph = toy(y=y)
    metrics = Classification().evaluate(
        Embedding(4 * torch.eye(3)[toy().y]), graph, split, Streams(0)
    )
    assert metrics["accuracy"] == pytest.approx(95 / 96)
    assert metrics["macro_f1"] < 0.76


def test_what_it_does_not_support(toy: Toy) -> None:
    with pytest.raises(
        Unsupported,
        match="classification needs labels, and 'toy' has none; try task=link_prediction",
    ):
        Classification().split(toy(y=None), Streams(0))
    with pytest.raises(
        Unsupported,
        match="'toy' has no public split .* Use task=classification task.classification.protocol=",
    ):
        Classification(protocol="public").split(toy(), Streams(0))
    with pytest.raises(Unsupported, match="needs at least 10 labels; this dataset has 9"):
        Classification().split(toy(nodes=9), Streams(0))
    one = (
        "two classes or more among the training nodes, and all 12 of the split random_10_10_80 of"
        " 'toy' have the same; try"
    )
    with pytest.raises(Unsupported, match=one):
        Classification().split(toy(y=torch.zeros(120, dtype=torch.long)), Streams(0))


def test_pygcn_is_asked_for_by_name(toy: Toy) -> None:
    with pytest.raises(Unsupported, match="pygcn is of dataset=cora alone .* this is 'toy'"):
        Classification(protocol="pygcn").split(toy(), Streams(0))


def test_settings_bind_with_their_bounds() -> None:
    errors: list[str] = []
    assert bind(
        Classification, {"protocol": "public", "max_iter": 10}, "task", errors
    ) == Classification("public", max_iter=10)
    assert (
        bind(
            Classification,
            {"protocol": "10/10/80", "tolerance": 0, "normalize": "std"},
            "task",
            errors,
        )
        is None
    )
    assert [error.partition(" ")[0] for error in errors] == [
        "task.protocol='10/10/80'",
        "task.tolerance=0",
        "task.normalize='std'",
    ]


def test_the_public_variant_is_the_same_run_as_the_setting():
    """One embedding can be evaluated under both protocols, and neither record depends on how it was
    asked for."""
    variant = experiment_of(["dataset=cora", "method=kmeans", "task=classification_public"])
    setting = experiment_of(
        [
            "dataset=cora",
            "method=kmeans",
            "task=classification",
            "task.classification.protocol=public",
        ]
    )
    assert (
        variant.settings["tasks"]["classification_public"]
        == setting.settings["tasks"]["classification"]
    )
    both = experiment_of(
        ["dataset=cora", "method=kmeans", "task=[classification,classification_public]"]
    )
    assert [task["protocol"] for task in both.settings["tasks"].values()] == [
        "random_10_10_80",
        "public",
    ]
    with pytest.raises(ConfigErrors, match="protocol"):
        experiment_of(
            ["task=classification_public", "task.classification_public.protocol=random_10_10_80"]
        )
