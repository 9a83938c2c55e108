"""The run command, end to end on small real data: records, skipping, repeating, exit codes,
interrupts."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from torch import Tensor
from torch_geometric.data import Data

from gclbench.cli import main
from gclbench.component.settings import OneOf
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.records import Store
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6")
QUICK = ("dataset=digits", "method.epochs=2", "task=clustering", "task.clustering.n_init=1")


@dataclass(frozen=True)
class Ending:
    """A method that ends as it is told; `interrupt` from its second fit on."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    fits: ClassVar[Any] = itertools.count()

    how: Annotated[
        str, OneOf("ok", "diverge", "memory", "raise", "slow", "unsupported", "interrupt", "tensor")
    ] = "ok"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        match self.how:
            case "diverge":
                watch(1, 2, math.inf)
            case "memory":
                raise MemoryError
            case "raise":
                raise RuntimeError("it broke")
            case "slow":
                watch(1, 2, 0.0)
            case "unsupported":
                raise Unsupported("not for this graph")
            case "tensor":
                return graph.x
            case "interrupt":
                if next(type(self).fits):
                    raise KeyboardInterrupt
        return Embedding(graph.x)


@pytest.fixture(autouse=True)
def ending(register_method: Callable[[str, type], None], monkeypatch: pytest.MonkeyPatch) -> None:
    register_method("ending", Ending)
    monkeypatch.setattr(Ending, "fits", itertools.count())


def records(folder: str = "runs") -> list[Any]:
    return list(Store(folder).scan())


# --- the whole way
# -------------------------------------------------------------------------------------------


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
            if "points one way for all nodes" in line
        ]

    for _ in range(2):
        (line,) = told("negatives=mmix", "method.epochs=100")
        assert line.startswith("grace · sbm · clustering · seed 0: after training")
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
    assert f"progcl · custom · seed 0: {said}\n" in capsys.readouterr().out


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
    assert main([*SMALL, "method=kmeans", "-m", "task=clustering", "seeds=1,2"]) == 0
    assert len(records()) == 2


def test_a_users_own_graph(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = np.array([[node, (node + step) % 30] for node in range(30) for step in (1, 2, 5)]).T
    np.savez("my graph.npz", x=np.random.default_rng(0).normal(size=(30, 4)), edge_index=edges)
    assert main(["dataset=custom", "dataset.path='my graph.npz'", "method=kmeans"]) == 1
    assert {record.name("task"): record.status for record in records()} == {
        "classification": "unsupported", "clustering": "unsupported", "link_prediction": "ok",
    }  # fmt: skip
    assert (
        "unsupported ×1: kmeans · custom · classification · seed 0: classification needs labels"
        in capsys.readouterr().out
    )


# --- endings
# -------------------------------------------------------------------------------------------------


def test_a_sweep_goes_on_whatever_happens_and_the_exit_code_tells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    how = "diverge,memory,raise,slow,unsupported,ok"
    assert (
        main(
            [
                "-m",
                *SMALL,
                "method=ending",
                f"method.how={how}",
                "task=clustering",
                "time_limit=1e-6",
            ]
        )
        == 1
    )
    statuses = {record.spec["method"]["how"]: record.status for record in records()}
    assert statuses == {
        "diverge": "diverged", "memory": "oom", "raise": "failed", "slow": "timeout", "unsupported": "unsupported", "ok": "ok",
    }  # fmt: skip
    out = capsys.readouterr().out
    assert "failed ×1: ending" in out and "RuntimeError: it broke" in out and "Traceback" not in out


def test_a_method_that_returns_something_else_is_told_what_to_return(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*SMALL, "method=ending", "method.how=tensor", "task=clustering"]) == 1
    (record,) = records()
    told = (
        "TypeError: Ending.fit must return Embedding(z), and returned Tensor (the traceback:"
        " gclbench show " + record.id
    )
    assert told in capsys.readouterr().out


def test_a_failed_run_is_repeated_others_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["-m", *SMALL, "method=ending", "method.how=raise,memory", "task=clustering"]
    assert main(command) == 1
    created = {
        record.status: Path("runs", record.id, "record.json").stat().st_mtime_ns
        for record in records()
    }
    assert main(command) == 1
    after = {
        record.status: Path("runs", record.id, "record.json").stat().st_mtime_ns
        for record in records()
    }
    assert after["oom"] == created["oom"] and after["failed"] > created["failed"]


def test_an_interrupt_exits_130_and_keeps_earlier_records(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*SMALL, "method=ending", "method.how=interrupt", "task=clustering", "seeds=3"]
    assert main(command) == 130
    assert sorted((record.seed, record.status) for record in records()) == [
        (0, "ok"),
        (1, "interrupted"),
    ]
    err = capsys.readouterr().err
    assert (
        "interrupted; what was recorded stays, the same command goes on from there" in err
        and "Traceback" not in err
    )


def test_a_dataset_that_cannot_be_had_is_named_and_the_sweep_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["-m", "dataset=cora,sbm", "method=kmeans", "task=clustering"]) == 1
    err = capsys.readouterr().err
    assert (
        "gclbench: dataset 'cora'" in err
        and "GCLBENCH_OFFLINE is set" in err
        and "Traceback" not in err
    )
    assert [record.name("dataset") for record in records()] == ["sbm"]


def test_a_missing_file_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset=custom", "dataset.path=nowhere.npz"]) == 1
    assert (
        capsys.readouterr().err
        == "gclbench: there is no file nowhere.npz; give one with dataset.path=FILE.npz\n"
    )


@pytest.mark.parametrize(
    "place,cause",
    [
        ("taken", "a file stands where a folder is needed"),
        ("taken/deeper", "a part of the path is a file, not a folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_training(
    here: Path,
    place: str,
    cause: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (here / "taken").write_text("a file")
    monkeypatch.setattr(Ending, "fit", lambda *arguments: pytest.fail("trained"))
    assert main([*SMALL, "method=ending", f"runs_dir={place}"]) == 1
    err = capsys.readouterr().err
    assert (
        err
        == f"gclbench: cannot write {place}: {cause}; choose another folder (runs_dir=FOLDER sets"
        " where records go)\n"
    )


def test_a_store_that_breaks_during_the_sweep_keeps_what_it_has(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Ending.fit

    def fit(self: Ending, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        if rng.seed == 1:
            shutil.move("runs", "kept")
            Path("runs").write_text("a file")
        return plain(self, graph, labels, rng, watch)

    monkeypatch.setattr(Ending, "fit", fit)
    assert main([*SMALL, "method=ending", "task=clustering", "seeds=3"]) == 1
    assert "cannot write runs/" in capsys.readouterr().err
    assert [record.seed for record in records("kept")] == [0]


def test_wrong_commands_exit_2_and_write_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["methd=dmt"],
        ["method=nope"],
        ["-m", "method.tau=0,1"],
        ["seeds=0"],
        ["method=dmt", "nonsense"],
        ["=3"],
    ):
        assert main(command) == 2, command
        err = capsys.readouterr().err
        assert err.startswith("gclbench: ") and "Traceback" not in err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "words,told",
    [
        (
            ["method=dmt", "--frobnicate"],
            (
                "there is no option '--frobnicate'; settings are KEY=VALUE, as in dataset=cora"
                " method.lr=1e-3"
            ),
        ),
        (
            ["--dataset", "cora"],
            "there is no option '--dataset'; settings are KEY=VALUE: dataset=cora",
        ),
        (
            ["--runs-dir=there"],
            "there is no option '--runs-dir=there'; settings are KEY=VALUE: runs_dir=there",
        ),
        (["--seed", "3"], "there is no option '--seed'; settings are KEY=VALUE: seeds=[3]"),
        (["--dryrun"], "there is no option '--dryrun'; did you mean --dry-run?"),
        (
            ["sweep", "table=dmat/1", "--dataset", "cora"],
            "there is no option '--dataset'; settings are KEY=VALUE: dataset=cora",
        ),
        (
            ["sweep", "-m", "table=dmat/1"],
            "-m is for runs; here every key takes several values, as in method=A,B",
        ),
        (
            ["table", "dmat/1", "dataset=cora,acm"],
            "'dataset=cora,acm' is an option here: --dataset cora acm",
        ),
        (["table", "dmat", "1"], "'1' is one word too many; an ID is one word, such as dmat/1"),
        (
            ["table", "dmat/1", "--dataste", "cora"],
            "there is no option '--dataste'; did you mean --dataset?",
        ),
        (
            ["table", "--runs", "there", "dmat/1"],
            "the ID comes first: gclbench table dmat/1 --runs there",
        ),
        (
            ["figure", "--dataset", "cora"],
            "the ID comes first: gclbench figure dmat/2 --dataset cora",
        ),
        (
            ["export", "method=grace"],
            "'method=grace': KEY=VALUE is for runs, `gclbench method=grace`",
        ),
    ],
)
def test_a_word_of_the_wrong_kind_is_answered_with_the_right_one(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    verb = f" {words[0]}" if words[0] in ("sweep", "table", "figure", "export") else ""
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err
        == f"gclbench{verb}: {told} (`gclbench{verb} --help` shows what there is)\n"
    )


# --- real processes
# ------------------------------------------------------------------------------------------


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
