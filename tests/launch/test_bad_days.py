"""Sweeps in which runs raise, diverge, take all memory, take all time, or take their worker with
them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fate
import pytest

from gclbench.cli import main
from gclbench.launch.pool import died, environments
from gclbench.records import Record, Store
from gclbench.run import datasets

SMALL = (
    "dataset=sbm",
    "dataset.nodes=60",
    "dataset.classes=2",
    "dataset.features=6",
    "device=cpu",
    "task=clustering",
)
PLAIN = ("task.clustering.n_init=1", "filter=none")
HERE = Path(__file__).resolve().parent


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    datasets.load.cache_clear()
    return folder


def by_seed(folder: str = "runs") -> dict[int, Record]:
    return {record.seed: record for record in Store(folder).scan()}


def data_of_this_process() -> float:
    """GiB that count against RLIMIT_DATA."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) / (1 << 20)
    pytest.skip("this system does not tell a process's memory")


def test_ten_runs_of_which_four_go_wrong(
    register_method: Callable[[str, type], None], capsys: pytest.CaptureFixture[str]
) -> None:
    register_method("fate", fate.Fate)
    assert main([*SMALL, *PLAIN, "method=fate", "seeds=[0]"]) == 0, (
        "without limits: what libraries take at their first use is no run's"
    )
    capsys.readouterr()
    limit = data_of_this_process() + 0.5
    command = [*SMALL, *PLAIN, "method=fate", "seeds=10", f"memory_limit={limit}", "time_limit=0.5"]
    assert main(command) == 1
    records = by_seed()
    assert {seed: record.status for seed, record in records.items() if not record.ok} == {
        fate.RAISES: "failed",
        fate.DIVERGES: "diverged",
        fate.TAKES_ALL_MEMORY: "oom",
        fate.TAKES_ALL_TIME: "timeout",
    }
    assert len(records) == 10
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("sbm") and " acc " in line]
    line, chance = lines
    assert "chance" in chance
    assert "(6; diverged ×1, OOM ×1, timeout ×1, failed ×1)" in line
    assert "6 of 10 runs are ok" in out
    assert "memory_limit=" in records[fate.TAKES_ALL_MEMORY].reason
    assert records[fate.TAKES_ALL_MEMORY].limits == {"time": 0.5, "memory": pytest.approx(limit)}
    assert main([*command[:-1], "time_limit=0.6"]) == 1
    again = by_seed()
    changed = {seed for seed in records if again[seed] != records[seed]}
    assert changed == {
        fate.RAISES,
        fate.TAKES_ALL_TIME,
    }, "a larger time limit, and what may be an accident"
    assert "8 of 10 runs are recorded" in capsys.readouterr().err


@pytest.mark.slow
def test_workers_that_die_take_nothing_with_them(here: Path, tmp_path: Path) -> None:
    paths = os.pathsep.join(
        filter(None, [str(fate.install(tmp_path / "site")), os.environ.get("PYTHONPATH")])
    )
    seeds = "seeds=[0,1,2,11,4,12,6,13,8,9]"
    call = [
        sys.executable,
        "-m",
        "gclbench",
        *SMALL,
        *PLAIN,
        "method=fate",
        "launcher.workers=2",
        seeds,
    ]
    result = subprocess.run(
        call, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths}
    )
    assert result.returncode == 1, result.stderr
    records = by_seed()
    assert {seed: record.status for seed, record in records.items() if not record.ok} == {
        1: "failed",
        11: "failed",
        13: "failed",
    }
    assert len(records) == 10
    assert records[11].reason == "its worker process was killed by signal 9 (SIGKILL), 2 times"
    assert records[13].reason == "its worker process ended with exit code 9, 2 times"
    assert "RuntimeError: this run raises" in records[1].reason
    assert (
        "seed 12 · clustering: its worker process was killed by signal 9 (SIGKILL); it is begun"
        " once more" in result.stderr
    )
    assert (
        records[11].command.endswith("task=clustering 'seeds=[11]'")
        and records[11].spec["method"]["name"] == "fate"
    )
    assert "7 of 10 runs are ok" in result.stdout and "Traceback" not in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_running_workers_as_interrupted(
    here: Path, tmp_path: Path, number: int
) -> None:
    paths = os.pathsep.join(
        filter(None, [str(fate.install(tmp_path / "site")), os.environ.get("PYTHONPATH")])
    )
    command = [
        sys.executable,
        "-m",
        "gclbench",
        *SMALL,
        *PLAIN,
        "method=fate",
        "launcher.workers=2",
        "seeds=[0,2,4,6]",
    ]
    environment = {**os.environ, "PYTHONPATH": paths}
    with subprocess.Popen(
        [*command, "method.pause=60"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A shell's background jobs start with SIGINT ignored, and so would the tests of a CI that
        # runs as one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 300
        while len(list(here.glob("runs/*/running.json"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted; what was recorded stays" in err and "Traceback" not in err
    assert Counter(record.status for record in Store("runs").scan()) == {"interrupted": 2}
    assert not list(here.glob("runs/*/running.json"))
    done = subprocess.run(
        [*command, "method.pause=0"], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert Counter(record.status for record in Store("runs").scan()) == {
        "ok": 4,
        "interrupted": 2,
    }, "another pause, other runs"


def test_what_an_exit_code_says() -> None:
    assert (died(-9, True).status, died(-9, False).status, died(-11, True).status) == (
        "oom",
        "failed",
        "failed",
    )
    assert "memory was used up" in died(-9, True).reason
    assert died(-11, False).reason == "its worker process was killed by signal 11 (SIGSEGV)"
    assert died(3, False).reason == "its worker process ended with exit code 3"


def test_workers_share_the_cores_and_have_a_gpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6,GPU-ab")
    dealt = environments(5, gpus=True)
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in dealt] == [
        "4",
        "6",
        "GPU-ab",
        "4",
        "6",
    ]
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in environments(2, gpus=False)] == [
        "4,6,GPU-ab"
    ] * 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4")
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in environments(2, gpus=True)] == [
        "4",
        "4",
    ]


def test_a_worker_that_does_not_start_ends_the_sweep_with_a_sentence(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = here / "broken-python"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    assert main([*SMALL, *PLAIN, "method=kmeans", "seeds=3", "launcher.workers=2"]) == 1
    assert (
        "gclbench: a worker process ended with exit code 7 before its first run"
        in capsys.readouterr().err
    )
