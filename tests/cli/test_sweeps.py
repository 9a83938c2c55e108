"""Sweeps on the command line: what would run, a paper's table, handing over, looking, ending."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from gclbench.cli import main
from gclbench.cli.run import load_all
from gclbench.component.registry import DATASETS, METHODS
from gclbench.component.settings import values_of
from gclbench.config.validation import load
from gclbench.launch.attempt import give_up, perform
from gclbench.launch.launcher import LaunchError
from gclbench.launch.local import Local
from gclbench.launch.plan import expand
from gclbench.launch.specification import specification
from gclbench.launch.sweep import Job, Sweep, UnknownSweep, find
from gclbench.paper.columns import Column
from gclbench.paper.comparison import compare
from gclbench.paper.missing import missing
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, column_of
from gclbench.records import Store, flatten
from gclbench.run.ending import Ending

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6", "device=cpu")
KMEANS = (*SMALL, "method=kmeans", "task=clustering", "task.clustering.n_init=1")
Printed = pytest.CaptureFixture[str]


def records(folder: str = "runs") -> list[str]:
    return sorted(f"{record.seed} {record.status}" for record in Store(folder).scan())


def saved_sweep(*overrides: str, **more: object) -> Sweep:
    """A sweep in the store whose only job has never been."""
    experiment = load([*KMEANS, *overrides])
    plan = expand([experiment], Store("runs"))
    places = tuple(range(len(plan.units)))
    job = Job("nowhere:0", places, host=os.uname().nodename, pid=2**22 + 1)
    sweep = Sweep(
        "runs",
        tuple(plan.units),
        "local",
        values_of(experiment.launcher),
        ("gclbench", "submit", *overrides),
        jobs=[job],
    )
    for key, value in more.items():
        setattr(sweep, key, value)
    sweep.save()
    return sweep


# --- dry runs
# ------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_what_is_left_and_writes_nothing(here: Path, capsys: Printed) -> None:
    assert main(["-m", *KMEANS, "filter=none,gnnbp", "seeds=2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines() == [
        *(
            f"kmeans · sbm · seed {seed} · clustering  (filter={name})"
            for name in ("none", "gnnbp")
            for seed in (0, 1)
        ),
        "4 runs: 0 are recorded in runs, 4 are to be done in 4 units",
        "time, one after the other: unknown: nothing like these runs is recorded",
    ]
    assert list(here.iterdir()) == []
    assert main([*KMEANS, "seeds=2"]) == 0
    capsys.readouterr()
    assert main([*KMEANS, "seeds=5", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "5 runs: 2 are recorded in runs, 3 are to be done in 3 units" in out
    assert re.search(r"time, one after the other: about \d+ s", out)
    assert len(records()) == 2


def test_a_dry_run_tells_which_runs_would_be_refused(here: Path, capsys: Printed) -> None:
    command = [
        "-m",
        *SMALL,
        "method=bgrl,grace",
        "negatives=uniform,imix",
        "method.epochs=1",
        "task=clustering",
        "seeds=2",
    ]
    assert main([*command, "--dry-run"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "unsupported" in line]
    assert len(told) == 1 and told[0].startswith(
        "2 of them will be recorded as unsupported: method=bgrl has no negatives for negatives=imix"
    )
    assert main(command) == 1
    reasons = {record.status: record.reason for record in Store("runs").scan()}
    assert reasons["unsupported"] in told[0], "what was foretold is what is recorded"
    capsys.readouterr()
    assert main([*command, "--dry-run"]) == 0
    assert "unsupported" not in capsys.readouterr().out, "nothing is left that would be refused"


def test_a_dry_run_finds_wrong_commands_too(capsys: Printed) -> None:
    assert main(["--dry-run", "methd=kmeans"]) == 2
    assert "Did you mean 'method'?" in capsys.readouterr().err


# --- wrong sweeps
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command,told",
    [
        (
            ["launcher.wrokers=2"],
            "'launcher.wrokers' does not exist. Did you mean 'launcher.workers'?",
        ),
        (["launcher.workers=0"], "launcher.workers=0 is out of range: it must be ≥ 1"),
        (
            ["launcher=slrm"],
            "there is no launcher 'slrm'. Did you mean 'slurm'? Known launchers: local, ray, slurm",
        ),
        (
            ["launcher=local", "launcher.partition=gpu"],
            (
                "'launcher.partition' does not exist. Did you mean launcher=slurm, with that"
                " setting? Known: launcher.threads, "
            ),
        ),
        (
            ["-m", "launcher=local,slurm"],
            "'launcher=local,slurm' names several values, and a sweep has one launcher",
        ),
        (
            ["-m", "launcher.workers=1,2"],
            "'launcher.workers=1,2' names several values, and a sweep has one launcher.workers",
        ),
        (["-m", "runs_dir=a,b"], "a sweep has one runs_dir"),
        (
            ["-m", "dataset=glob(zzz*)"],
            "'dataset=glob(zzz*)' stands for no value at all, so there is nothing to run",
        ),
        (["memory_limit=-1"], "memory_limit=-1 must be a positive number of GiB, or null"),
        (
            ["checkpoint_every=often"],
            "checkpoint_every=often must be a positive number of seconds, or null",
        ),
    ],
)
def test_a_wrong_sweep_is_told_before_anything_starts(
    here: Path, capsys: Printed, command: list[str], told: str
) -> None:
    swept = {word.partition("=")[0] for word in command}
    assert (
        main([*(word for word in KMEANS[:-3] if word.partition("=")[0] not in swept), *command])
        == 2
    )
    assert told in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_all_errors_of_a_partly_wrong_sweep_are_told_at_once(here: Path, capsys: Printed) -> None:
    command = [
        "-m",
        *SMALL,
        "method=kmeans,dmat_i,nope",
        "method.epochs=1,-3",
        "launcher.workers=-2",
        "seeds=0",
    ]
    assert main(command) == 2
    err = capsys.readouterr().err
    for told in ("there is no method 'nope'", "'method.epochs' does not exist", "method.epochs=-3 is out of range",
                 "launcher.workers=-2 is out of range", "seeds=0 must be"):  # fmt: skip
        assert err.count(told) == 1, told
    assert list(here.iterdir()) == []


# --- a paper's table
# -----------------------------------------------------------------------------------------


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that `gclbench sweep` would run."""
    commands: list[list[str]] = []
    monkeypatch.setattr("gclbench.cli.run.launch", lambda found, *rest: commands.extend(found) or 0)
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
        assert column is not None and not column.departures(flatten(spec)), spec
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
    assert len(experiments) == 2 * 2 * 2, (
        "trained and untrained encoder, two datasets, two temperatures"
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
            "say which table: gclbench sweep paper=dmat table=1 (`gclbench table` lists them)\n",
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
            "table dmat/1 has no column untrained. It has: kmeans, deepwalk",
        ),
        (
            ["paper=dmat", "table=1", "dataset=digits"],
            "table dmat/1 has no dataset digits. It has: acm, dblp",
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


# --- handing over
# --------------------------------------------------------------------------------------------


def wait_for(condition: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.2)


@pytest.mark.slow
def test_a_sweep_is_handed_over_seen_and_ended(here: Path, capsys: Printed) -> None:
    long = [*SMALL, "method=dmat_i", "method.epochs=1000000", "task=clustering", "seeds=2"]
    assert main(["submit", *long]) == 0
    out = capsys.readouterr().out
    name = re.match(r"sweep (\S+): 2 runs in 2 units handed over to launcher=local", out)[1]  # type: ignore[index]
    (job,) = json.loads(Path("runs/sweeps", name, "sweep.json").read_text())["jobs"]
    wait_for(lambda: bool(list(here.glob("runs/*/running.json"))))
    assert main(["status", name]) == 0
    out = capsys.readouterr().out
    assert (
        "0 of 2 runs have ended; 0 were recorded before" in out
        and "1 units running, 1 queued" in out
    )
    assert "dmat_i · sbm · seed 0 · clustering  on " in out and "time left: unknown" in out
    assert main(["cancel", name[-6:]]) == 0
    assert f"sweep {name}: 1 jobs told to end" in capsys.readouterr().out
    wait_for(
        lambda: (
            main(["cancel", name]) == 0
            and "nothing of it was queued or running" in capsys.readouterr().out
        )
    )
    assert records() == ["0 interrupted"]
    assert main(["status", name]) == 1
    out = capsys.readouterr().out
    assert (
        "cancelled" in out
        and "1 of 2 runs have ended: 1 interrupted" in out
        and "2 left undone" in out
    )
    assert "interrupted: the run was interrupted; the same command repeats it" in out
    assert (
        not Path(f"/proc/{job['pid']}").exists()
        or "Z" in Path(f"/proc/{job['pid']}/stat").read_text()
    )
    log = Path("runs/sweeps", name, "log.txt").read_text()
    assert (
        "seed 0 · clustering: begun" in log
        and "cancelled; what was recorded stays" in log
        and "Traceback" not in log
    )


@pytest.mark.slow
def test_a_sweep_that_is_handed_over_ends_by_itself(here: Path, capsys: Printed) -> None:
    assert main([*KMEANS]) == 0
    assert (
        main(["submit", "-m", *KMEANS, "seeds=3", "filter=none,gnnbp", "launcher.workers=2"]) == 0
    )
    wait_for(lambda: len(records()) == 6)
    capsys.readouterr()
    (name,) = [path.name for path in Path("runs/sweeps").iterdir()]
    wait_for(
        lambda: (
            main(["status", name]) == 0 and "0 units running, 0 queued" in capsys.readouterr().out
        )
    )
    assert main(["submit", "-m", *KMEANS, "seeds=3", "filter=none,gnnbp"]) == 0
    assert (
        "nothing is left to hand over" in capsys.readouterr().out
        and len(list(Path("runs/sweeps").iterdir())) == 1
    )
    assert main(["status"]) == 0
    assert f"sweep {name}" in capsys.readouterr().out


def test_a_sweep_nobody_works_on_says_how_to_go_on(capsys: Printed) -> None:
    sweep = saved_sweep("seeds=4")
    perform(sweep.units[1], "runs")
    give_up(sweep.units[2], "runs", Ending("oom", "its worker was killed"))
    capsys.readouterr()
    assert main(["status", sweep.id[:10]]) == 1
    out = capsys.readouterr().out
    assert "2 of 4 runs have ended: 1 ok, 1 oom; 0 were recorded before" in out
    assert "0 units running, 0 queued, 2 left undone" in out and "oom: its worker was killed" in out
    assert "the same command goes on with it" in out
    assert main([*KMEANS, "seeds=4"]) == 1
    assert main(["status", sweep.id]) == 1
    assert "4 of 4 runs have ended: 3 ok, 1 oom" in capsys.readouterr().out


def test_status_estimates_the_time_left(capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    perform(saved_sweep("seeds=1").units[0], "runs")
    record = next(Store("runs").scan())
    record.seconds = {"load": 1000.0, "fit": 90.0, "evaluate": 10.0}
    Store("runs").write(record)
    sweep = saved_sweep("seeds=7")
    assert len(sweep.units) == 6
    monkeypatch.setattr("gclbench.launch.background.state", lambda job: "running")
    assert main(["status", sweep.id]) == 0
    assert "0 units running, 6 queued\n  time left: about 10 min\n" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["status", "cancel"])
def test_a_sweep_that_is_not_there(verb: str, capsys: Printed) -> None:
    sweep = saved_sweep()
    assert main([verb, "nonesuch"]) == 2
    err = capsys.readouterr().err
    assert f"gclbench {verb}: there is no sweep 'nonesuch' in runs. Sweeps there: {sweep.id}" in err


def test_a_cancel_that_nobody_hears_cancels_nothing(
    capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And while it is tried, whoever waits for the jobs knows of it."""
    sweep = saved_sweep()
    known: list[bool] = []

    def silent(self: Local, told: Sweep) -> list[str]:
        known.append(find("runs", sweep.id).cancelled)
        raise LaunchError("nobody answers")

    monkeypatch.setattr(Local, "cancel", silent)
    assert main(["cancel", sweep.id]) == 1
    assert "gclbench cancel: nobody answers" in capsys.readouterr().err
    assert known == [True] and not find("runs", sweep.id).cancelled


def test_sweeps_are_found_by_a_part_of_their_ids(tmp_path: Path) -> None:
    first, second = (
        saved_sweep(id="20260101-000000-aaaaaa"),
        saved_sweep(id="20260101-000000-bbbbbb"),
    )
    assert find("runs", "aaaaaa").id == first.id and find("runs", second.id).id == second.id
    with pytest.raises(
        UnknownSweep, match="2 sweeps match '2026' in runs. Sweeps there: 20260101-000000-aaaaaa, "
    ):
        find("runs", "2026")
    (first.folder / "sweep.json").write_text('{"units": [{}]}')
    with pytest.raises(
        UnknownSweep, match="sweep.json is not readable as a sweep .not a unit of work"
    ):
        find("runs", "aaaaaa")


def test_a_sweep_comes_back_as_it_was_saved() -> None:
    sweep = saved_sweep("seeds=3", "launcher.workers=2", recorded=5)
    assert Sweep.read(sweep.folder) == sweep
    assert sweep.options == {"workers": 2, "threads": None} and len(sweep.units) == 3


def test_another_process_of_the_same_number_is_not_the_sweeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gclbench.launch import background

    job = {"id": "x", "host": os.uname().nodename, "pid": os.getpid(), "begun": "1"}
    monkeypatch.setattr(
        os, "kill", lambda pid, number: pytest.fail("killed") if number == signal.SIGTERM else None
    )
    assert background.state(job) == "ended" and background.end(job) is False
