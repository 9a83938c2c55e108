"""Sweeps before they start: dry runs, and wrong sweeps."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from own_graphs import save
from small_sweeps import KMEANS, SMALL, records

from gclbench.cli import main
from gclbench.records import Store
from gclbench.run import datasets

Printed = pytest.CaptureFixture[str]


def test_a_dry_run_shows_what_is_left_and_writes_nothing(here: Path, capsys: Printed) -> None:
    assert main(["-m", *KMEANS, "filter=none,gnnbp", "seeds=2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "4 runs: seeds 0 to 1",
        *(
            f"kmeans (filter={name}) · sbm · seed {seed} · clustering"
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


def test_seconds_on_a_gpu_say_nothing_of_a_processor(here: Path, capsys: Printed) -> None:
    assert main([*KMEANS, "seeds=1"]) == 0
    (run,) = (path for path in Path("runs").rglob("*.json") if '"rss_peak"' in path.read_text())
    run.write_text(run.read_text().replace('"rss_peak"', '"gpu_allocated"'))
    capsys.readouterr()
    words = [*KMEANS, "seeds=2", "device=cpu", "--dry-run"]
    assert main(words) == 0
    assert "unknown: nothing like these runs is recorded" in capsys.readouterr().out
    # Nor where they stand in results/, and another store is asked for.
    assert main(["export", "--runs", "runs", "--to", "results/records"]) == 0
    capsys.readouterr()
    assert main([*words, "runs_dir=others"]) == 0
    out = capsys.readouterr().out
    assert "1 of those to be done stand in results" in out
    assert "unknown: nothing like these runs is recorded" in out


def test_units_of_one_name_are_told_apart_where_they_run(here: Path, capsys: Printed) -> None:
    words = ["-m", *KMEANS, "filter=none,gnnbp", "task.clustering.normalize=none,l2"]
    assert main(words) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kmeans (")]
    assert [line.partition(": ")[0] for line in told] == [
        f"kmeans (filter={name} task.clustering.normalize={rows}) · sbm · seed 0 · clustering"
        for name in ("none", "gnnbp")
        for rows in ("none", "l2")
    ]
    # What is recorded already changes no title.
    assert main([*words, "seeds=2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "kmeans (filter=gnnbp task.clustering.normalize=l2) · sbm · seed 1 · clustering" in out
    assert main([*KMEANS, "seeds=[0]"]) == 0
    assert main(["-m", *KMEANS, "filter=none,gnnbp", "seeds=2", "--dry-run"]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("kmeans")]
    assert all(line.startswith("kmeans (filter=") for line in titles) and titles
    assert main([*KMEANS, "seeds=[1]"]) == 0
    assert "kmeans · sbm · seed 1 · clustering: " in capsys.readouterr().err, "one of its name"


def test_a_dry_run_tells_what_stands_in_the_results(here: Path, capsys: Printed) -> None:
    assert main([*KMEANS, "seeds=2", "runs_dir=results"]) == 0
    capsys.readouterr()
    assert main([*KMEANS, "seeds=3", "--dry-run"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-4:-2] == [
        "3 runs: 0 are recorded in runs, 3 are to be done in 3 units",
        "2 of those to be done stand in results, where tables find them; runs lacks them, so they"
        " would be made again",
    ]
    assert re.fullmatch(r"time, one after the other: about \d+ s", out[-2])
    assert (
        out[-1] == "times of 3 of 3 units are those of runs in results, as runs has none like them"
    )
    for folder in ("results", "results/../results", "results/deeper"):
        assert main([*KMEANS, "seeds=3", "--dry-run", f"runs_dir={folder}"]) == 0
        out = capsys.readouterr().out
        done, left = (0, "3 are") if folder.endswith("deeper") else (2, "1 is")
        assert f"3 runs: {done} are recorded in {folder}, {left} to be done" in out
        assert "stand in results" not in out and "are those of runs" not in out


@pytest.mark.parametrize("verb", [["-m"], ["sweep", "runs.yaml"]])
def test_a_dry_run_reads_no_graph(
    verb: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    Path("runs.yaml").write_text("- method=kmeans task=clustering\n")
    save("mine.npz")
    words = ["dataset=custom", "dataset.path=mine.npz", "device=cpu", "seeds=2"]
    assert main(["method=kmeans", "task=clustering", *words]) == 0

    def unread(*_: object) -> None:
        raise AssertionError("a graph is read")

    capsys.readouterr()
    monkeypatch.setattr("gclbench.data.custom.Custom.load", unread)
    datasets.load.cache_clear()
    chosen = ["method=kmeans", "task=clustering"] if verb == ["-m"] else []
    command = [*verb, *chosen, *words[:3], "--dry-run"]
    assert main([*command, "seeds=3"]) == 0
    assert "3 runs: 2 are recorded in runs, 1 is to be done" in capsys.readouterr().out
    later = time.time() + 60
    os.utime("mine.npz", (later, later))
    assert main([*command, "seeds=3"]) == 0
    assert "3 runs: 0 are recorded in runs, 3 are to be done" in capsys.readouterr().out
    os.utime("mine.npz", (0, 1))
    for path in Path("runs").glob("*/record.json"):  # no date says whether the file is older
        text, dates = re.subn('"created": "[^"]*"', '"created": ""', path.read_text())
        assert dates == 1 and path.write_text(text)
    assert main([*command, "seeds=3"]) == 0
    assert "3 runs: 0 are recorded in runs, 3 are to be done" in capsys.readouterr().out
    Path("mine.npz").write_text("no graph any more")
    assert main([*command, "seeds=3"]) == 1
    assert "mine.npz is no .npz file" in capsys.readouterr().err


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
        "2 of those to be done will be recorded as unsupported: method=bgrl has no negatives for"
        " negatives=imix"
    )
    assert main(command) == 1
    reasons = {record.status: record.reason for record in Store("runs").scan()}
    assert reasons["unsupported"] in told[0], "what was foretold is what is recorded"
    capsys.readouterr()
    assert main([*command, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "will be recorded as" not in told, "nothing is left that would be refused"
    assert "2 of the recorded ended as unsupported, for example: gclbench show " in told


@pytest.mark.parametrize("method", ["mlp", "dmat_i method.train_on=labelled"])
def test_a_dry_run_tells_what_reveals_no_labels(method: str, here, capsys: Printed) -> None:
    words = [*SMALL, *f"method={method} method.epochs=1".split()]
    assert main([*words, "task=[classification,link_prediction]", "--dry-run"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "unsupported" in line]
    reason = (
        f"method={method.split()[0]} learns from labels, and task=link_prediction reveals none;"
        " task=classification reveals those of its training nodes"
    )
    assert told == [f"1 of those to be done will be recorded as unsupported: {reason}"]
    assert main([*words, "task=link_prediction"]) == 1
    assert [record.reason for record in Store("runs").scan()] == [reason]


def test_a_dry_run_tells_other_items_before_missing_labels(here: Path, capsys: Printed) -> None:
    words = ["dataset=mutag", "method=gin", "task=link_prediction", "--dry-run"]
    assert main(words) == 0
    assert "task=link_prediction evaluates embeddings of nodes, and mutag has graphs" in (
        capsys.readouterr().out
    )


def test_a_dry_run_tells_tasks_and_methods_of_other_items(capsys: Printed) -> None:
    words = ["dataset=mutag", "task=clustering", "method=graphcl", "--dry-run"]
    assert main(words) == 0
    refused = "1 of those to be done will be recorded as unsupported: "
    told = "task=clustering evaluates embeddings of nodes, and mutag has graphs to embed"
    assert refused + told in capsys.readouterr().out
    assert main(["dataset=mutag", "method=dgi", "--dry-run"]) == 0
    told = "2 of those to be done will be recorded as unsupported: method=dgi embeds nodes, and"
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "words,told",
    [
        (["method=graphcl", "dataset=digits"], "method=graphcl on digits is graphcl_nodes"),
        (["method=gcn", "dataset=mutag"], "method=gcn on mutag is gcn_graphs"),
        (["method=grace", "dataset=digits"], ""),
        (["method='grace'", "dataset=digits"], ""),
        (["-m", "method=graphcl,grace", "dataset=digits", "seeds=2"], "method=graphcl on digits"),
    ],
)
def test_a_method_that_a_name_stands_for_is_told(words, told, capsys: Printed) -> None:
    assert main([*words, "--dry-run"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("method=")]
    assert [line.startswith(told) for line in lines] == [True] * bool(told)


@pytest.mark.parametrize("strategy", ["grape", "homogcl", "grace_plus"])
def test_a_dry_run_tells_strategies_that_want_edges_between_graphs(strategy, capsys) -> None:
    assert main(["dataset=mutag", "method=graphcl", f"negatives={strategy}", "--dry-run"]) == 0
    told = f"negatives={strategy} reads the edges between what is contrasted, and between graphs"
    assert (
        f"2 of those to be done will be recorded as unsupported: {told}" in capsys.readouterr().out
    )


def test_a_dry_run_tells_which_tasks_have_no_validation(here: Path, capsys: Printed) -> None:
    settings = ["method=dmat_i", "method.epochs=1", "method.epoch_by=validation"]
    command = [*SMALL, *settings, "task=[clustering,classification]"]
    assert main([*command, "--dry-run"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "unsupported" in line]
    assert len(told) == 1 and told[0].startswith(
        "1 of those to be done will be recorded as unsupported:"
    )
    assert main(command) == 1
    reasons = {record.status: record.reason for record in Store("runs").scan()}
    assert reasons.keys() == {"ok", "unsupported"} and reasons["unsupported"] in told[0]


def test_a_dry_run_finds_wrong_commands_too(capsys: Printed) -> None:
    assert main(["--dry-run", "methd=kmeans"]) == 2
    assert "Did you mean 'method'?" in capsys.readouterr().err


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
                " setting? Known of launcher=local: launcher.workers"
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
        (["-m", "precision=fast,float32"], "a sweep has one precision"),
        (["-m", "runs_dir=a,b"], "a sweep has one runs_dir"),
        (["-m", "save=[model],[embedding]"], "what is kept is a list: save=[model,embedding]"),
        (["-m", "device=cpu,cuda"], "a sweep has one device; give one of them"),
        (["-m", "time_limit=60,90"], "a sweep has one time_limit"),
        (["-m", "memory_limit=1,2"], "a sweep has one memory_limit"),
        (["-m", "checkpoint_every=60,90"], "a sweep has one checkpoint_every"),
        (["-m", "dataset.direction=undirected,refuse"], "a sweep has one dataset.direction"),
        (["-m", "dataset=custom", "dataset.called=a,b"], "a sweep has one dataset.called"),
        (["-m", "dataset=custom", "dataset.name=a,b"], "a sweep has one dataset.name"),
        (["-m", "dataset.name=cora,acm"], "choose a dataset with dataset=NAME"),
        (["-m", "filter=gnnbp", "filter.storage=a,b"], "a sweep has one filter.storage"),
        (["-m", "filter=gnnbp", "filter.out_of_core=a,b"], "a sweep has one filter.out_of_core"),
        (
            ["-m", "method=dmat_i", "method.course=1,2"],
            "'method.course=1,2' names several values, and a sweep has one method.course",
        ),
        (
            ["-m", "dataset=glob(zzz*)"],
            "'dataset=glob(zzz*)' stands for no value at all, so there is nothing to run",
        ),
        (
            ["memory_limit=-1"],
            "memory_limit=-1 must be a positive number of GiB, 1,000,000,000 at most, or null",
        ),
        (
            ["time_limit=inf"],
            "time_limit=inf must be a positive number of seconds, 1,000,000,000 at most, or null",
        ),
        (["device='cpu:'"], "device=cpu: must be auto, cpu, cuda or cuda:0, cuda:1, …"),
        (
            ["checkpoint_every=often"],
            "checkpoint_every=often must be a positive number of seconds, 1,000,000,000 at most, or"
            " null",
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
    for told in (
        "there is no method 'nope'",
        "'method.epochs' does not exist",
        "method.epochs=-3 is out of range",
        "launcher.workers=-2 is out of range",
        "seeds=0 must be",
    ):
        assert err.count(told) == 1, told
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ["method=kmeans,dgi", "dataset=imdb_binary,mutag", "dataset.features=constant"],
            "dataset.features='constant' must be one of labels, labels_and_degrees."
            " (of method=kmeans dataset=mutag, and of 1 other command)\n",
        ),
        (
            ["method=kmeans", "dataset=imdb_binary,mutag", "dataset.features=constant"],
            "one of labels, labels_and_degrees. (of dataset=mutag)\n",
        ),
        (  # the error names it
            ["method=kmeans", "dataset=cora,amazon_photo", "dataset.edges=as_stored"],
            "'dataset.edges' does not exist: dataset=cora has no settings.\n",
        ),
        (  # all have it
            ["method=grace,gca", "dataset=cora", "method.tau=-1"],
            "method.tau=-1 is out of range: it must be ≥ 0.005, for example 0.4\n",
        ),
    ],
)
def test_an_error_of_some_of_a_sweeps_commands_says_of_which(
    here: Path, capsys: Printed, command: list[str], told: str
) -> None:
    assert main(["-m", *command]) == 2
    assert told in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_failed_runs_of_the_results_are_not_counted(here: Path, capsys: Printed) -> None:
    assert main([*KMEANS, "seeds=2", "runs_dir=results"]) == 0
    first = next(Path("results").glob("*/record.json"))
    first.write_text(first.read_text().replace('"status": "ok"', '"status": "failed"'))
    assert sorted(record.status for record in Store("results").scan()) == ["failed", "ok"]
    capsys.readouterr()
    assert main([*KMEANS, "seeds=2", "--dry-run"]) == 0
    assert "1 of those to be done stand in results" in capsys.readouterr().out


def test_results_hide_no_run_of_the_store(
    here: Path, capsys: Printed, caplog: pytest.LogCaptureFixture
) -> None:
    """The graph that the store's runs were on is the graph, whatever newer results were on."""
    words = ["method=kmeans", "task=clustering", "dataset=custom", "dataset.path=x.npz"]
    save("x.npz", shift=1.0)
    assert main([*words, "runs_dir=results", "seeds=2"]) == 0
    save("x.npz")
    assert main([*words, "seeds=2"]) == 0
    for record in Store("results").scan():
        path = Path("results") / record.id / "record.json"
        later = path.read_text().replace(record.created[:4], "2999")
        path.write_text(later)
    Path("results/log.jsonl").write_text('{"no": "record"}\n')
    capsys.readouterr()
    assert main([*words, "seeds=2", "--dry-run"]) == 0
    out = capsys.readouterr()
    assert "2 runs: 2 are recorded in runs, 0 are to be done" in out.out
    assert "log.jsonl" not in out.err + out.out + caplog.text
    assert main([*words, "seeds=2", "rerun=all", "--dry-run"]) == 0
    assert "stand in results" not in capsys.readouterr().out
