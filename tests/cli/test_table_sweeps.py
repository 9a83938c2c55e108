"""`gclbench sweep`: the runs of a paper's table are exactly its cells."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import pytest

from gclbench.cli import main
from gclbench.cli.run import load_all
from gclbench.component.registry import DATASETS, METHODS
from gclbench.launch.plan import expand
from gclbench.launch.specification import specification
from gclbench.paper.columns import Column
from gclbench.paper.comparison import compare
from gclbench.paper.missing import missing
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, column_of
from gclbench.records import Store, flatten

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that `gclbench sweep` would run."""
    commands: list[list[str]] = []

    def launch(found: list[list[str]], *rest: object, **settings: object) -> int:
        commands.extend(found)
        return 0

    monkeypatch.setattr("gclbench.cli.run.launch", launch)
    return commands


@pytest.mark.parametrize(
    "name", sorted(name for name, definition in TABLES.items() if definition.task)
)
def test_a_tables_sweep_is_exactly_its_cells(
    name: str, launched: list[list[str]], capsys: Printed
) -> None:
    definition = TABLES[name]
    paper, number = name.split("/")
    assert main(["sweep", f"paper={paper}", f"table={number}"]) == 0
    cells: set[tuple[Column, str]] = set()
    for experiment in load_all(launched):
        assert experiment.seeds == tuple(range(10)) and list(experiment.components.tasks) == [
            definition.task
        ]
        spec = asdict(specification(experiment, definition.task, 0, "ab" * 32))
        column = column_of({key: value for key, value in spec.items() if key != "seed"}, definition)
        assert column is not None, spec
        assert not definition.departures(column, flatten(spec)), spec
        cells.add((column, spec["dataset"]["name"]))
    there = [column for column in definition.columns if _method(column) in METHODS.entries]
    assert cells == {
        (column, dataset)
        for column in there
        for dataset in definition.datasets
        if dataset in DATASETS.entries
    }
    assert len(launched) == len(cells)
    absent = {_method(column) for column in definition.columns} - set(METHODS.entries)
    err = capsys.readouterr().err
    assert {
        line.split()[3] for line in err.splitlines() if line.startswith("left out: method")
    } == absent


def _method(column: Column) -> str:
    return next(condition.values[0] for condition in column.where if condition.key == "method.name")


def test_a_column_of_a_table_is_chosen_by_its_heading(launched: list[list[str]]) -> None:
    assert (
        main(
            [
                "sweep",
                "table=nml/1",
                "dataset=cora,wiki_cs",
                "column=nml_gcl w/o M,grace + mmix",
                "seeds=[3,4]",
            ]
        )
        == 0
    )
    experiments = load_all(launched)
    assert [
        (experiment.settings["method"]["name"], experiment.seeds) for experiment in experiments
    ] == 2 * [
        ("nml_gcl", (3, 4)),
        ("grace", (3, 4)),
    ]
    assert [experiment.settings["negatives"].get("metric") for experiment in experiments] == 2 * [
        "uniform",
        None,
    ]


def test_two_tables_of_one_training_are_trained_once(launched: list[list[str]]) -> None:
    chosen = ["dataset=cora,amazon_photo", "column=local_gcl,mmix_mp", "seeds=2"]
    assert main(["sweep", "table=nml/1,nml/2", *chosen]) == 0
    experiments = load_all(launched)
    plan = expand(experiments, Store("nowhere"), lambda dataset: "ab" * 32)
    assert [(unit.method, unit.dataset, unit.seed) for unit in plan.units] == [
        (method, dataset, seed)
        for dataset in ("cora", "amazon_photo")
        for method in ("local_gcl", "mmix_mp")
        for seed in (0, 1)
    ]
    assert all(unit.tasks == ("classification", "clustering") for unit in plan.units)
    ids = {*plan.ids}
    launched.clear()
    for table in ("nml/1", "nml/2"):
        assert main(["sweep", f"table={table}", *chosen]) == 0
    apart = expand(load_all(launched), Store("nowhere"), lambda dataset: "ab" * 32)
    assert {*apart.ids} == ids and len(apart.units) == 2 * len(plan.units)


def test_tables_that_share_runs_and_tables_of_other_settings(launched: list[list[str]]) -> None:
    tables = ["paper=mmix", "table=2,5", "dataset=cora", "method=mvgrl,gae"]
    assert main(["sweep", *tables, "seeds=1"]) == 0
    public = "task.classification.protocol=public"
    assert launched == [
        ["method=gae", "dataset=cora", "task=classification", public, "seeds=1"],
        ["method=mvgrl", "dataset=cora", "task=[classification,clustering]", public, "seeds=1"],
    ], "Table 5 has no GAE"
    launched.clear()
    asked = ["table=[nml/1, nml/1, mmix/2,nml/2]", "dataset=cora", "method=dgi", "seeds=1"]
    assert main(["sweep", *asked]) == 0
    assert [command[2:] for command in launched] == [
        ["task=[classification,clustering]", public, "seeds=1"],
        ["method.propagation=diffusion", "task=classification", public, "seeds=1"],
    ], "the public split once, though two tables have it"


def test_two_settings_of_a_task_are_two_commands(launched: list[list[str]]) -> None:
    tables = ["table=mmix/2,dmat/2,mmix/5", "dataset=cora", "seeds=1"]
    assert main(["sweep", *tables, "--with", "grace method.tau=0.3"]) == 0
    row = ["method=grace", "method.tau=0.3", "dataset=cora"]
    public = "task.classification.protocol=public"
    assert launched == [
        [*row, "task=[classification,clustering]", public, "seeds=1"],
        [*row, "task=classification", "seeds=1"],
    ], "clusters stand with the first of the two"


def test_a_table_that_has_nothing_of_what_is_asked_for_is_named(
    launched: list[list[str]], capsys: Printed
) -> None:
    assert main(["sweep", "table=nml/1,dmat/1", "dataset=acm", "method=kmeans"]) == 0
    assert capsys.readouterr().err == "left out: table nml/1 has none of these cells\n"
    assert all(command[0] == "method=kmeans" for command in launched) and launched


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_is_missing_from_an_empty_table_is_all_of_it_and_runs_as_it_stands(
    name: str, launched: list[list[str]]
) -> None:
    comparison = compare(TABLES[name], Collection())
    lines = missing(comparison)
    assert len(lines) == (0 if TABLES[name].source != "runs" else 1)
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    there = {
        entry.command
        for entry in comparison.entries
        if entry.command and TABLES[name].source == "runs"
    }
    assert len(launched) == len(there), "one run per cell of a dataset and column"


def test_rows_columns_seeds_and_settings_of_a_table_can_be_chosen(
    launched: list[list[str]],
) -> None:
    assert (
        main(
            [
                "sweep",
                "table=dmat/1",
                "method=dmat_i",
                "dataset=acm,cora",
                "seeds=2",
                "method.tau=1,2",
                "launcher.workers=2",
            ]
        )
        == 0
    )
    experiments = load_all(launched)
    assert len(experiments) == 3 * 2 * 2, (
        "trained by batches, by passes and not at all, two datasets, two temperatures"
    )
    assert {experiment.settings["dataset"]["name"] for experiment in experiments} == {"acm", "cora"}
    assert {experiment.settings["method"]["epochs"] == 0 for experiment in experiments} == {
        True,
        False,
    }
    assert all(
        experiment.seeds == (0, 1) and experiment.launcher.workers == 2
        for experiment in experiments
    )


@pytest.mark.parametrize(
    "command,told",
    [
        (
            ["paper=dmat"],
            "say which table: gclbench sweep table=dmat/1 (`gclbench table` lists them)\n",
        ),
        (
            ["method=dmt,dmat", "dataset=cora"],
            "for every combination of settings: gclbench -m method=dmt,dmat dataset=cora",
        ),
        (["paper=dmat", "table=99"], "there is no table 'dmat/99'"),
        (["table=dmat-1"], "there is no table 'dmat-1'. Did you mean 'dmat/1'?"),
        (["dmat/1"], "'dmat/1' is no KEY=VALUE; a table is chosen with table=dmat/1"),
        (
            ["table=matrix"],
            (
                "table matrix is of no paper; `gclbench table matrix --missing` prints the commands"
                " that fill it"
            ),
        ),
        (
            ["paper=nml", "table=dmat/1"],
            "paper=nml and table=dmat/1 are of two papers; leave one out",
        ),
        (
            ["paper=nml", "table=1,dmat/1"],
            "paper=nml and table=dmat/1 are of two papers; leave one out",
        ),
        (
            ["paper=nml,dmat", "table=1"],
            "paper=nml,dmat names several papers; write table=nml/1,dmat/1",
        ),
        (
            ["paper=nml,dmat", "table=nml/1,2"],
            "paper=nml,dmat names several papers; write table=nml/1,nml/2,dmat/2",
        ),
        (
            ["paper=nml,dmat"],
            "paper=nml,dmat names several papers; write table=dmat/1,nml/1",
        ),
        (["table=,"], "'table=,' names nothing; leave it out for all"),
        (["table=dmat/1", "dataset=,"], "'dataset=,' names nothing; leave it out for all"),
        (
            ["table=nml/1,own"],
            "table own is of no paper; `gclbench table own --missing` prints the commands",
        ),
        (["table=nml/1,nml/3"], "there is no table 'nml/3'. Did you mean 'nml/"),
        (
            ["table=nml/1,nml/2", "task=clustering"],
            (
                "tables nml/1, nml/2 have the tasks classification, clustering; leave"
                " task=clustering out"
            ),
        ),
        (
            ["table=nml/1,nml/2", "dataset=acm"],
            "tables nml/1, nml/2 have no dataset acm. They have: cora, citeseer, ",
        ),
        (
            ["table=nml/1,dmat/1", "dataset=acm", "method=phases"],
            (
                "no run of tables nml/1, dmat/1 is left; `gclbench table nml/1`,"
                " `gclbench table dmat/1` show what they hold"
            ),
        ),
        (["table=dmat/1", "dataset="], "'dataset=' names nothing; leave it out for all"),
        (
            ["table=dmat/1", "method=kmeans", "method=agc"],
            "'method' is given 2 times; give it once",
        ),
        (
            ["paper=dmat", "table=1", "task=clustering"],
            "table dmat/1 has one task, clustering; leave task=clustering out",
        ),
        (
            ["paper=dmat", "table=1", "method=grate"],
            "table dmat/1 has no method grate. It has: kmeans, ",
        ),
        (
            ["table=dmat/7"],
            "table dmat/7 holds no results of runs; `gclbench table dmat/7` shows what it holds",
        ),
        (
            ["table=dmat/1", "column=untrained"],
            "table dmat/1 has no column untrained. Did you mean 'untrained encoder'? It has: ",
        ),
        (
            ["paper=dmat", "table=1", "dataset=digits"],
            "table dmat/1 has no dataset digits. It has: acm, dblp",
        ),
        (
            ["table=dmat/1", "column='untraind'"],
            "table dmat/1 has no column untraind. Did you mean 'untrained encoder'? It has: ",
        ),
        (
            ["table=dmat/1", "dataset=coraa"],
            "table dmat/1 has no dataset coraa. Did you mean 'cora'? It has: acm, dblp",
        ),
        (
            ["paper=dmat", "table=1", "method=dmat_i", "method.taau=1"],
            "'method.taau' does not exist. Did you mean 'method.tau'?",
        ),
    ],
)
def test_a_wrong_table_sweep(command: list[str], told: str, capsys: Printed) -> None:
    assert main(["sweep", *command]) == 2
    assert told in capsys.readouterr().err


def test_a_method_goes_by_the_name_that_both_kinds_of_items_share(
    launched: list[list[str]],
) -> None:
    assert main(["sweep", "table=mmix/3", "method=gcn", "dataset=mutag"]) == 0
    assert [word for command in launched for word in command if word.startswith("method=")] == [
        "method=gcn_graphs"
    ]
