"""What a method may see: no label, mask or held-out edge that is not its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import SMALL, Spy, run, write_graph

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.graph import MASKS, Graph
from gclbench.launch.execution import execute
from gclbench.launch.plan import expand
from gclbench.launch.specification import specification
from gclbench.methods import siamese
from gclbench.records import Store
from gclbench.run import datasets
from gclbench.run.runner import _checkpoint
from gclbench.tasks.similarity import Similarity
from gclbench.training.streams import Streams


@pytest.mark.parametrize(
    "task",
    [
        "clustering",
        "classification",
        "link_prediction",
        "[classification,clustering,link_prediction]",
    ],
)
def test_an_unsupervised_method_sees_no_label_and_no_mask(here: Path, task: str) -> None:
    write_graph(here / "graph.npz")
    public = ["task.classification.protocol=public"] if "classification" in task else []
    records = run("method=spy", "dataset=custom", "dataset.path=graph.npz", f"task={task}", *public)
    assert Spy.seen and all(record.ok for record in records.values())
    for graph, labels in Spy.seen:
        assert graph.y is None
        assert not any(mask in graph for mask in MASKS) and "validation" not in graph
        assert labels.shape == (60,) and bool((labels == -1).all())


def test_a_semi_supervised_method_sees_the_labels_of_training_nodes_only(here: Path) -> None:
    write_graph(here / "graph.npz")
    record = run(
        "method=labelled_spy",
        "dataset=custom",
        "dataset.path=graph.npz",
        "task.classification.protocol=public",
    )
    assert set(record) == {"classification"}
    ((graph, labels),) = Spy.seen
    assert graph.y is None and not any(mask in graph for mask in MASKS)
    assert labels[:20].tolist() == [0, 1] * 10
    assert bool((labels[20:] == -1).all())


def test_a_semi_supervised_method_sees_no_label_in_clustering() -> None:
    run("method=labelled_spy", "task=[clustering,link_prediction]")
    assert len(Spy.seen) == 2
    assert all(bool((labels == -1).all()) for _, labels in Spy.seen)


@pytest.mark.parametrize("filtering", ["none", "gnnbp"])
def test_link_prediction_hides_held_out_edges_from_method_and_filter(filtering: str) -> None:
    experiment = experiment_of(
        [*SMALL, "method=spy", f"filter={filtering}", "task=link_prediction", "seeds=[5]"]
    )
    (record,) = execute(experiment)
    assert record.ok
    ((seen, _),) = Spy.seen
    whole = datasets.load(experiment.components.dataset).graph
    task = experiment.components.tasks["link_prediction"]
    split = task.split(whole, Streams(5))
    assert record.split == {"protocol": split.protocol, "hash": split.hash}
    visible = {tuple(pair) for pair in seen.edge_index.T.tolist()}
    held_out = [
        tuple(pair) for part in ("val_edges", "test_edges") for pair in split.parts[part].T.tolist()
    ]
    assert len(held_out) > 10 and len(visible) == whole.edge_index.shape[1] - 2 * len(held_out)
    for a, b in held_out:
        assert (a, b) not in visible and (b, a) not in visible
    component = experiment.components.filter
    training_only = component.apply(task.hide(whole, split)).x
    assert torch.equal(seen.x, training_only)
    if filtering == "gnnbp":
        assert not torch.allclose(seen.x, component.apply(whole).x)


def test_features_of_a_held_out_graph_are_not_kept_on_disk_and_others_are(here: Path) -> None:
    run("method=spy", "filter=gnnbp", "task=link_prediction")
    assert not list((here / "cache").rglob("*.npy"))
    assert (
        run("method=spy", "filter=gnnbp", "task=clustering")["clustering"].filter_report["cached"]
        is False
    )
    assert len(list((here / "cache").rglob("*.npy"))) == 1
    again = run("method=spy", "filter=gnnbp", "task=clustering", "rerun=all")["clustering"]
    assert again.filter_report["cached"] is True
    assert torch.equal(Spy.seen[-1][0].x, Spy.seen[-2][0].x)


def test_tasks_that_hide_nothing_share_one_embedding() -> None:
    records = run("method=spy", "task=[clustering,classification]")
    assert len(Spy.seen) == 1
    assert all(record.ok for record in records.values())
    shared = ["load", "hide", "filter", "fit"]
    assert all(record.shared == shared for record in records.values())
    run("method=spy", "task=[clustering,classification,link_prediction]", "rerun=all")
    assert len(Spy.seen) == 3


# --- the validation score ----------------------------------------------------------------------


def numbers(found: Any) -> Iterator[np.ndarray]:
    """Every array of whole numbers that can be had from a function, a graph or a container."""
    if isinstance(found, (torch.Tensor, np.ndarray)):
        array = np.asarray(found)
        if array.dtype.kind in "iub":
            yield array
    elif isinstance(found, Graph):
        yield from numbers(found.to_dict())
    elif isinstance(found, dict):
        yield from numbers(tuple(found.values()))
    elif isinstance(found, (tuple, list)):
        for item in found:
            yield from numbers(item)
    elif callable(found):
        yield from numbers([cell.cell_contents for cell in found.__closure__ or ()])
        yield from numbers([found.__defaults__, getattr(found, "__self__", None)])
    else:
        yield from numbers(dict(getattr(found, "__dict__", {})))


@pytest.mark.parametrize("task", ["classification", "classification_public", "link_prediction"])
def test_a_validation_score_holds_nothing_of_the_test(here: Path, task: str) -> None:
    write_graph(here / "graph.npz")
    command = ["dataset=custom", "dataset.path=graph.npz", f"task={task}", "device=cpu"]
    experiment = experiment_of([*command, "method=judged_spy"])
    whole = datasets.load(experiment.components.dataset).graph
    content = whole.content_hash
    (record,) = execute(experiment)
    ((seen, labels),) = Spy.seen
    assert bool((labels == -1).all()) and seen.y is None and not any(m in seen for m in MASKS)
    assert "validation" not in whole and whole.content_hash == content, "it is shared by runs"
    split = experiment.components.tasks[task].split(whole, Streams(0))
    parts, y = split.parts, whole.y.numpy()
    if task == "link_prediction":
        allowed = [seen.edge_index, parts["val_edges"], parts["val_non_edges"]]
        score = record.metrics["val_auc"] + record.metrics["val_ap"]
    else:
        known = [parts["train"], parts["val"]]
        allowed = [whole.edge_index, *known, *(y[part] for part in known)]
        score = record.metrics["val_accuracy"]
    held = list(numbers(seen.validation))
    assert len(held) >= 3
    for array in held:
        assert any(np.array_equal(array, np.asarray(other)) for other in allowed), array
    assert seen.validation(Embedding(seen.x)) == score


def test_the_number_of_steps_does_not_depend_on_test_labels(here: Path) -> None:
    write_graph(here / "graph.npz")
    arrays = dict(np.load(here / "graph.npz"))
    test = arrays["test_mask"]
    arrays["y"] = np.where(test, 1 - arrays["y"], arrays["y"])
    np.savez(here / "other.npz", **arrays)
    settings = ("method.epochs=9", "method.lr=0.05", "method.epoch_by=validation")
    first, second = (
        run("method=dmat_i", "dataset=custom", f"dataset.path={name}", *settings, *public)
        for public in [("task=classification", "task.classification.protocol=public")]
        for name in ("graph.npz", "other.npz")
    )
    one, other = first["classification"], second["classification"]
    assert one.ok and one.fit == other.fit
    assert one.fit["validation"] == one.metrics["val_accuracy"]
    assert one.metrics["accuracy"] == pytest.approx(1 - other.metrics["accuracy"])
    assert len(one.fit["validation_curve"]) == 8


def test_link_prediction_chooses_by_the_pairs_that_it_records() -> None:
    settings = ("method.epochs=9", "method.lr=0.05", "method.epoch_by=validation")
    record = run("method=dmat_i", "task=link_prediction", *settings)["link_prediction"]
    assert record.fit["validation"] == record.metrics["val_auc"] + record.metrics["val_ap"]


def test_a_method_that_chooses_by_validation_is_trained_for_each_task() -> None:
    records = run("method=judged_spy", "task=[clustering,classification,link_prediction]")
    assert len(Spy.seen) == 2 and all("validation" in graph for graph, _ in Spy.seen)
    assert records["classification"].ok and records["link_prediction"].ok
    assert records["clustering"].status == "unsupported"
    assert records["clustering"].reason == (
        "method.epoch_by=validation chooses by the task's validation nodes or pairs, and this task"
        " has none; task=classification and task=link_prediction have some, and"
        " method.epoch_by=last needs none"
    )


def test_its_checkpoint_is_of_one_task(here: Path) -> None:
    def keys(choice: str) -> set[str]:
        found = set()
        for protocol in ("random_10_10_80", "public"):
            task = ("task=classification", f"task.classification.protocol={protocol}")
            experiment = experiment_of([*SMALL, f"method.epoch_by={choice}", *task])
            (unit,) = expand([experiment], Store(here), lambda dataset: "ab").units
            spec = specification(experiment, "classification", 0, "ab")
            specs = {"classification": spec}
            checkpoint = _checkpoint(unit, specs, experiment.components, Store(here))
            assert checkpoint is not None
            found.add(checkpoint.key)
        return found

    assert len(keys("last")) == 1 and len(keys("validation")) == 2


def test_triplets_of_its_own_are_of_graphs_that_similarity_left(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings = [np.arange(8) + 8 * number for number in range(12)]
    edges = [np.stack([ring, np.roll(ring, -1)]) for ring in rings]
    graph_of = np.repeat(np.arange(12), 8)
    np.savez("rings.npz", x=np.ones((96, 2)), edge_index=np.hstack(edges), graph_of=graph_of)
    given, drawn = [], siamese.draw_triplets
    monkeypatch.setattr(
        siamese,
        "draw_triplets",
        lambda *words, **named: given.append(named["among"]) or drawn(*words, **named),
    )
    own = ("method.sizes=[6]", "method.triplets=5", "method.epochs=1")
    collection = ("dataset=custom_graphs", "dataset.path=rings.npz")
    asked = ("task.similarity.nodes=[6]", "task.similarity.triplets=5")
    tasks = ("task=[similarity,graph_clustering]", "task.graph_clustering.clusters=2")
    words = ["method=siamese", "device=cpu", *own, *collection, *tasks, *asked]
    records = execute(experiment_of(words))
    assert len(records) == 2 and all(record.ok for record in records), records
    graph = datasets.load(experiment_of(["method=siamese", *collection]).components.dataset).graph
    scored = Similarity(nodes=(6,), triplets=5).split(graph, Streams(0)).parts["n6_graph"]
    apart, everything = sorted(given, key=lambda among: among is None)
    assert everything is None, "another task leaves it all graphs"
    assert sorted(apart) == sorted(set(range(12)) - set(scored))
