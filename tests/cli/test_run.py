"""The run command, end to end on small real data: records, skipping, repeating."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ending_method import SMALL, records

from gclbench.cli import main
from gclbench.machine import precision
from gclbench.records import Store

QUICK = ("dataset=digits", "method.epochs=2", "task=clustering", "task.clustering.n_init=1")


def test_a_run_is_recorded_printed_and_not_repeated(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(QUICK)) == 0
    first = capsys.readouterr()
    (record,) = records()
    assert (
        record.ok
        and record.name("method") == "dmat_i"
        and record.name("dataset") == "digits"
        and record.seed == 0
    )
    assert record.spec["method"]["epochs"] == 2 and record.fit["iterations"] == 2
    assert 0.3 < record.metrics["acc"] <= 1
    assert f"{100 * record.metrics['acc']:.2f} (1)" in first.out
    assert "dmat_i · digits · seed 0 · clustering: " in first.err
    path = here / "runs" / record.id / "record.json"
    before = path.stat().st_mtime_ns
    assert main(list(QUICK)) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    shown = (
        f"`gclbench show ID` prints a run's record: {record.id} (dmat_i · digits · clustering ·"
        " seed 0)"
    )
    assert second.err == f"1 of 1 runs are recorded in runs; rerun=all repeats them\n{shown}\n"
    assert path.stat().st_mtime_ns == before
    assert main([*QUICK, "rerun=all"]) == 0
    assert path.stat().st_mtime_ns != before
    (again,) = records()
    assert again.metrics == record.metrics and again.fit == record.fit
    assert capsys.readouterr().out == first.out


def test_a_training_that_spreads_nothing_is_told_when_it_ends_and_whenever_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def told(*settings: str) -> list[str]:
        assert (
            main(["method=grace", "dataset=sbm", "dataset.nodes=80", "task=clustering", *settings])
            == 0
        )
        return [
            line
            for line in capsys.readouterr().out.splitlines()
            if "all nodes point one way" in line
        ]

    for _ in range(2):
        (line,) = told("negatives=mmix", "method.epochs=100")
        assert line.startswith("grace [negatives.name=mmix] · sbm · clustering · seed 0: after")
    assert told("negatives=uniform", "method.epochs=100") == []


def test_what_a_strategy_finds_is_recorded_and_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = np.array([[node, (node + 1) % 30] for node in range(30)]).T
    np.savez("alike.npz", x=np.ones((30, 4)), edge_index=edges, y=np.arange(30) % 2)
    assert (
        main(
            [
                "method=progcl",
                "dataset=custom",
                "dataset.path=alike.npz",
                "method.edge_drop=[0.0,0.0]",
                "method.epochs=4",
                "task=clustering",
            ]
        )
        == 0
    )
    (record,) = records()
    said = "ProGCL found no two components in the similarities: its negatives stayed uniform"
    assert record.fit["progcl_degenerate"] == 1 and record.fit["remarks"] == [said]
    assert f"progcl · alike · seed 0: {said}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "method", ["grace", "bgrl", "cca_ssg", "dgi", "mvgrl", "dmat_i", "nml_gcl"]
)
def test_a_loss_that_is_not_finite_names_its_term(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([f"method={method}", *SMALL, "method.lr=1e30", "method.epochs=9", "task=clustering"])
        == 1
    )
    (record,) = records()
    assert record.status == "diverged" and " (its term" in record.reason, record.reason


def test_more_seeds_run_only_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    command = [*SMALL, "method=kmeans", "task=clustering"]
    assert main([*command, "seeds=[1]"]) == 0
    capsys.readouterr()
    assert main([*command, "seeds=3"]) == 0
    assert "1 of 3 runs are recorded in runs" in capsys.readouterr().err
    assert [record.seed for record in sorted(records(), key=lambda record: record.seed)] == [
        0,
        1,
        2,
    ]


def test_runs_dir_holds_the_records_and_nothing_else_appears(here: Path) -> None:
    assert main([*SMALL, "method=kmeans", "runs_dir=store/of/mine"]) == 0
    assert len(records("store/of/mine")) == 3
    assert [path.name for path in here.iterdir()] == ["store"]
    assert all(path.name == "record.json" for path in here.rglob("*") if path.is_file())


def test_a_sweep_runs_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-m", *SMALL, "method=kmeans,dmat_i", "filter=none,gnnbp", "method.epochs=1"]) == 2
    assert "'method.epochs' does not exist" in capsys.readouterr().err and not Path("runs").exists()
    assert (
        main(
            ["-m", *SMALL, "method=kmeans", "filter=none,gnnbp", "task=clustering,link_prediction"]
        )
        == 0
    )
    found = {(record.name("filter"), record.name("task")) for record in records()}
    assert found == set(itertools.product(("none", "gnnbp"), ("clustering", "link_prediction")))


def test_the_sweep_flag_may_stand_anywhere() -> None:
    assert main([*SMALL, "method=kmeans", "-m", "task=clustering", "filter=none,gnnbp"]) == 0
    assert len(records()) == 2


def test_a_users_own_graph(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = np.array([[node, (node + step) % 30] for node in range(30) for step in (1, 2, 5)]).T
    np.savez("my graph.npz", x=np.random.default_rng(0).normal(size=(30, 4)), edge_index=edges)
    assert main(["dataset=custom", "dataset.path='my graph.npz'", "method=kmeans"]) == 1
    assert {record.name("task"): record.status for record in records()} == {
        "classification": "unsupported",
        "clustering": "unsupported",
        "link_prediction": "ok",
    }
    assert (
        "unsupported ×1: kmeans · my_graph · classification · seed 0: classification needs labels"
        in capsys.readouterr().out
    )


@pytest.mark.slow
def test_the_command_as_users_run_it(here: Path, shell) -> None:
    result = shell("-W", "error::UserWarning:gclbench", "-m", "gclbench", *QUICK)
    assert result.returncode == 0, result.stderr
    assert "clustering  acc" in result.stdout and "Warning" not in result.stderr
    (path,) = here.glob("runs/*/record.json")
    assert json.loads(path.read_text(encoding="utf-8"))["status"] == "ok"


@pytest.mark.slow
def test_ctrl_c_in_a_real_process(here: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "gclbench",
        "dataset=digits",
        "task=clustering",
        "method.epochs=100000",
        "seeds=2",
    ]
    # A shell's background jobs start with SIGINT ignored, and so would the tests of a CI that runs
    # as one.
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not Path("runs").is_dir():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; what was recorded stays" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["criterion=validation"],
            "criterion=validation has no value: this task has no validation",
        ),
        (["criterion=loss", "method=kmeans"], "criterion=loss has no value: the training has no"),
        (["criterion=loss"], ""),
    ],
)
def test_a_criterion_without_a_value_is_told(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    epochs = [] if "method=kmeans" in words else ["method.epochs=1"]
    settings = ["task=clustering", "task.clustering.n_init=1"]
    assert main([*SMALL, *settings, *epochs, *words]) == 0
    (record,) = records()
    name = words[0].partition("=")[2]
    assert (record.fit["criteria"][name] is None) == bool(why)
    assert bool(why) == ("has no value" in " ".join(capsys.readouterr().out.split()))
    assert any(text.startswith(why) for text in record.fit.get("remarks") or [""])


def test_packed_records_are_told_where_runs_are_to_be_done(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, "seeds=1"]) == 0
    assert main(["export", "--runs", "runs", "--to", "packed"]) == 0
    told = "packed holds packed records, as `gclbench export --to` writes them: tables read them"
    capsys.readouterr()
    assert main([*QUICK, "seeds=1", "runs_dir=packed", "--dry-run"]) == 0
    assert told in capsys.readouterr().out
    assert main([*QUICK, "seeds=1", "runs_dir=packed"]) == 0
    assert told in capsys.readouterr().err
    assert main([*QUICK, "seeds=1", "runs_dir=packed"]) == 0
    assert told not in capsys.readouterr().err, "nothing is left to be done"


def test_precision_that_cannot_be_had_is_told(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["method=grace", "method.epochs=1", "dataset=sbm", "dataset.nodes=40"]
    words += ["task=clustering", "launcher.workers=1"]
    monkeypatch.setattr(precision, "ways", lambda device: ())
    told = "precision=fast is float32 for grace, since cpu has no fast products here"
    for last in ("--dry-run", "launcher.workers=1"):
        assert main([*words, "precision=fast", last]) == 0
        printed = capsys.readouterr()
        assert told in printed.out + printed.err
    assert main([*words, "precision=float32"]) == 0
    assert "precision=" not in capsys.readouterr().err
    monkeypatch.setattr(precision, "ways", lambda device: (precision.IN_CONTRASTS,))
    others = "of the recorded runs 1 was made with precision=float32; rerun=all replaces them"
    assert main([*words, "precision=fast"]) == 0
    assert others in capsys.readouterr().err
    # Of one that is float32 at any precision nothing is said, and of the other it is.
    for _ in range(2):  # the second time both are recorded
        assert main(["-m", *words, "precision=fast", "method.tau=0.05,0.4"]) == 0
        told = capsys.readouterr().err
        assert "precision=fast is float32 for grace, since τ is below 0.1" in told
        assert others in told
    assert main([*words, "precision=auto"]) == 0
    assert "precision=" not in capsys.readouterr().err


def test_what_was_recorded_as_it_is_asked_for_is_not_told(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["method=grace", "method.epochs=1", "dataset=sbm", "dataset.nodes=40"]
    words += ["task=clustering", "launcher.workers=1"]
    assert main(words) == 0
    (record,) = Store("runs").scan()
    fast = replace(record, environment={**record.environment, "precision": "fast"})
    Store("runs").write(fast)
    capsys.readouterr()
    monkeypatch.setattr(precision, "ways", lambda device: ())
    assert main([*words, "precision=fast"]) == 0
    assert "of the recorded runs" not in capsys.readouterr().err
    assert main([*words, "precision=float32"]) == 0
    told = "of the recorded runs 1 was made with precision=fast; rerun=all replaces them"
    assert told in capsys.readouterr().err
