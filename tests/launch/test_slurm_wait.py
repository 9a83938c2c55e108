"""Waiting for a sweep's Slurm jobs: what is repeated, what is given up, what a user reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gclbench.launch import attempt, slurm, slurm_queue
from gclbench.launch.launcher import LaunchError
from gclbench.launch.slurm import Slurm
from gclbench.launch.slurm_queue import JobState
from gclbench.launch.sweep import Job, Sweep
from gclbench.run.ending import Ending
from gclbench.run.unit import Unit


class Cluster:
    """A Slurm of a test: each job's states in the order in which the queue is looked at, and which
    units have records."""

    def __init__(self) -> None:
        self.histories: dict[str, list[str]] = {}
        self.recorded: set[int] = set()
        self.records_on_end: dict[str, set[int]] = {}
        self.handed_over: list[list[int]] = []
        self.given_up: list[tuple[int, str, str]] = []
        self.notes: list[str] = []
        self.silent = 0
        self.folder = Path()
        self.on_end: Callable[[], object] = lambda: None

    def states(self, ids: Any) -> dict[str, JobState]:
        if self.silent:
            self.silent -= 1
            raise LaunchError("squeue does not answer")
        found = {}
        for job in ids:
            history = self.histories[job]
            word = history.pop(0) if len(history) > 1 else history[0]
            if word not in ("RUNNING", "PENDING"):
                self.recorded |= self.records_on_end.get(job, set())
                self.on_end()
            found[job] = JobState(word, "Resources" if word == "PENDING" else "")
        return found

    def submit(self, launcher: Slurm, sweep: Sweep, places: list[int]) -> list[Job]:
        self.handed_over.append(places)
        packs = slurm.packed(places, launcher.units_per_job, 1000)
        master = len(self.handed_over)
        return [
            Job(f"{master}_{index}", tuple(pack), f"/logs/{master}_{index}")
            for index, pack in enumerate(packs)
        ]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    monkeypatch.setattr(slurm, "_FIRST_LOOK", 0.0)
    monkeypatch.setattr(slurm_queue, "states", cluster.states)
    monkeypatch.setattr(
        Slurm, "_submit", lambda self, sweep, places: cluster.submit(self, sweep, places)
    )
    monkeypatch.setattr(
        attempt, "missing", lambda unit, store: () if unit.seed in cluster.recorded else (0,)
    )

    def give_up(unit: Unit, runs_dir: str, ending: Ending) -> dict[str, str]:
        cluster.recorded.add(unit.seed)
        cluster.given_up.append((unit.seed, ending.status, ending.reason))
        return {}

    monkeypatch.setattr(attempt, "give_up", give_up)
    return cluster


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path) -> Callable[..., Sweep]:
    def go(units: int, **settings: Any) -> Sweep:
        made = tuple(
            Unit("dmat", "cora", (), seed, ("clustering",), (f"{seed:016x}",), "0" * 64, ("",))
            for seed in range(units)
        )
        sweep = Sweep(str(tmp_path), made, "slurm", {})
        cluster.folder = tmp_path
        Slurm(**settings).run(sweep, None, cluster.notes.append)  # type: ignore[arg-type]
        return sweep

    return go


def test_a_sweep_without_trouble(cluster: Cluster, run: Callable[..., Sweep]) -> None:
    cluster.histories = {
        "1_0": ["PENDING", "RUNNING", "COMPLETED"],
        "1_1": ["PENDING", "PENDING", "RUNNING", ""],
    }
    cluster.records_on_end = {"1_0": {0, 1}, "1_1": {2}}
    sweep = run(3, units_per_job=2)
    assert cluster.handed_over == [[0, 1, 2]] and cluster.given_up == []
    assert cluster.notes == [
        f"sweep {sweep.id}: 3 units in 2 Slurm jobs; logs in /logs",
        "Slurm: 0 jobs running, 2 queued (Resources)",
        "Slurm: 1 jobs running, 1 queued (Resources)",
        "Slurm: 1 jobs running, 0 queued",
        "Slurm: 0 jobs running, 0 queued",
    ]
    # Another process finds the jobs by the sweep's file.
    assert [job.id for job in Sweep.read(sweep.folder).jobs] == ["1_0", "1_1"]


def test_what_a_dead_job_left_is_done_once_more_and_then_recorded(
    cluster: Cluster, run: Callable[..., Sweep]
) -> None:
    cluster.histories = {
        "1_0": ["RUNNING", "FAILED"],
        "2_0": ["OUT_OF_MEMORY"],
        "3_0": ["COMPLETED"],
    }
    cluster.records_on_end = {"1_0": {0}, "3_0": {2}}
    sweep = run(3, units_per_job=3)
    assert cluster.handed_over == [[0, 1, 2], [1, 2], [2]]
    assert cluster.given_up == [
        (
            1,
            "failed",
            "its Slurm job 2_0 ended twice during this run, last as OUT_OF_MEMORY; log: /logs/2_0",
        )
    ]
    assert any(
        "job 1_0 ended (FAILED) during dmat · cora · seed 1 · clustering; once more" in note
        for note in cluster.notes
    )
    assert [job.id for job in Sweep.read(sweep.folder).jobs] == ["1_0", "2_0", "3_0"]


@pytest.mark.parametrize("word", ["OUT_OF_MEMORY", "TIMEOUT", "DEADLINE", "NODE_FAIL", ""])
def test_what_is_given_up_is_repeated_by_the_next_command(
    word: str, cluster: Cluster, run: Callable[..., Sweep]
) -> None:
    # A job's memory and time are its launcher's: they say nothing about the run.
    cluster.histories = {"1_0": [word], "2_0": [word]}
    run(1)
    assert [entry[:2] for entry in cluster.given_up] == [(0, "failed")]


def test_a_cancelled_job_is_not_started_again(cluster: Cluster, run: Callable[..., Sweep]) -> None:
    cluster.histories = {"1_0": ["CANCELLED"]}
    run(1)
    assert cluster.handed_over == [[0]] and cluster.given_up == []
    assert (
        "job 1_0 was cancelled before 1 of its units were done; the same command goes on with them"
        in cluster.notes
    )


def test_a_sweep_that_was_cancelled_elsewhere_is_not_handed_over_again(
    cluster: Cluster, run: Callable[..., Sweep]
) -> None:
    """However its jobs ended: some end by themselves at that moment."""

    def cancelled_meanwhile() -> set[int]:
        (path,) = cluster.folder.glob("sweeps/*/sweep.json")
        sweep = Sweep.read(path.parent)
        sweep.cancelled = True
        sweep.save()
        return set()

    cluster.histories = {"1_0": ["RUNNING", "FAILED"], "1_1": ["COMPLETED"]}
    cluster.on_end = cancelled_meanwhile
    sweep = run(2)
    assert (
        cluster.handed_over == [[0, 1]]
        and cluster.given_up == []
        and Sweep.read(sweep.folder).cancelled
    )
    assert (
        "job 1_0 was cancelled before 1 of its units were done; the same command goes on with them"
        in cluster.notes
    )


def test_a_cancel_while_jobs_are_handed_over_again_ends_these(
    cluster: Cluster, run: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`gclbench cancel` has read the sweep before the new job stood in it."""
    plain, ended = Slurm._submit, []

    def cancelled_meanwhile(self: Slurm, sweep: Sweep, places: list[int]) -> list[Job]:
        found = plain(self, sweep, places)
        if cluster.handed_over[1:]:
            Sweep.read(sweep.folder).cancel()
        return found

    monkeypatch.setattr(Slurm, "_submit", cancelled_meanwhile)
    monkeypatch.setattr(slurm_queue, "cancel", ended.extend)
    cluster.histories = {"1_0": ["FAILED"], "2_0": ["CANCELLED"]}
    sweep = run(1)
    assert cluster.handed_over == [[0], [0]] and ended == ["2_0"]
    assert Sweep.read(sweep.folder).cancelled


def test_a_controller_that_is_away_for_a_while_ends_nothing(
    cluster: Cluster, run: Callable[..., Sweep]
) -> None:
    cluster.histories = {"1_0": ["RUNNING", "COMPLETED"]}
    cluster.records_on_end = {"1_0": {0}}
    cluster.silent = 3
    run(1)
    assert cluster.handed_over == [[0]]
    assert cluster.notes.count("squeue does not answer; waiting for it") == 1


def test_held_jobs_are_named_with_what_lets_them_go(cluster: Cluster) -> None:
    text = slurm._summary(
        [Job("1_0", (0,))], {"1_0": JobState("PENDING", "launch failed requeued held")}
    )
    assert (
        text
        == "Slurm: 0 jobs running, 1 queued (launch failed requeued held); held: `scontrol release"
        " 1_0` lets them go on"
    )


def test_ctrl_c_leaves_the_jobs_and_says_so(
    cluster: Cluster, run: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(ids: Any) -> dict[str, JobState]:
        raise KeyboardInterrupt

    monkeypatch.setattr(slurm_queue, "states", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(1)
    assert (
        "the jobs go on in Slurm: `gclbench status " in cluster.notes[-1]
        and "`gclbench cancel " in cluster.notes[-1]
    )
