"""A real Ray on this machine."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from sweep_of_eight import (
    PATIENCE,
    SWEEP,
    at_work,
    finish,
    local,
    metrics,
    records,
    start,
    stop_one_at_work,
    wait_until,
)

pytestmark = pytest.mark.ray

UNIT = re.compile(
    r"dmat_i \(method\.tau=\d\.\d\) · digits · seed (?P<seed>\d) · clustering: ok "
    r"\((?P<done>\d) of 8\)"
)
RAYS_OWN = re.compile(r"^\s*(\(raylet|\(\w+ pid=|\[?\d{4}-\d\d-\d\d[ T]|Traceback)", re.MULTILINE)
"""How lines of Ray begin: with the name of its daemon, the process of a worker, or a date."""


@pytest.fixture(autouse=True)
def ray_is_installed() -> None:
    pytest.importorskip("ray")


def test_eight_runs_one_of_whose_workers_is_killed(tmp_path: Path) -> None:
    expected = local()
    process = start(tmp_path, *SWEEP, "launcher=ray", "checkpoint_every=0.2")
    try:
        killed, pid = stop_one_at_work(tmp_path)
        os.kill(pid, signal.SIGKILL)
        _, err = finish(process)
    finally:
        process.kill()
    assert metrics(tmp_path) == expected
    assert records(tmp_path)[killed].fit.get("resumed"), (
        "the killed run did not go on from its checkpoint"
    )
    # Each unit is told once, the killed one too, as it ended, in the order of the ends.
    told = [UNIT.fullmatch(line) for line in err.splitlines() if line.startswith("dmat_i (")]
    assert None not in told, err
    assert sorted(match["seed"] for match in told) == sorted("0123" * 2), err
    assert [match["done"] for match in told] == list("12345678"), err
    # Ray's own warnings and its workers' output stay out of it.
    assert not RAYS_OWN.search(err), err


def test_a_unit_whose_workers_die_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    command = (
        "-m",
        "dataset=digits",
        "task=clustering",
        "method.epochs=1000000,2",
        "launcher=ray",
        "launcher.retries=0",
    )
    with start(tmp_path, *command, "launcher.cpus=0.1", "checkpoint_every=0.2") as process:
        try:
            wait_until(
                lambda: at_work(tmp_path) and len(records(tmp_path)) == 1,
                "a training, and the end of the other",
            )
            os.kill(stop_one_at_work(tmp_path)[1], signal.SIGKILL)
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    killed, other = sorted(records(tmp_path).values(), key=lambda record: record.status)
    assert process.returncode == 1 and (killed.status, other.status) == ("failed", "ok")
    assert "its Ray worker died: WorkerCrashedError" in killed.reason, err


def test_a_sweep_before_ones_eyes_is_seen_and_cancelled(tmp_path: Path) -> None:
    command = (
        "dataset=digits",
        "task=clustering",
        "method.epochs=1000000",
        "seeds=2",
        "launcher=ray",
        "launcher.cpus=2",
    )
    with start(tmp_path, "-m", *command, "checkpoint_every=0.2") as process:
        try:
            wait_until(lambda: at_work(tmp_path), "a training")
            (sweep,) = (path.name for path in tmp_path.glob("runs/sweeps/*"))
            out, _ = finish(start(tmp_path, "status", sweep))
            assert "units running, " in out and "left undone" not in out
            out, _ = finish(start(tmp_path, "cancel", sweep))
            assert "asked 1 of its jobs to end" in out
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (
        process.returncode == 130
        and "interrupted; what was recorded stays" in err
        and "SIGTERM received" not in err
    ), err
    assert {record.status for record in records(tmp_path).values()} == {"interrupted"}


def test_more_than_there_is(tmp_path: Path) -> None:
    with start(tmp_path, "task=clustering", "launcher=ray", "launcher.cpus=1000") as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert (
        process.returncode == 1
        and "a unit asks for 1000 CPUs (launcher.cpus), the largest node has" in err
    )
