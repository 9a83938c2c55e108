"""A user's own collection of graphs, from the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from own_collections import save_cycles
from own_graphs import recorded, save

from gclbench.cli import main

Output = pytest.CaptureFixture[str]
RUN = ("dataset=custom_graphs", "dataset.path=shapes.npz", "device=cpu")


@pytest.fixture(autouse=True)
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Circles, every second with a node that sees all others; and a single graph beside them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    save_cycles("shapes.npz")
    save("graph.npz")


def test_it_is_run_with_the_tasks_of_a_collection(capsys: Output) -> None:
    assert main(["method=histogram", *RUN]) == 0
    found = {record.name("task"): record for record in recorded()}
    assert {*found} == {"graph_classification", "graph_clustering"}
    assert all(record.ok and record.name("dataset") == "shapes" for record in found.values())
    assert all(record.spec["dataset"]["from"] == "custom_graphs" for record in found.values())


def test_the_plan_knows_what_there_is_to_embed(capsys: Output) -> None:
    assert main(["-m", "method=kmeans,histogram", *RUN, "--dry-run"]) == 0
    (line,) = [text for text in capsys.readouterr().out.splitlines() if "unsupported" in text]
    assert line == (
        "2 of those to be done will be recorded as unsupported: method=kmeans embeds nodes, and"
        " shapes has graphs to embed"
    )


def test_what_the_file_holds_is_shown(capsys: Output) -> None:
    assert main(["show", "dataset=custom_graphs"]) == 0
    assert "graph_of" in capsys.readouterr().out
    assert main(["show", *RUN[:2]]) == 0
    assert "graphs        24" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nowhere.npz", "there is no file nowhere.npz; give one with dataset.path=FILE.npz"),
        ("graph.npz", "graph.npz has no 'graph_of' (N: the graph of each node, ascending from 0)"),
    ],
)
def test_a_file_that_is_none(path: str, text: str, capsys: Output) -> None:
    words = ["method=histogram", "dataset=custom_graphs", f"dataset.path={path}"]
    assert main(words) == 1
    assert text in capsys.readouterr().err and not recorded()


def test_a_trained_model_embeds_other_graphs(capsys: Output) -> None:
    command = ["method=graphcl", *RUN, "task=graph_clustering", "method.epochs=1", "save=model"]
    assert main(command) == 0
    (run,) = recorded()
    assert main(["embed", run.id, "--graph", "shapes.npz", "--output", "z.npy"]) == 0
    assert np.load("z.npy").shape == (24, 96)
    edges = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])  # of the first graph, a circle
    np.savez("one.npz", x=np.ones((4, 2)), edge_index=edges, graph_of=np.zeros(4, dtype=int))
    assert main(["embed", run.id, "--graph", "one.npz", "--output", "one.npy"]) == 0
    np.testing.assert_allclose(np.load("one.npy"), np.load("z.npy")[:1], rtol=1e-4, atol=1e-5)
    assert main(["embed", run.id, "--graph", "graph.npz", "--output", "no.npy"]) == 1
    assert "graph.npz has no 'graph_of'" in capsys.readouterr().err and not Path("no.npy").exists()


def test_compare_advises_the_file(capsys: Output) -> None:
    assert main(["method=histogram", *RUN]) == 0
    capsys.readouterr()
    assert main(["compare", "histogram", "graph_statistics", "--dataset", "shapes"]) == 2
    assert (
        "`gclbench method=graph_statistics dataset=custom_graphs dataset.path=shapes.npz seeds=10`"
        " makes them"
    ) in capsys.readouterr().err
    assert main(["compare", "histogram", "kmeans", "--dataset", "shapes"]) == 2
    assert "kmeans embeds nodes, and shapes has graphs to embed" in capsys.readouterr().err
    assert main(["compare", "histogram", "histogram", "--dataset", "shapes"]) == 2
    assert "such as 'histogram' and 'graph_statistics'" in capsys.readouterr().err


def test_a_method_is_refused_before_its_task_divides_the_graphs(capsys: Output) -> None:
    """No graph has the 50 nodes that the pieces of `similarity` have; that is not the reason."""
    command = ["method=gin", *RUN, "task=similarity"]
    assert main([*command, "--dry-run"]) == 0
    assert "learns from labels, and task=similarity reveals none" in capsys.readouterr().out
    main(command)
    (run,) = recorded()
    assert run.status == "unsupported"
    assert "learns from labels, and task=similarity reveals none" in run.reason


def test_a_task_without_its_usual_metrics_shows_what_it_has(capsys: Output) -> None:
    command = ["method=graph_statistics", *RUN, "task=similarity", "task.similarity.nodes=[5,6]"]
    assert main([*command, "task.similarity.triplets=20"]) == 0
    rows = [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert ["shapes", "graph_statistics", "similarity", "triplet_accuracy_n5"] in rows
    assert ["shapes", "graph_statistics", "similarity", "pair_auc_n6"] in rows


def test_names_that_stand_for_another_method_on_collections(capsys: Output) -> None:
    """`gcn` is `gcn_graphs` there, also on a collection of one's own."""
    settings = ("method.epochs=1", "method.steps_per_epoch=1")
    task = ("task=graph_classification", "task.graph_classification.folds=2")
    assert main(["-m", "method=gcn,gin", *RUN, *settings, *task]) == 0
    sides = (" ".join([name, *settings]) for name in ("gcn", "gin"))
    assert main(["compare", *sides, "--runs", "runs"]) == 0
    assert "shapes" in capsys.readouterr().out
