"""What a method may see: no label, mask or held-out edge that is not its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_runs import SMALL, Spy, run, write_graph

from gclbench.config.validation import experiment_of
from gclbench.graph import MASKS
from gclbench.launch.execution import execute
from gclbench.run import datasets
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
        assert not any(mask in graph for mask in MASKS)
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
    assert all(
        record.ok and record.shared == ["load", "filter", "fit"] for record in records.values()
    )
    run("method=spy", "task=[clustering,classification,link_prediction]", "rerun=all")
    assert len(Spy.seen) == 3
