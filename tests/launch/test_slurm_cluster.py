"""A real Slurm: a cluster of one node on this machine, of its own folder and ports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sweep_of_eight import (
    PATIENCE,
    ROOT,
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

pytestmark = pytest.mark.slurm

FOLDER = os.environ.get("SLURM_LOCAL", "/tmp/gclbench-slurm-test")
PORT = os.environ.get("SLURM_LOCAL_PORT", "17817")
Slurm = Callable[..., str]


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    """Runs a command of Slurm, or `slurm_local` for the script, and returns what it prints."""
    if (
        shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin") is None
        or os.geteuid() != 0
    ):
        pytest.skip("needs slurm-wlm and munge (apt-get install -y slurm-wlm munge), and root")
    pytest.importorskip("submitit")
    variables = {
        **os.environ,
        "SLURM_LOCAL": FOLDER,
        "SLURM_LOCAL_PORT": PORT,
        "SLURM_LOCAL_CPUS": "2",
        "GRACE_S": "15",
    }
    variables["SLURM_CONF"] = f"{FOLDER}/slurm.conf"

    def run(*command: str) -> str:
        program = (
            [str(ROOT / "scripts" / "slurm_local.sh")]
            if command[0] == "slurm_local"
            else [command[0]]
        )
        answer = subprocess.run(
            [*program, *command[1:]],
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert answer.returncode == 0, f"{command}: {answer.stdout}{answer.stderr}"
        return answer.stdout.strip()

    run("slurm_local", "start")
    yield run
    run("slurm_local", "stop")


def training(folder: Path) -> bool:
    """Whether some run says that it is in the middle of its training, which it does every 15
    seconds."""
    for path in folder.glob("runs/*/running.json"):
        try:
            if json.loads(path.read_text()).get("iteration", 0) >= 3:
                return True
        except (OSError, ValueError):
            continue
    return False


def job_of(pid: int) -> str:
    """The Slurm job that a process belongs to, as squeue names the jobs of an array."""
    content = Path(f"/proc/{pid}/environ").read_text()
    variables = dict(line.split("=", 1) for line in content.split("\0") if "=" in line)
    return f"{variables['SLURM_ARRAY_JOB_ID']}_{variables['SLURM_ARRAY_TASK_ID']}"


def test_eight_runs_through_a_preemption_and_a_node_failure(slurm: Slurm, tmp_path: Path) -> None:
    expected = local()
    settings = (
        "launcher=slurm",
        "launcher.time=10",
        "launcher.units_per_job=2",
        "checkpoint_every=0.2",
    )
    process = start(tmp_path, *SWEEP, *settings, SLURM_CONF=f"{FOLDER}/slurm.conf")
    try:
        working = wait_until(lambda: at_work(tmp_path), "a training")
        victim = job_of(next(iter(working.values())))
        # As Slurm does before it takes a job's place away. scancel itself may go on trying until
        # the job is back: it is not waited for.
        with subprocess.Popen(
            ["scancel", "--signal=USR2", victim],
            env={**os.environ, "SLURM_CONF": f"{FOLDER}/slurm.conf"},
        ) as cancel:
            wait_until(
                lambda: "PENDING" in slurm("squeue", "-h", "-r", "-j", victim, "-o", "%T"),
                "the requeue",
            )
            cancel.kill()
        before = set(records(tmp_path))
        # As when the power goes: daemon and jobs are killed, one of them surely in its training.
        lost, _ = stop_one_at_work(tmp_path)
        slurm("slurm_local", "down")
        kept = {run_id: record.created for run_id, record in records(tmp_path).items()}
        slurm("slurm_local", "up")
        out, err = finish(process)
    finally:
        process.kill()
    assert before <= set(kept)
    assert metrics(tmp_path) == expected
    assert {run_id: records(tmp_path)[run_id].created for run_id in kept} == kept, (
        "a finished run was repeated"
    )
    assert lost not in kept and records(tmp_path)[lost].fit.get("resumed"), (
        "the run that was lost with the node did not go on from its checkpoint"
    )
    assert "4 Slurm jobs" in err and "once more in a new job" not in err
    (log,) = (path.read_text() for path in tmp_path.glob(f"runs/sweeps/*/slurm/{victim}_0_log.out"))
    assert f"Requeued job {victim}" in log


def test_handed_over_preempted_by_another_job_shown_and_cancelled(
    slurm: Slurm, tmp_path: Path
) -> None:
    conf = {"SLURM_CONF": f"{FOLDER}/slurm.conf"}
    command = (
        "submit",
        "dataset=digits",
        "task=clustering",
        "method.epochs=100000",
        "launcher=slurm",
        "launcher.time=10",
    )
    out, _ = finish(start(tmp_path, *command, **conf))
    (sweep,) = (path.name for path in tmp_path.glob("runs/sweeps/*"))
    assert f"sweep {sweep}: 1 run in 1 unit handed over to launcher=slurm" in out
    (job,) = (
        job["id"]
        for job in json.loads((tmp_path / "runs" / "sweeps" / sweep / "sweep.json").read_text())[
            "jobs"
        ]
    )
    wait_until(lambda: training(tmp_path), "the training")
    urgent = slurm(
        "sbatch",
        "--parsable",
        "--partition=urgent",
        "--exclusive",
        "--output=/dev/null",
        "--wrap=sleep 1",
    )
    wait_until(lambda: "PENDING" in slurm("squeue", "-h", "-j", job, "-o", "%T"), "the preemption")
    assert list(tmp_path.glob("runs/*/checkpoint.pt")) and not records(tmp_path)
    wait_until(
        lambda: "COMPLETED" in slurm("squeue", "-h", "-t", "all", "-j", urgent, "-o", "%T"),
        "the other job",
    )
    wait_until(lambda: training(tmp_path), "the training's second attempt")
    with start(tmp_path, "status", sweep, **conf) as shown:
        assert "running" in shown.communicate(timeout=PATIENCE)[0]
    out, _ = finish(start(tmp_path, "cancel", sweep, **conf))
    assert "asked 1 of its jobs to end" in out
    wait_until(lambda: job not in slurm("squeue", "-h", "-o", "%i").split(), "the end")


def test_options_that_this_slurm_refuses(slurm: Slurm, tmp_path: Path) -> None:
    with start(
        tmp_path, "launcher=slurm", "launcher.partition=urgnt", SLURM_CONF=f"{FOLDER}/slurm.conf"
    ) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert (
        process.returncode == 1
        and "Partitions: normal, urgent. Did you mean launcher.partition=urgent?" in err
    )
    assert not (tmp_path / "runs").exists()
