"""Tables of the runs that no paper's table shows."""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gclbench.cli import table
from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import NotInTable
from gclbench.paper.filling import fill
from gclbench.paper.gains import commands
from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.own_tables import missing_runs, own_tables
from gclbench.paper.render import csv_of, latex_of, markdown
from gclbench.paper.report import page
from gclbench.paper.sources import Collection
from gclbench.paper.tables import UnknownTable
from gclbench.records import Store

VALUES = [0.50, 0.52, 0.55]


def runs(record, values=VALUES, metric: str = "acc", hash: str = "f", **settings) -> list:
    return [
        _on(record(seed=seed, metrics={metric: value}, **settings), hash)
        for seed, value in enumerate(values)
    ]


def _on(each, hash: str):
    return replace(each, spec={**each.spec, "dataset_hash": hash * 64})


def test_metrics_of_pieces_have_columns_of_their_own(record) -> None:
    """As those of a comparison of graphs of two sizes."""
    values = {"accuracy_n7": 0.6, "accuracy_n10": 0.7}
    rows = [
        record(method="graphcl", dataset="mutag", task="similarity", seed=seed, metrics=values)
        for seed in range(2)
    ]
    (own,) = own_tables(Collection(tuple(rows)))
    assert set(values) <= set(own.metrics)


def test_it_has_what_no_papers_table_shows(record) -> None:
    shown = runs(record)  # DMAT-i on cora is in dmat/1
    hidden = runs(record, tau=0.3)  # at other settings, beside those: in no table
    digits = runs(record, method="grace", dataset="digits")
    classified = runs(
        record, metric="accuracy", method="grace", dataset="digits", task="classification"
    )
    collection = Collection((*shown, *hidden, *digits, *classified))
    tables = {each.id: each for each in own_tables(collection)}
    assert list(tables) == ["own/classification", "own/clustering"]
    own = compare(tables["own/clustering"], collection)
    assert own.definition.datasets == ("cora", "digits")
    found = {(each.dataset, each.column): each for each in own.entries}
    assert set(found) == {("cora", "dmat_i method.tau=0.3"), ("digits", "grace")}
    cell = found["digits", "grace"]
    assert cell.ours.show(100) == "52.33 ± 2.52 (3)" and cell.verdict == ""
    assert cell.command == "gclbench method=grace dataset=digits task=clustering"
    # The others are still what gains are over.
    assert not {each.id for each in own.records} & {each.id for each in shown}


def test_two_graphs_of_a_name_are_two_datasets(record) -> None:
    small = runs(record, method="grace", dataset={"name": "sbm", "nodes": 60})
    large = runs(record, method="grace", dataset={"name": "sbm", "nodes": 90}, hash="e")
    (own,) = fill("own", lambda: Collection((*small, *large)))
    assert {each.dataset for each in own.entries} == {
        "sbm [nodes=60, dataset_hash=ffffffff]",
        "sbm [nodes=90, dataset_hash=eeeeeeee]",
    }
    assert own.pairs == 0
    (restricted,) = fill("own", lambda: Collection((*small, *large)), datasets=["sbm"])
    assert len(restricted.blocks) == 2


def test_methods_are_tested_against_each_other(record) -> None:
    better = [0.90, 0.93, 0.94]
    two = [
        *runs(record, method="grace", dataset="digits"),
        *runs(record, better, method="dgi", dataset="digits"),
    ]
    (own,) = fill("own/clustering", lambda: Collection(tuple(two)))
    ranks = {each.column: each.rank for each in own.entries}
    assert own.pairs == 1 and ranks == {"dgi": 1, "grace": None}


def test_every_format_has_all_tasks(record) -> None:
    collection = Collection(
        (
            *runs(record, method="grace", dataset="digits"),
            *runs(record, metric="auc", method="grace", dataset="digits", task="link_prediction"),
        )
    )
    tables = fill("own", lambda: collection)
    rows = list(csv.DictReader(io.StringIO(csv_of(tables))))
    assert [row["table"] for row in rows] == ["own/clustering", "own/link_prediction"]
    document = latex_of(tables)
    assert document.count(r"\begin{document}") == document.count(r"\end{document}") == 1
    assert document.count(r"52.33 $\pm$ 2.52 (3)") == 2
    assert "paper" not in markdown(tables[0]).partition("Records:")[0].replace("paper's", "")
    report = page(collection)
    assert 'id="table-own-clustering"' in report and "own runs, link_prediction" in report


def test_failed_runs_are_shown(record) -> None:
    failed = [record(method="grace", dataset="digits", status="oom", seed=seed) for seed in (0, 1)]
    (own,) = fill("own", lambda: Collection(tuple(failed)))
    assert [each.ours.show() for each in own.entries] == ["OOM ×2"]


def test_what_does_not_exist(record) -> None:
    collection = Collection(tuple(runs(record, method="grace", dataset="digits")))
    with pytest.raises(UnknownTable, match="there is no run that no paper's table shows"):
        fill("own", lambda: Collection(tuple(runs(record))))
    with pytest.raises(UnknownTable, match="Did you mean 'own/clustering'"):
        fill("own/clusterin", lambda: collection)
    with pytest.raises(
        NotInTable, match="no own run shown here has dataset 'cora'; they have digits"
    ):
        fill("own", lambda: collection, datasets=["cora"])
    with pytest.raises(NotInTable, match=r"\. Did you mean 'digits'\?$"):
        fill("own", lambda: collection, datasets=["digit"])


def test_the_command_and_what_is_missing(record, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    ran = runs(record, method="grace", dataset="digits")
    refused = record(method="gat", dataset="digits", status="unsupported")
    for each in [*ran, refused]:
        Store("runs").write(each)
    assert table.main(["own", "--missing", "--seeds", "5"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "gclbench method=grace dataset=digits task=clustering 'seeds=[3,4]'"
    assert not any("method=gat" in line for line in others), "another seed would be refused, too"
    assert table.main(["own", "--format", "markdown"]) == 0
    assert "52.33 ± 2.52 (3) |" in capsys.readouterr().out
    assert table.main(["own", "--only", "paper"]) == 2
    assert "own runs stand beside no paper's numbers" in capsys.readouterr().err


def test_what_is_missing_from_a_store_goes_there(record, tmp_path, monkeypatch, capsys) -> None:
    """And a row that is the control of another one is asked for once."""
    monkeypatch.chdir(tmp_path)
    for epochs, count in ((0, 2), (3, 4)):
        for each in runs(record, [0.5] * count, method="grace", dataset="digits", epochs=epochs):
            Store("my runs").write(each)
    assert table.main(["own", "--missing", "--seeds", "4", "--runs", "my runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and all(line.endswith(" 'runs_dir=my runs'") for line in lines)
    (untrained,) = (line for line in lines if "method.epochs=0" in line)
    assert "'seeds=[2,3]'" in untrained
    # What was exported into results/ is no store that runs go to.
    for where in ("results/records", "runs"):
        Path(where).parent.mkdir(exist_ok=True)
        shutil.copytree("my runs", where)
        assert table.main(["own", "--missing", "--seeds", "4", "--runs", where]) == 0
        assert "runs_dir" not in capsys.readouterr().out


def test_the_majority_class_stands_below_methods_on_graphs_that_no_paper_prints(record) -> None:
    shared = {"metric": "accuracy", "task": "classification"}
    floors = [{"accuracy": 0.4}, {"accuracy": 0.42}, {"accuracy": 0.41}]
    both = [
        replace(each, floor=floors[each.seed])
        for method in ("zebra", "grace")
        for dataset in ("mine", "cora")
        for each in runs(record, method=method, dataset=dataset, tau=0.3, **shared)
    ]
    (own,) = fill("own", lambda: Collection(tuple(both)))
    assert [column.label for column in own.definition.columns][-1] == "majority class"
    found = {
        each.dataset: each.ours.show(100) for each in own.entries if each.column == "majority class"
    }
    assert found["mine"] == "41.00 ± 1.00 (3)", "one per seed, however many methods ran"
    assert found.get("cora", "not run") == "not run", "papers print numbers on it"
    lines = list(csv.DictReader(io.StringIO(csv_of([own]))))
    (floor,) = [
        row for row in lines if (row["column"], row["dataset"]) == ("majority class", "mine")
    ]
    assert float(floor["ours_mean"]) == pytest.approx(0.41) and floor["n"] == "3"
    assert "majority class" in latex_of([own]) and "majority class" in markdown(own)
    (records,) = [line for line in markdown(own).splitlines() if line.startswith("- Records: ")]
    assert "unknown" not in records, "a floor is no run"
    # A record need not say its versions.
    bare = [
        replace(each, spec={key: part for key, part in each.spec.items() if key != "versions"})
        for each in both
    ]
    (own,) = fill("own", lambda: Collection(tuple(bare)))
    assert [column.label for column in own.definition.columns][-1] == "majority class"


def test_a_user_s_graph_of_two_names_is_one_dataset(record) -> None:
    def named(name: str, **settings) -> list:
        return [
            replace(each, command=f"dataset=custom dataset.path=g.npz dataset.name={name}")
            for each in runs(record, dataset={"name": name, "from": "custom"}, **settings)
        ]

    both = Collection((*named("two", method="dgi"), *named("one", method="kmeans")))
    (own,) = fill("own", lambda: both)
    assert own.definition.datasets == ("one",)
    assert {each.column: each.ours.n for each in own.entries} == {"dgi": 3, "kmeans": 3}
    (gain,) = [gain for each in own.entries for gain in each.gains if gain.settled.n]
    assert gain.control == "raw features"
    assert all("dataset.name=one" in line for line in missing_runs(own, 4))
    assert "- Dataset one is also called two." in markdown(own)
    (asked,) = fill("own", lambda: both, datasets=["two"])
    assert [block.dataset for block in asked.blocks] == ["one"]


def test_the_runs_of_a_method_under_two_names_of_a_graph_are_one_setting(record) -> None:
    def run(name: str, seed: int, method: str):
        each = record(
            method=method,
            dataset={"name": name, "from": "custom"},
            seed=seed,
            metrics={"acc": 0.5 + 0.1 * seed},
        )
        typed = f"dataset=custom dataset.path={name}.npz dataset.name={name}"
        return replace(each, command=typed, floor={"acc": 0.2 + 0.01 * seed})

    there = Collection(
        (
            *(run("g1", seed, "kmeans") for seed in (0, 1)),
            *(run("g2", seed, "kmeans") for seed in (2, 3)),
            *(run("g1", seed, "dgi") for seed in (2, 3)),
        )
    )
    assert [(group.name("dataset"), len(group.records)) for group in there.groups] == [
        ("g1", 2),
        ("g1", 4),
    ]
    (own,) = fill("own", lambda: there)
    assert {each.column: each.ours.n for each in own.entries} == {
        "dgi": 2,
        "kmeans": 4,
        "chance": 4,
    }
    (gain,) = [gain for each in own.entries for gain in each.gains if gain.settled.n]
    assert (gain.control, gain.settled.n, gain.lacking) == ("raw features", 2, ())
    assert missing_runs(own, 4) == [
        "gclbench method=dgi dataset=custom dataset.path=g1.npz dataset.name=g1 task=clustering"
        " seeds=2"
    ]
    compared = head_to_head(("kmeans", "dgi"), there, ["g2"])
    assert [(line.dataset, line.settled.n) for line in compared.lines] == [("g1", 2)]
    assert "Graph 'g1' is also called 'g2'." in compared.remarks


def test_seeds_beyond_those_asked_for_count(record) -> None:
    there = [record(method="grace", dataset="digits", seed=seed) for seed in range(5, 16)]
    (own,) = fill("own", lambda: Collection(tuple(there)))
    assert missing_runs(own, 10) == []
    assert missing_runs(own, 12)[0].endswith(" seeds=1")


def test_a_setting_of_many_digits_is_typed_in_full(record) -> None:
    there = [record(method="grace", dataset="digits", tau=tau) for tau in (0.123456789, 1 / 3, 0.5)]
    (own,) = fill("own", lambda: Collection(tuple(there)))
    words = " ".join(missing_runs(own, 2))
    for tau in ("0.123456789", "0.3333333333333333", "0.5"):
        assert f"method.tau={tau} " in words


def test_of_a_file_that_changed_the_newest_graph_is_asked_for(record) -> None:
    def of(content: str, day: int, seeds: int, method: str = "grace") -> list:
        made = runs(record, VALUES[:seeds], hash=content, method=method, dataset=named)
        return [replace(each, command=typed, created=f"2026-01-0{day}") for each in made]

    named = {"name": "g", "from": "custom"}
    typed = "gclbench method=grace dataset=custom dataset.path=g.npz dataset.name=g"
    for days in ((1, 2), (2, 1)):
        there = (*of("a", days[0], 1), *of("b", days[1], 2))
        (own,) = fill("own", partial(Collection, there))
        assert len(own.definition.datasets) == 2
        (line,) = missing_runs(own, 3)
        assert line.endswith(" 'seeds=[2]'" if days == (1, 2) else " 'seeds=[1,2]'")
    with pytest.raises(NothingToCompare, match=re.escape(f"{typed[24:]} ")):
        head_to_head(("grace", "dgi"), Collection((*of("a", 1, 1), *of("b", 2, 2, "dgi"))))


def test_a_floor_is_no_method_that_gains_over_controls(record) -> None:
    floored = [
        replace(each, floor={"acc": 0.2 + 0.01 * each.seed})
        for each in runs(record, method="grace", dataset="mine")
    ]
    features = runs(record, [0.4, 0.45, 0.43], method="kmeans", dataset="mine")
    (own,) = fill("own", lambda: Collection((*floored, *features)))
    gains = {each.column: len(each.gains) for each in own.entries}
    assert gains == {"grace": 5, "kmeans": 0, "chance": 0}
    assert own.gain_tests == 1, "grace over raw features"
    assert "| mine | chance |" not in markdown(own).partition("## Gain over controls")[2]


def test_features_that_the_task_scales_are_the_control_of_rows_that_it_scales(record) -> None:
    scaled = {"dataset": "digits", "task_settings": {"normalize": "l2"}}
    ours = runs(record, method="grace", **scaled)
    features = runs(record, [0.4, 0.45, 0.43], method="kmeans", **scaled)
    (own,) = fill("own", lambda: Collection((*ours, *features)))
    (gains,) = (entry.gains for entry in own.entries if entry.method == "grace")
    found = {gain.control: gain.settled.n for gain in gains if gain.settled.n}
    assert found == {"raw features": 3, "raw unit rows": 3}


def test_controls_of_own_graphs_are_typed_as_their_runs_were(record) -> None:
    own = {"name": "blocks", "from": "custom"}
    run = record(dataset=own, method="grace", epochs=20)
    typed = "gclbench method=grace dataset=custom dataset.path=graph.npz dataset.name=blocks"
    run = replace(run, command=f"{typed} method.epochs=20 task=clustering 'seeds=[0]'")
    collection = Collection((run,), {}, ("runs",), ())
    (found,) = own_tables(collection)
    lines = commands(compare(found, collection).entries, found.typed_dataset)
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert {"dataset=custom", "dataset.path=graph.npz", "dataset.name=blocks"} <= {*words}
        assert "dataset=blocks" not in words
