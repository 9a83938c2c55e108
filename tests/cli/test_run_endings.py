"""Exit codes and messages of the run command, whatever happens to its runs."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ending_method import SMALL, Ending, records
from small_sweeps import KMEANS
from torch import Tensor
from torch_geometric.data import Data

from gclbench.cli import main
from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.launch.attempt import missing
from gclbench.launch.execution import ended_worse_of, execute, prepare
from gclbench.records import Record, Store
from gclbench.tasks.clustering import Clustering
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@pytest.fixture(autouse=True)
def ending(register_method: Callable[[str, type], None], monkeypatch: pytest.MonkeyPatch) -> None:
    register_method("ending", Ending)
    monkeypatch.setattr(Ending, "fits", itertools.count())


def test_a_sweep_goes_on_whatever_happens_and_the_exit_code_tells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Libraries that a first evaluation loads would take some of the second that a run is allowed.
    assert main([*SMALL, "method=ending", "method.how=ok", "task=clustering", "seeds=[7]"]) == 0
    capsys.readouterr()
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
    statuses = {
        record.spec["method"]["how"]: record.status for record in records() if record.seed == 0
    }
    assert statuses == {
        "diverge": "diverged",
        "memory": "oom",
        "raise": "failed",
        "slow": "timeout",
        "unsupported": "unsupported",
        "ok": "ok",
    }
    out = capsys.readouterr().out
    assert "failed ×1: ending" in out and "RuntimeError: it broke" in out and "Traceback" not in out


def test_a_method_that_returns_something_else_is_told_what_to_return(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*SMALL, "method=ending", "method.how=tensor", "task=clustering"]) == 1
    (record,) = records()
    told = (
        "TypeError: Ending.fit must return Embedding(z), and returned Tensor (the traceback:"
        f" gclbench show {record.id})"
    )
    assert told in capsys.readouterr().out
    assert main([*SMALL, "method=ending", "method.how=raise", "task=clustering", "runs_dir=b"]) == 1
    hint = capsys.readouterr().out.partition("(the traceback: gclbench ")[2].partition(")")[0]
    assert hint.endswith(" --runs b") and main(hint.split()) == 0
    assert "RuntimeError: it broke" in capsys.readouterr().out


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


def test_a_repetition_that_ends_worse_is_told_and_the_exit_code_tells(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ok record stays; once the repetition ends well nothing is said any more."""
    command = [*SMALL, *KMEANS]
    assert main(command) == 0
    (before,) = records()
    plain = Clustering.evaluate

    def broken(*arguments: object) -> None:
        raise RuntimeError("it broke")

    monkeypatch.setattr(Clustering, "evaluate", broken)
    for _ in range(2):
        capsys.readouterr()
        assert main([*command, "rerun=all"]) == 1
        told = capsys.readouterr().err
        assert f"run {before.id} was repeated and ended as failed: RuntimeError: it broke" in told
        assert records() == [before]
    monkeypatch.setattr(Clustering, "evaluate", plain)
    assert main(command) == 0, "its record is ok, and nothing is repeated"
    assert main([*command, "rerun=all"]) == 0
    assert "was repeated" not in capsys.readouterr().err
    assert not Store("runs").path(before.id).with_name("attempt.json").exists()


def test_a_repetition_that_is_interrupted_is_still_to_be_done() -> None:
    """As by another worker, or another job, of the same sweep."""
    command = [*SMALL, *KMEANS, "rerun=all"]
    assert main(command) == 0
    experiment = experiment_of(command)
    plan, store = prepare([experiment])
    (unit,) = plan.units
    (before,) = records()
    for status, left in (("interrupted", (0,)), ("failed", ())):
        store.write(replace(before, status=status, metrics={}, reason="why"))
        assert records() == [before] and missing(unit, store) == left
    assert ended_worse_of(plan, store) == {before.id: ("failed", "why")}
    told: list[str] = []
    assert execute(experiment, note=told.append)[0].ok
    assert not any("was repeated" in text for text in told)


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


def test_a_second_sigterm_leaves_the_interrupted_records_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `kill` twice, or a cluster that does not wait long."""
    write = Store.write

    def impatient(self: Store, record: Record) -> Path:
        os.kill(os.getpid(), signal.SIGTERM)
        return write(self, record)

    monkeypatch.setattr(Store, "write", impatient)
    command = [*SMALL, "method=ending", "method.how=terminate", "task=[clustering,tsne]"]
    assert main(command) == 130
    assert [record.status for record in records()] == ["interrupted", "interrupted"]


def test_a_graph_that_does_not_fit_is_named_and_the_sweep_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["-m", "dataset=rmat,sbm", "rmat.scale=30", "method=kmeans", "task=clustering"]
    assert main(command) == 1
    assert "graph 'rmat': 34,359,738,368 entries of edges need 1,536" in capsys.readouterr().err
    assert [(record.name("dataset"), record.status) for record in records()] == [("sbm", "ok")]


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


def test_a_dry_run_says_which_recorded_runs_are_made_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*KMEANS, "seeds=2"]) == 0
    first = next(Path("runs").glob("*/record.json"))
    first.write_text(first.read_text().replace('"status": "ok"', '"status": "interrupted"'))
    for words, told in (
        ([], ["1 is to be done in 1 unit"]),
        (["rerun=all"], ["2 are to be done in 2 units", "1 is recorded, and rerun=all makes it"]),
    ):
        capsys.readouterr()
        assert main([*KMEANS, "seeds=2", *words, "--dry-run"]) == 0
        out = capsys.readouterr().out
        assert f"2 runs: 2 are recorded in runs, {told[0]}\n" in out
        assert "1 is recorded as interrupted and is run again\n" in out
        assert [line for line in out.splitlines() if "rerun=" in line] == [
            f"{line} again" for line in told[1:]
        ]
