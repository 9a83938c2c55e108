"""The sweep that every launcher must do alike: eight short runs, and what a local sweep makes of
them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gclbench.records import Record, Store

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]

SWEEP = (
    "-m",
    "dataset=digits",
    "method.epochs=100",
    "method.tau=0.5,1.0",
    "task=clustering",
    "task.clustering.n_init=1",
    "seeds=4",
)
"""Some seconds per run: long enough to be caught in the middle."""

PATIENCE = 300.0
"""Seconds that anything may take on a slow machine that is busy with other work. No test is about
speed: what does not come within this time does not come at all."""


def environment(**more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "GCLBENCH_OFFLINE": "1",
        "GCLBENCH_DATA": str(Path(tempfile.gettempdir()) / "gclbench-sweep-of-eight"),
        **more,
    }


def start(folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """`gclbench …` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "gclbench", *arguments],
        cwd=folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], seconds: float = 2 * PATIENCE) -> tuple[str, str]:
    """Output and messages of a process that must end well."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"not done in {seconds} s\n{out}\n{err}") from None
    assert process.returncode == 0, f"{out}\n{err}"
    return out, err


def records(folder: Path) -> dict[str, Record]:
    return {record.id: record for record in Store(folder / "runs").scan()}


def metrics(folder: Path) -> dict[str, dict[str, float]]:
    found = records(folder)
    assert {record.status for record in found.values()} <= {"ok"}, [
        record.reason for record in found.values()
    ]
    return {run_id: record.metrics for run_id, record in found.items()}


@functools.lru_cache(maxsize=1)
def local() -> dict[str, dict[str, float]]:
    """Metrics by run id of a local sweep."""
    with tempfile.TemporaryDirectory() as folder:
        finish(start(Path(folder), *SWEEP))
        found = metrics(Path(folder))
    assert len(found) == 8
    return found


def at_work(folder: Path) -> dict[str, int]:
    """Process id by run id of the runs that are in the middle of their training and have written
    a checkpoint; needs a short `checkpoint_every`."""
    found = {}
    for path in folder.glob("runs/*/checkpoint.pt"):
        if path.with_name("record.json").exists():
            continue
        with contextlib.suppress(OSError, ValueError):
            running = json.loads(path.with_name("running.json").read_text())
            found[path.parent.name] = int(running["pid"])
    return found


def stop_one_at_work(folder: Path) -> tuple[str, int]:
    """Stops (SIGSTOP) the process of one run in the middle of its training; run id and process id.

    What is stopped has a checkpoint and no record, and stays so. A run that ends by itself at that
    moment is left alone, and another one is taken.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for run_id, pid in at_work(folder).items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                if at_work(folder).get(run_id) == pid:
                    return run_id, pid
                os.kill(pid, signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError(f"no run in the middle of its training within {PATIENCE} s")


def wait_until(condition: Callable[[], T], what: str) -> T:
    """What the condition gives once it holds."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE} s"
        time.sleep(0.1)
    return found
