"""Sweeps that are handed over: seen, ended, cancelled, found again."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from small_sweeps import KMEANS, SMALL, records, saved_sweep, wait_for

from gclbench.cli import main
from gclbench.launch.attempt import give_up, perform
from gclbench.launch.launcher import LaunchError
from gclbench.launch.local import Local
from gclbench.launch.sweep import Job, Sweep, UnknownSweep, find
from gclbench.records import Store
from gclbench.run.ending import Ending

Printed = pytest.CaptureFixture[str]


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
    assert f"sweep {name}: asked 1 of its jobs to end" in capsys.readouterr().out
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
    assert "interrupted: the run was interrupted; its command repeats it" in out
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


def test_what_has_ended_is_not_cancelled(capsys: Printed) -> None:
    sweep = saved_sweep("seeds=2")
    perform(sweep.units[0], "runs")
    assert main(["cancel", sweep.id]) == 0
    assert "nothing of it was queued or running" in capsys.readouterr().out
    assert find("runs", sweep.id).cancelled, "a unit is left"
    find("runs", sweep.id).cancel(False)
    perform(sweep.units[1], "runs")
    capsys.readouterr()
    assert main(["cancel", sweep.id]) == 0
    told = f"sweep {sweep.id}: all its runs have ended already\n"
    assert capsys.readouterr().out == told and not find("runs", sweep.id).cancelled


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
    second.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(UnknownSweep, match="there is no sweep '' in runs"):
        find("runs", "")
    (first.folder / "sweep.json").write_text('{"units": [{}]}')
    with pytest.raises(
        UnknownSweep, match="sweep.json is not readable as a sweep .not a unit of work"
    ):
        find("runs", "aaaaaa")


def test_a_sweep_comes_back_as_it_was_saved() -> None:
    sweep = saved_sweep("seeds=3", "launcher.workers=2", recorded=5)
    assert Sweep.read(sweep.folder) == sweep
    assert sweep.options == {"workers": 2} and len(sweep.units) == 3


def test_another_process_of_the_same_number_is_not_the_sweeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gclbench.launch import background

    job = Job("x", (), host=os.uname().nodename, pid=os.getpid(), begun="1")
    monkeypatch.setattr(
        os, "kill", lambda pid, number: pytest.fail("killed") if number == signal.SIGTERM else None
    )
    assert background.state(job) == "ended" and background.end(job) is False
