"""What is packed for a lent GPU, and the sweeps that are run there, tried without one."""

from __future__ import annotations

import tarfile
from itertools import chain
from pathlib import Path

import gpu_sweep
import pytest

from gclbench.cli import main
from gclbench.data import mirror as files


@pytest.mark.parametrize("words", [*chain(*gpu_sweep.PLANS.values())])
def test_a_sweep_of_the_plan_is_one_of_the_tables(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[list[str]] = []

    def launch(found: list[list[str]], *rest: object, **settings: object) -> int:
        launched.extend(found)
        return 0

    monkeypatch.setattr("gclbench.cli.run.launch", launch)
    assert main([*gpu_sweep.asked(words), "device=cpu"]) == 0
    assert "left out" not in capsys.readouterr().err, "every column is one of the tables"
    (dataset,) = gpu_sweep.datasets_of([words])
    assert launched and all(f"dataset={dataset}" in command for command in launched)


def test_what_is_packed_is_what_the_sweeps_are_of() -> None:
    assert gpu_sweep.datasets_of(["dataset=b table=x", "dataset=a", "dataset=b"]) == ["b", "a"]
    assert gpu_sweep.datasets_of(gpu_sweep.QUICK) == ["digits"]


def test_packed_files_are_read_as_the_originals(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_sweep, "CARRIED", tmp_path / "carried")
    assert 0 < gpu_sweep.packed_data(["amazon_photo"]) < 3 << 20
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path / "carried"))
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    states = files.verify("amazon_photo")
    assert [state.state for state in states] == ["ok"] * len(states)
    assert all(state.where.is_relative_to(tmp_path / "carried") for state in states)
    # What is packed of a mirror of packed files is the same.
    before = {file: file.read_bytes() for file in (tmp_path / "carried").rglob("*.gz")}
    monkeypatch.setattr(gpu_sweep, "CARRIED", tmp_path / "again")
    gpu_sweep.packed_data(["amazon_photo"])
    assert sorted(file.read_bytes() for file in (tmp_path / "again").rglob("*.gz")) == sorted(
        before.values()
    )


def test_without_time_nothing_is_begun_and_that_is_said(tmp_path: Path) -> None:
    plan = gpu_sweep.PLANS["launches"]
    facts = gpu_sweep.run(plan, "cpu", 0.0, tmp_path / "out")
    assert facts["sweeps"] == [] and facts["not_begun"] == list(plan)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["gpu_sweep.json"]


@pytest.mark.slow
def test_records_come_back_in_one_file(tmp_path: Path) -> None:
    facts = gpu_sweep.run(gpu_sweep.QUICK, "cpu", 5.0, tmp_path / "out", workers=1)
    (sweep,) = facts["sweeps"]
    assert sweep["exit_code"] == 0 and facts["not_begun"] == []
    with tarfile.open(tmp_path / "out" / "records.tar.gz") as archive:
        assert "records/grace/digits.jsonl" in archive.getnames()


@pytest.mark.slow
def test_a_sweep_is_ended_when_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_sweep, "LEAST", 5.0)
    endless = "method=grace method.epochs=1000000 dataset=digits task=clustering seeds=1"
    facts = gpu_sweep.run([endless, endless], "cpu", 12 / 60, tmp_path / "out", workers=1)
    (sweep,) = facts["sweeps"]
    assert sweep["exit_code"] is None and 10 < sweep["seconds"] < 25
    assert facts["not_begun"] == [endless]


@pytest.mark.slow
def test_runs_may_stay_for_the_next_call(tmp_path: Path) -> None:
    written = []
    for output in ("first", "second"):
        facts = gpu_sweep.run(
            gpu_sweep.QUICK, "cpu", 5.0, tmp_path / output, 1, kept=tmp_path / "runs"
        )
        assert [sweep["exit_code"] for sweep in facts["sweeps"]] == [0]
        (record,) = (tmp_path / "runs").glob("*/record.json")
        written.append(record.stat().st_mtime_ns)
        assert (tmp_path / output / "records.tar.gz").is_file()
        assert not (tmp_path / output / "runs").exists()
    assert written[0] == written[1], "what is recorded is not run again"
