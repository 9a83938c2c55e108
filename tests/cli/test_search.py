"""`gclbench search`: one budget for all, a criterion without test labels, ordinary runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gclbench.cli import main
from gclbench.records import Store

GRAPH = ("dataset=custom", "dataset.path=g.npz", "device=cpu", "task=classification")
PUBLIC = (*GRAPH, "task.classification.protocol=public", "method.architecture=[8]")
SPACE = "space={lr:{from:1e-4,to:1e-1,log:true},epochs:[1,2,3]}"


def write_graph(path: str = "g.npz", shuffle_test: bool = False) -> None:
    """Sixty nodes of two classes that features tell; the last twenty are the test."""
    rng = np.random.default_rng(0)
    nodes = np.arange(60)
    y = rng.integers(0, 2, 60)
    x = rng.normal(size=(60, 6)) + y[:, None]
    part = nodes // 20
    if shuffle_test:
        y[40:] = 1 - y[40:]
    np.savez(
        path,
        x=x.astype(np.float32),
        y=y,
        edge_index=np.stack([nodes, (nodes + 1) % 60]),
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
    )


def write_graph_of_several_splits(path: str) -> None:
    """The same graph with three public splits, as wiki_cs has twenty."""
    write_graph(path)
    graph = dict(np.load(path))
    for part in ("train", "val", "test"):
        mask = graph[f"{part}_mask"]
        graph[f"{part}_mask"] = np.stack([np.roll(mask, shift) for shift in (0, 5, 10)], axis=1)
    np.savez(path, **graph)


def search(*words: str) -> dict[str, Any]:
    """Runs a search and reads the only file that it wrote."""
    before = set(Path("searches").glob("search-*.json")) if Path("searches").is_dir() else set()
    assert main(["search", *words]) == 0
    (path,) = set(Path("searches").glob("search-*.json")) - before
    return json.loads(path.read_text())


def recorded(folder: str) -> dict[str, int]:
    """When each record was written."""
    return {
        path.parent.name: path.stat().st_mtime_ns for path in Path(folder).glob("*/record.json")
    }


@pytest.mark.slow
def test_every_method_gets_the_budget_and_only_the_choice_is_tested(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_graph()
    words = [*PUBLIC, "method=grace,bgrl", SPACE, "budget=4", "seeds=2"]
    assert main(["search", *words, "--output", "table.csv"]) == 0
    printed = capsys.readouterr().out
    (path,) = Path("searches").glob("search-*.json")
    found = json.loads(path.read_text())
    assert (found["budget"], found["criterion"], found["sampler"]) == (4, "validation", "random")
    assert [study["method"] for study in found["studies"]] == ["grace", "bgrl"]
    for study in found["studies"]:
        trials = study["trials"]
        assert [trial["number"] for trial in trials] == [0, 1, 2, 3] and not trials[0]["settings"]
        values = [trial["value"] for trial in trials]
        assert study["chosen"] == values.index(max(values))
        for trial in trials:
            (record,) = (Store("searches").read(run_id) for run_id in trial["ids"])
            assert record is not None and record.seed == 1000
            assert record.fit["criteria"] == {"validation": trial["value"]}
            assert trial["value"] == record.metrics["val_accuracy"]
        assert study["sensitivity"]["mean"] == pytest.approx(np.mean(values[1:]))
        assert study["sensitivity"]["std"] == pytest.approx(np.std(values[1:], ddof=1))
    finals = list(Store("runs").scan())
    assert len(recorded("searches")) == 8 and len(finals) == 4
    assert sorted((record.name("method"), record.seed) for record in finals) == [
        ("bgrl", 0),
        ("bgrl", 1),
        ("grace", 0),
        ("grace", 1),
    ]
    for study in found["studies"]:
        settings = study["trials"][study["chosen"]]["settings"]
        assert {record.spec["method"]["epochs"] for record in finals} >= {
            settings.get("method.epochs", finals[0].spec["method"]["epochs"])
        }
    rows = list(csv.DictReader(Path("table.csv").read_text().splitlines()))
    assert [(row["method"], row["tried"], row["valued"]) for row in rows] == [
        ("grace", "4", "4"),
        ("bgrl", "4", "4"),
    ]
    assert "budget 4 settings for every method, its own included" in printed
    tested = [line for line in printed.splitlines() if " accuracy " in line]
    assert [line.split()[1] for line in tested if "majority class" not in line] == [
        "grace",
        "bgrl",
    ], "the test of the two chosen settings, and no other"


@pytest.mark.slow
def test_test_labels_have_no_part_in_it() -> None:
    write_graph()
    one = search(*PUBLIC, "method=grace", SPACE, "budget=5", "seeds=1")
    write_graph("other.npz", shuffle_test=True)
    words = [word.replace("g.npz", "other.npz") for word in PUBLIC]
    other = search(*words, "method=grace", SPACE, "budget=5", "seeds=1")

    def seen(found: dict[str, Any]) -> Any:
        (study,) = found["studies"]
        return study["chosen"], [(each["settings"], each["value"]) for each in study["trials"]]

    def tested(data: str) -> float:
        (found,) = (each for each in Store("runs").scan() if data in each.command)
        return found.metrics["accuracy"]

    assert seen(one) == seen(other)
    assert tested("g.npz") != tested("other.npz"), "the test itself reads them"


def test_where_splits_are_drawn_the_choice_is_tested_on_the_trials_split() -> None:
    write_graph()
    drawn = [*GRAPH, "method.architecture=[8]", "method=grace", SPACE, "budget=3"]
    found = search(*drawn, "seeds=[1000]")
    (study,) = found["studies"]
    assert study["chosen"] is not None
    (final,) = Store("runs").scan()
    trials = {record.split["hash"] for record in Store("searches").scan()}
    assert trials == {final.split["hash"]}


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_search_that_is_repeated_goes_on_from_its_records(sampler: str) -> None:
    write_graph()
    words = [*PUBLIC, "method=grace", SPACE, f"sampler={sampler}", "round=2", "budget=5", "seeds=1"]
    first = search(*words)
    before = recorded("searches")
    assert len(before) == 5
    lost = first["studies"][0]["trials"][3]["ids"][0]
    (Path("searches") / lost / "record.json").unlink()
    assert main(["search", *words]) == 0
    (path,) = Path("searches").glob("search-*.json")
    assert json.loads(path.read_text()) == first
    after = recorded("searches")
    assert {name for name in after if after[name] != before[name]} == {lost}


def test_a_run_that_was_recorded_without_the_criterion_is_trained_for_it() -> None:
    write_graph()
    assert main([*PUBLIC, "method=grace", "seeds=[1000]", "runs_dir=searches"]) == 0
    ((name, before),) = recorded("searches").items()
    found = search(*PUBLIC, "method=grace", "budget=1", "seeds=1", SPACE)
    assert found["studies"][0]["trials"][0]["ids"] == [name]
    assert recorded("searches")[name] != before
    assert found["studies"][0]["chosen"] == 0


@pytest.mark.parametrize(
    ("criterion", "best"),
    [("loss", min), ("silhouette", max), ("calinski_harabasz", max), ("davies_bouldin", min)],
)
def test_criteria_without_any_label(criterion: str, best: Any) -> None:
    write_graph()
    task = [*GRAPH[:3], "task=clustering", "method.architecture=[8]", "method=grace"]
    found = search(*task, SPACE, "budget=3", f"criterion={criterion}", "seeds=1")
    values = [trial["value"] for trial in found["studies"][0]["trials"]]
    assert found["studies"][0]["chosen"] == values.index(best(values))


def test_a_setting_that_fails_costs_its_trial_and_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_graph()
    main(["search", *PUBLIC, "method=grace", "space={lr:[1e38]}", "budget=3", "seeds=1"])
    printed = capsys.readouterr().out
    (path,) = Path("searches").glob("search-*.json")
    (study,) = json.loads(path.read_text())["studies"]
    assert len(study["trials"]) == 2, "the space has one setting, and the method its own"
    assert study["trials"][1]["trouble"] == "diverged" and study["trials"][1]["value"] is None
    assert study["chosen"] == 0
    (run,) = study["trials"][1]["ids"]
    assert study["trials"][1]["reason"].startswith(f"run {run}: ")
    assert f": 1 diverged, the first is run {run}: " in printed


@pytest.mark.slow
def test_trials_run_in_workers() -> None:
    write_graph()
    words = [*PUBLIC, "method=grace", SPACE, "budget=3", "seeds=1"]
    alone = search(*words)["studies"]
    assert main(["search", *words, "trials_dir=others", "launcher.workers=2"]) == 0
    (path,) = Path("others").glob("search-*.json")
    assert json.loads(path.read_text())["studies"] == alone


def test_a_dataset_that_cannot_be_had_is_told_and_nothing_is_chosen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["method=grace", "dataset=cora", "task=classification", "device=cpu", "budget=2"]
    words.append("task.classification.protocol=public")
    assert main(["search", *words]) == 1
    printed = capsys.readouterr()
    assert "2 not run" in printed.out and "chosen: " not in printed.out
    assert "cora" in printed.err


def test_trials_that_cannot_be_recorded_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    write_graph()
    words = [*PUBLIC, "method=grace", SPACE, "budget=1", "trials_dir=g.npz"]
    assert main(["search", *words]) == 1
    assert "(trials_dir=FOLDER sets where records go)" in capsys.readouterr().err


def test_a_dry_run_shows_the_trials_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write_graph()
    words = [*PUBLIC, "method=grace,bgrl", SPACE, "budget=5"]
    assert main(["search", *words, "--dry-run"]) == 0
    assert "10 runs: 0 are recorded in searches, 10 are to be" in capsys.readouterr().out
    assert not Path("searches").exists() or not recorded("searches")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("method=grace", "task=clustering"), "a search needs dataset=NAME"),
        (("method=grace", *GRAPH[:3]), "a search needs task=NAME"),
        (("method=grace", *GRAPH[:3], "task=[clustering,classification]"), "name one"),
        (("method=gracee", *GRAPH), "Did you mean 'grace'?"),
        (("method=grace", *GRAPH, "budget=0"), "budget=0 must be a whole number, at least 1"),
        (("method=grace", *GRAPH, "budget=²"), "budget=² must be a whole number, at least 1"),
        (("method=grace", *GRAPH, "search_seed=4294967296"), "at least 0 and below 2^32"),
        (("method=grace", *GRAPH, "sampler=grid"), "must be one of random, tpe"),
        (("method=grace", *GRAPH, "criterion=accuracy"), "must be one of validation, loss"),
        (("method=grace", *GRAPH, "rerun=all"), "leave rerun out"),
        (("method=grace", *PUBLIC, "seeds=[0,1000]"), "holds a seed of the trials"),
        (("method=grace", *GRAPH), "draws another split for every seed (protocol=random_10_10_80)"),
        (("method=grace", *GRAPH, "seeds=[1000]", "trial_seeds=2"), "draws another split"),
        (
            ("method=grace", *GRAPH[:3], "task=link_prediction", "criterion=loss"),
            "draws another split for every seed (other edges are held out)",
        ),
        # The loss and the embedding of what learns from labels are of the labels of its own seed.
        (("method=gcn", *GRAPH, "criterion=loss"), "(protocol=random_10_10_80)"),
        (("method=grace,dmt", *GRAPH, "criterion=silhouette"), "(protocol=random_10_10_80)"),
        (
            ("method=gae", *GRAPH, "method.epoch_by=validation", "criterion=loss"),
            "(protocol=random_10_10_80)",
        ),
        (
            ("method=gae", *GRAPH, "space={epoch_by:[last,validation]}", "criterion=loss"),
            "(protocol=random_10_10_80)",
        ),
        (
            ("method=dmat_i", *GRAPH, "space={train_on:[all,labelled]}", "criterion=loss"),
            "(protocol=random_10_10_80)",
        ),
        (
            ("method=grace", GRAPH[0], "dataset.path=several.npz", *PUBLIC[2:]),
            "draws another split for every seed (protocol=public)",
        ),
        (
            ("method=grace", *GRAPH[:3], "task=clustering"),
            "task=clustering has no validation part; criterion=silhouette",
        ),
        (("method=grace", *GRAPH, "space={alpha:[1]}"), "has no setting of method grace"),
        (
            ("method=grace", *PUBLIC, "space={tau:[0.4,-1,1]}", "budget=1"),
            "space: method.tau=-1 is out of range",
        ),
        (("method=grace", *GRAPH, "method.lrr=1"), "Did you mean 'method.lr'?"),
        (
            ("method=grace", *PUBLIC, "smapler=tpe"),
            "'smapler' does not exist. Did you mean 'sampler'? A search's own are space, budget,",
        ),
        (
            ("method=grace", *PUBLIC, "--output", "g.npz/table.csv"),
            "cannot write g.npz/table.csv: Not a directory; choose another --output",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[-2:]),
)
def test_what_cannot_be_searched_is_told_before_anything_runs(
    words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph()
    write_graph_of_several_splits("several.npz")
    if "dataset=NAME" in text:
        words = words[:2]
    assert main(["search", *words]) == 2
    assert text in capsys.readouterr().err
    assert not Path("searches").exists() or not recorded("searches")


@pytest.mark.parametrize("path", ["g.npz", "several.npz"])
def test_one_public_split_is_advised_where_there_is_one(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph()
    write_graph_of_several_splits("several.npz")
    words = ("method=grace", GRAPH[0], f"dataset.path={path}", *GRAPH[2:])
    assert main(["search", *words]) == 2
    told = capsys.readouterr().err
    assert "(protocol=random_10_10_80)" in told
    assert ("protocol=public has one split for all" in told) == (path == "g.npz")


def test_no_public_split_is_advised_where_there_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_graph("g.npz")
    arrays = np.load("g.npz")
    np.savez("g.npz", **{key: arrays[key] for key in arrays if not key.endswith("_mask")})
    words = ("method=grace", GRAPH[0], "dataset.path=g.npz", *GRAPH[2:])
    assert main(["search", *words]) == 2
    told = capsys.readouterr().err
    assert "(protocol=random_10_10_80)" in told and "protocol=public" not in told
    assert main(["search", "method=grace", "dataset=digits", "task=classification"]) == 2
    assert "protocol=public" not in capsys.readouterr().err
    assert main(["search", "method=grace", "dataset=cora", "task=classification"]) == 2
    assert "task.classification.protocol=public has one split for all" in capsys.readouterr().err


def test_own_configs_hold_for_trials_and_for_the_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_graph()
    Path("own/method").mkdir(parents=True)
    Path("own/method/grace.yaml").write_text("epochs: 3\nlr: 0.02\n")
    words = [*PUBLIC, "method=grace", "space={lr:[0.01,0.03]}", "budget=2", "seeds=1"]
    search(*words, "--config-dir", "own")
    records = [*Store("runs").scan(), *Store("searches").scan()]
    assert {record.spec["method"]["epochs"] for record in records} == {3}
    rates = {record.spec["method"]["lr"] for record in Store("searches").scan()}
    assert 0.02 in rates and rates - {0.02} <= {0.01, 0.03}, "what is drawn stands above the file"
    assert main(["search", *words, "--config-dir", "nowhere"]) == 2
    assert "--config-dir nowhere: there is no such folder" in capsys.readouterr().err
