"""How far a sweep is, as `gclbench status` tells it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from example_records import record

from gclbench.launch import background
from gclbench.launch.launcher import LaunchError
from gclbench.launch.ray import Ray
from gclbench.launch.state import SweepState, state_of
from gclbench.launch.sweep import Job, Sweep, UnknownSweep
from gclbench.records import Store
from gclbench.run.estimate import Durations
from gclbench.run.unit import Unit

UNITS = tuple(
    Unit("dmat", "cora", (), seed, ("clustering",), (f"{seed:016x}",), "0" * 64, ("",))
    for seed in range(3)
)


def test_units_of_a_sweep_that_ray_works_on_before_ones_eyes_are_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `submit`: the process that was started is the sweep's job."""
    task = SimpleNamespace(remote=lambda *arguments: object())
    monkeypatch.setitem(
        sys.modules, "ray", SimpleNamespace(remote=lambda **options: lambda function: task)
    )
    monkeypatch.setattr(Ray, "_connected", lambda self, ray, note: contextlib.nullcontext())
    seen: list[SweepState] = []

    def collect(self: Ray, ray: Any, sweep: Sweep, places: dict[Any, int], note: Any) -> None:
        assert len(places) == 3
        seen.append(state_of(Sweep.read(sweep.folder)))

    monkeypatch.setattr(Ray, "_collect", collect)
    sweep = Sweep(str(tmp_path), UNITS, "ray", {})
    sweep.save()
    Ray().run(sweep, None, lambda text: None)  # type: ignore[arg-type]
    assert [(state.queued, state.lost, state.over) for state in seen] == [(3, 0, False)]
    (job,) = Sweep.read(sweep.folder).jobs
    assert job.pid == os.getpid() and background.state(job) == "running"
    assert background.state(replace(job, begun="1")) == "ended", (
        "another process of that number is not it"
    )


@pytest.mark.parametrize("workers", ["auto", 2, None])
def test_a_sweep_says_how_far_it_is_however_its_workers_were_asked_for(
    tmp_path: Path, workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    left = Durations.left
    monkeypatch.setattr(
        Durations, "left", lambda self, units, at_once: seen.append(at_once) or left(self, units, 1)
    )
    sweep = Sweep(str(tmp_path), UNITS, "local", {"workers": workers})
    sweep.save()
    assert state_of(Sweep.read(sweep.folder)).runs == 3
    assert seen == [2 if workers == 2 else 1]


@pytest.mark.parametrize("memory", [{}, {"gpu_allocated": 5}])
def test_the_time_left_is_told_by_runs_on_the_same_kind_of_device(
    tmp_path: Path, memory: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = record(memory=memory)
    Store(tmp_path).write(mine)
    unit = replace(UNITS[0], ids=(mine.id,))
    sweep = Sweep(str(tmp_path), (unit, *UNITS[1:]), "local", {})
    sweep.save()
    told: list[bool | None] = []
    of = Durations.of

    def noting(records: Any, on_gpu: bool | None = None) -> Durations:
        told.append(on_gpu)
        return of(records, on_gpu=on_gpu)

    monkeypatch.setattr(Durations, "of", noting)
    assert state_of(sweep).counts == {"ok": 1}
    assert told == [bool(memory)]


def test_who_was_handed_a_sweep_stays_its_job(tmp_path: Path) -> None:
    job = Job("elsewhere:7", (0, 1, 2))
    sweep = Sweep(str(tmp_path), UNITS, "ray", {}, jobs=[job])
    sweep.save()
    background.attend(sweep)
    assert Sweep.read(sweep.folder).jobs == [job]


def test_a_process_elsewhere_is_seen_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = Sweep("runs", UNITS, "local", {})
    sweep.save()
    background.attend(sweep)
    (sweep.folder / "alive").touch()
    (job,) = Sweep.read(sweep.folder).jobs
    elsewhere = replace(job, host="elsewhere")
    assert background.state(elsewhere) == background.RUNNING
    (tmp_path / "other").mkdir()
    monkeypatch.chdir("other")
    assert background.state(elsewhere) == background.RUNNING


def test_another_users_process_is_told_and_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Sweep(str(tmp_path), UNITS, "local", {})
    sweep.save()
    background.attend(sweep)

    def refused(pid: int, number: int) -> None:
        if number:
            raise PermissionError("not yours")

    monkeypatch.setattr(os, "kill", refused)
    with pytest.raises(LaunchError, match="is another user's; cancel it as that user"):
        background.end(sweep.jobs[0])


def test_what_was_cancelled_waits_for_nobody(tmp_path: Path) -> None:
    """Though its process may take a moment to end."""
    sweep = Sweep(str(tmp_path), UNITS, "local", {})
    sweep.save()
    background.attend(sweep)
    assert state_of(sweep).queued == 3
    sweep.cancelled = True
    state = state_of(sweep)
    assert (state.queued, state.lost, state.over) == (0, 3, True)


def test_the_jobs_of_a_sweep_are_read_as_they_were_saved(tmp_path: Path) -> None:
    """Also those of a version that knows more of them, or less."""
    job = Job("node1:7", (0, 2), "/logs/7", "node1", 7, "123", "/runs/alive")
    sweep = Sweep(str(tmp_path), UNITS, "local", {}, jobs=[job, Job("12_0", (1,))])
    path = sweep.save()
    assert Sweep.read(sweep.folder).jobs == sweep.jobs
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["jobs"][1] == {"id": "12_0", "units": [1]}
    saved["jobs"][1]["priority"] = "high"
    path.write_text(json.dumps(saved), encoding="utf-8")
    assert Sweep.read(sweep.folder).jobs == sweep.jobs
    del saved["jobs"][0]["units"]
    path.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(UnknownSweep, match="is not readable as a sweep"):
        Sweep.read(sweep.folder)
