"""The tables of M-Mix and NML-GCL, and the matrix of base methods and strategies."""

from __future__ import annotations

import csv
import io

import pytest

from gclbench.cli import table
from gclbench.component.registry import METHODS
from gclbench.config.validation import experiment_of
from gclbench.paper import matrix
from gclbench.paper.comparison import compare
from gclbench.paper.contrastive_columns import NML_DATASETS
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, column_of, find_table
from gclbench.records import Record, Store, flatten

PUBLIC = {"protocol": "public"}
MP = {"name": "mmix", "variant": "mp", "scope": "wp", "diversity": True}


def of(records, name: str):
    return compare(
        find_table(name),
        Collection(tuple(records), {item.id: "runs" for item in records}, ("runs",)),
    )


@pytest.mark.parametrize(
    ("name", "dataset", "metric", "column", "printed"),
    [
        ("nml/1", "cora", "accuracy", "nml_gcl", "84.93 ± 0.14"),
        ("nml/1", "wiki_cs", "accuracy", "nml_gcl w/o M", "77.91 ± 0.24"),
        ("nml/1", "citeseer", "accuracy", "nml_gcl cosine", "71.18 ± 0.24"),
        ("nml/2", "amazon_photo", "fmi", "progcl", "62.14"),
        ("mmix/2", "pubmed", "accuracy", "mmix_mo", "82.6 ± 0.2"),
        ("mmix/8", "dblp_citation", "accuracy", "grace + mp-mix", "85.6 ± 0.1"),
        ("mmix/2", "cora", "accuracy", "mvgrl", "84.1 ± 0.9"),
        ("mmix/2", "cora", "accuracy", "grace", "82.2 ± 0.6"),
        ("mmix/5", "cora", "nmi", "mmix_mp", "64.83"),
        ("mmix/7", "citeseer", "accuracy", "binary-mix", "74.1 ± 0.5"),
        ("mmix/9", "citeseer", "accuracy", "no mixing", "73.1 ± 0.7"),
        ("mmix/9", "cora", "accuracy", "random mixing", "84.1 ± 1.6"),
    ],
)
def test_printed_values(name: str, dataset: str, metric: str, column: str, printed: str) -> None:
    (entry,) = [
        item
        for item in of([], name).entries
        if (item.dataset, item.metric, item.column) == (dataset, metric, column)
    ]
    assert entry.show_printed() == printed


@pytest.mark.parametrize(
    ("name", "settings", "label"),
    [
        ("nml/1", {"method": "grace"}, "grace"),
        ("nml/1", {"method": "grace", "negatives": MP}, "grace + mmix"),
        ("nml/1", {"method": "grace", "filter": "gnnbp"}, None),
        ("nml/1", {"method": "grace", "epochs": 0}, None),
        (
            "nml/1",
            {"method": "nml_gcl", "negatives": {"name": "nml", "metric": "separable"}},
            "nml_gcl",
        ),
        (
            "nml/1",
            {"method": "nml_gcl", "negatives": {"name": "nml", "metric": "uniform"}},
            "nml_gcl w/o M",
        ),
        ("nml/1", {"method": "nml_gcl", "negatives": "uniform"}, None),
        ("nml/1", {"method": "mvgrl", "objective": "summary"}, "mvgrl"),
        ("nml/1", {"method": "mvgrl", "objective": "nodes"}, None),
        ("mmix/2", {"method": "mmix_mp", "negatives": MP}, "mmix_mp"),
        (
            "mmix/2",
            {"method": "mmix_mp", "negatives": {**MP, "diversity": False}},
            "mmix_mp w/o div",
        ),
        (
            "mmix/2",
            {"method": "mmix_mp", "negatives": {**MP, "variant": "random"}},
            "random mixing",
        ),
        (
            "mmix/2",
            {"method": "mmix_mp", "negatives": {**MP, "variant": "adjacency"}},
            "fixed mixing",
        ),
        (
            "mmix/2",
            {"method": "mmix_mp", "negatives": "uniform", "objective": "nodes"},
            "no mixing",
        ),
        (
            "mmix/7",
            {"method": "mmix_mo", "negatives": {**MP, "variant": "mo", "scope": "op"}},
            "mo-mix-op",
        ),
        (
            "mmix/7",
            {"method": "mmix_mo", "negatives": {**MP, "variant": "binary", "scope": "all"}},
            "binary-mix",
        ),
    ],
)
def test_which_column_a_run_is_in(
    record, name: str, settings: dict[str, object], label: str | None
) -> None:
    spec = record(task="classification", task_settings=PUBLIC, **settings).spec
    column = column_of(spec, TABLES[name])
    assert (column.label if column else None) == label


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("method=mmix_mp negatives=uniform", "no mixing"),
        ("method=mmix_mp negatives.variant=adjacency", "fixed mixing"),
        ("method=mmix_mp negatives.variant=random", "random mixing"),
        ("method=mmix_mp negatives=imix", "i-mix"),
        ("method=mmix_mo negatives.variant=binary negatives.scope=all", "binary-mix"),
        ("method=mmix_mo negatives.scope=op", "mo-mix-op"),
        ("method=mmix_mo", "mmix_mo"),
        ("method=mmix_mp negatives.diversity=false", "mmix_mp w/o div"),
        ("method=mmix_mp", "mmix_mp"),
    ],
)
def test_mixtures_are_compared_after_trainings_of_one_length(
    record, command: str, label: str
) -> None:
    table = TABLES["contrast/mixing"]

    def spec(*length: str):
        settings = experiment_of(
            [*command.split(), *length, "dataset=cora", "task=classification"]
        ).settings
        parts = {kind: settings[kind] for kind in ("method", "negatives", "filter")}
        return {**record(task="classification", task_settings=PUBLIC).spec, **parts}

    assert column_of(spec(), table) is None
    short = spec("method.epochs=200", "method.patience=0")
    column = column_of(short, table)
    assert column is not None and column.label == label and column.departures(flatten(short)) == []


def test_protocols_are_never_mixed(record) -> None:
    """NML-GCL's paper prints public splits for the citation graphs and 10/10/80 for the others.

    Runs of the other split are in neither cell.
    """
    runs = [
        record(
            method="grace",
            dataset=dataset,
            task="classification",
            task_settings={"protocol": protocol},
            metrics={"accuracy": value},
        )
        for dataset in ("cora", "wiki_cs")
        for protocol, value in (("public", 0.81), ("random_10_10_80", 0.83), ("pygcn", 0.86))
    ]
    found = {
        (entry.dataset, entry.column): entry.ours.values
        for entry in of(runs, "nml/1").entries
        if entry.ours.n
    }
    assert found == {("cora", "grace"): {0: 0.81}, ("wiki_cs", "grace"): {0: 0.83}}
    found = {
        (entry.dataset, entry.column): entry.ours.values
        for entry in of(runs, "contrast/10_10_80").entries
        if entry.ours.n
    }
    assert found == {("cora", "grace"): {0: 0.83}, ("wiki_cs", "grace"): {0: 0.83}}
    cora = next(run for run in runs if run.spec["task"]["protocol"] == "pygcn")
    tables = [found for found in TABLES.values() if "classification" in found.tasks]
    assert {"mmix/2", "nml/1"} <= {found.id for found in tables}
    assert [found.id for found in tables if found.holds(cora.spec)] == []


@pytest.mark.parametrize("dataset", NML_DATASETS)
@pytest.mark.parametrize(
    "command",
    [
        "method=grace",
        "method=nml_gcl",
        "method=progcl",
        "method=mmix_mp",
        "method=augcl",
        "method=gca",
    ],
)
def test_what_a_command_records_is_in_the_table_of_its_name(
    record, command: str, dataset: str
) -> None:
    """The columns ask for settings by name; the shipped configs must have them."""
    method = command.partition("=")[2]
    assert method in METHODS.names()
    settings = experiment_of([command, f"dataset={dataset}", "task=classification"]).settings
    spec = record(
        task="classification",
        dataset=dataset,
        task_settings=PUBLIC if dataset in ("cora", "citeseer", "pubmed") else {},
    ).spec
    spec = {
        **spec,
        "method": settings["method"],
        "negatives": settings["negatives"],
        "filter": settings["filter"],
    }
    column = column_of(spec, TABLES["nml/1"])
    assert column is not None and column.label == method


def matrix_runs(record) -> list[object]:
    def run(negatives: str | dict[str, object], seed: int, **changes: object):
        made = record(
            **{
                "method": "grace",
                "task": "classification",
                "negatives": negatives,
                "seed": seed,
                "metrics": {"accuracy": 0.8 + 0.01 * seed},
                **changes,
            }
        )
        made.seconds.update(fit=10.0 + seed)
        made.memory.update(rss_peak=3 << 30)
        return made

    return [
        run("uniform", 0),
        run("uniform", 1),
        run({"name": "nml", "alpha": 0.1}, 0),
        run({"name": "nml", "alpha": 0.7}, 0, metrics={"accuracy": 0.6}),
        run({"name": "nml", "alpha": 0.1}, 0, epochs=3, metrics={"accuracy": 0.2}),
        run("nml", 0, method="gca", epochs=3, metrics={"accuracy": 0.3}),
        run("uniform", 0, task="clustering", metrics={"nmi": 0.5}),
        run("uniform", 0, task_settings=PUBLIC, metrics={"accuracy": 0.1}),
        run("nml", 0, method="bgrl", status="unsupported", metrics={}),
        run("uniform", 0, method="mvgrl", objective="nodes", epochs=200, patience=0),
        run("imix", 0, method="mvgrl", objective="nodes", epochs=3000, patience=20),
    ]


def crossed(runs, *datasets: str):
    return compare(matrix.table(datasets or ("cora",)), Collection(tuple(runs)))


def test_matrix(record) -> None:
    runs = matrix_runs(record)
    filled = crossed(runs)
    shown = {
        (*entry.metric.split("/"), entry.column): entry.show_ours() for entry in filled.entries
    }
    assert shown["accuracy", "grace", "uniform"] == "80.50 ± 0.71 (2)"
    # Not at the base method's own settings: not beside those that are; alone, it is shown.
    assert (
        shown["accuracy", "grace", "nml"]
        == "80.00 (1) [negatives.alpha=0.1]; 60.00 (1) [negatives.alpha=0.7]"
    )
    assert shown["accuracy", "gca", "nml"] == "30.00 (1)†"
    assert (
        "cora: gca with nml (classification) was not run at the shipped settings: method.epochs=3"
        " (shipped: 200)."
    ) in filled.notes
    assert shown["accuracy", "mvgrl (nodes, 200 steps)", "uniform"] == "80.00 (1)‡"
    assert shown["accuracy", "mvgrl (nodes, 200 steps)", "imix"] == "not run", (
        "not trained for the row's number of steps"
    )
    assert shown["accuracy", "bgrl", "nml"] == "unsupported ×1"
    assert shown["accuracy", "gca", "uniform"] == "not run"
    assert shown["nmi", "grace", "uniform"] == "50.00 (1)"
    assert shown["seconds", "grace", "uniform"] == "10.50 ± 0.71 (2)"
    assert shown["memory", "grace", "uniform"] == "3.00 ± 0.00 (2)"
    assert shown["memory", "bgrl", "nml"] == "unsupported ×1"
    assert len(filled.records) == len(runs) - 3, (
        "all but the public split and the epochs that are not the base method's or the row's"
    )


def test_what_a_method_refused_is_not_asked_for_again(record) -> None:
    runs = [run for run in matrix_runs(record) if run.status == "unsupported"]
    (asked,) = [
        text
        for text in matrix.commands(crossed(runs), 10, all_cells=False)
        if "method=bgrl" in text
    ]
    names = (
        next(word for word in asked.split() if word.startswith("negatives="))
        .partition("=")[2]
        .split(",")
    )
    assert set(names) == set(matrix.strategies()) - {"nml"}


def test_matrix_is_of_the_form_of_a_dataset_that_is_shipped(record) -> None:
    def runs(value: float, **dataset: str) -> list[Record]:
        where = {"name": "coauthor_cs", **dataset}
        return [
            record(
                method="grace", negatives="nml", dataset=where, task=task, metrics={metric: value}
            )
            for task, metric in (("classification", "accuracy"), ("clustering", "nmi"))
        ]

    def of(*recorded: Record) -> tuple[list[str], bool]:
        filled = crossed(recorded, "coauthor_cs")
        shown = [
            entry.ours.show(entry.factor)
            for entry in filled.entries
            if (entry.metric, entry.column) == ("accuracy/grace", "nml")
        ]
        (asked,) = [
            text for text in matrix.commands(filled, 1, all_cells=False) if "method=grace" in text
        ]
        return shown, "nml" in asked

    others = [*runs(0.5), *runs(0.6, features="binary")]
    assert of(*runs(0.7, features="counts"), *others) == (["70.00 (1)"], False)
    shown, missing = of(*others)
    assert "50.00 (1)" in shown[0] and "60.00 (1)" in shown[0] and missing, (
        "shown for want of better, and still to be run"
    )


def test_matrix_as_a_table_and_as_csv(record, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for run in matrix_runs(record):
        Store("runs").write(run)
    assert table.main(["matrix"]) == 0
    text = capsys.readouterr().out
    assert (
        text.startswith("# matrix: base method × strategy")
        and "## cora: seconds of training" in text
    )
    assert f"| base | {' | '.join(matrix.strategies())} |" in text
    for kind, piece in (
        ("html", "<caption>matrix, cora: seconds"),
        ("latex", r"% tabular of matrix"),
    ):
        assert table.main(["matrix", "--format", kind]) == 0
        written = capsys.readouterr().out
        assert piece in written and "80.50" in written
    assert table.main(["matrix", "--format", "csv", "--dataset", "cora", "acm"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["dataset"] for row in rows} == {"cora", "acm"}
    (row,) = [
        row
        for row in rows
        if (row["dataset"], row["base"], row["negatives"]) == ("cora", "grace", "uniform")
        and row["measure"].startswith("acc")
    ]
    assert (row["mean"], row["n"]) == ("0.805", "2")
    assert table.main(["matrix", "--missing", "--seeds", "1", "--dataset", "cora"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "gclbench -m method=grace negatives=augcl,grace_plus,grape,homogcl,imix,mmix,nml,phases,"
        "progcl_mix,progcl_weight dataset=cora"
    )
    assert lines[2].startswith(
        "gclbench -m method=mvgrl method.objective=nodes method.epochs=200 method.patience=0"
        " negatives=uniform,augcl,"
    )
    assert table.main(["matrix", "--runs", "nowhere"]) == 2
    assert "there is no folder 'nowhere'" in capsys.readouterr().err
