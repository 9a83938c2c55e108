"""Several trainings at once: what workers are given, and what is told where one fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import gpu_workers
import pytest


def test_seeds_are_dealt_out_and_a_worker_that_fails_is_told(monkeypatch):
    begun = []

    def begin(command, **options):
        begun.append(command[command.index("--train") + 1 :])
        return started(command, **options)

    started = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", begin)
    with pytest.raises(RuntimeError, match="before it was ready: .*no method 'dmat_j'"):
        gpu_workers.seconds_of("dmat_j", "sbm", 1, "cpu", processes=2, seeds=5)
    assert begun == [
        ["dmat_j", "sbm", "1", "cpu", "0", "2", "4"],
        ["dmat_j", "sbm", "1", "cpu", "1", "3"],
    ]


def test_one_failure_leaves_the_others(monkeypatch):
    def seconds_of(method, dataset, epochs, device, processes, seeds):
        if processes == 2:
            raise RuntimeError("a worker ended before it was done: killed")
        return 1.5

    monkeypatch.setattr(gpu_workers, "seconds_of", seconds_of)
    facts = gpu_workers.report("cpu", quick=True)
    told = {"1": 1.5, "2": "a worker ended before it was done: killed"}
    assert facts["seconds"] == {"dmat_i": told, "grace": told}
    assert gpu_workers.summary(facts).startswith(
        "2 seeds on sbm by processes: dmat_i: 1 1.5 s, 2 FAILED (a worker ended before it was done:"
        " killed); grace: 1 1.5 s"
    )
    assert gpu_workers.summary(facts).endswith("MPS not run: no GPU, or no nvidia-cuda-mps-control")


def test_mps_is_for_what_begins_within_and_ends_after(monkeypatch):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", "before")
    monkeypatch.delenv("CUDA_MPS_LOG_DIRECTORY", raising=False)
    said = []

    def run(command, **options):
        said.append((command, options.get("input"), os.environ["CUDA_MPS_PIPE_DIRECTORY"]))

    monkeypatch.setattr(subprocess, "run", run)
    with gpu_workers.mps():
        folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
    assert folder not in ("", "before")
    daemon = gpu_workers.DAEMON
    assert said == [([daemon, "-d"], None, folder), ([daemon], "quit\n", folder)]
    assert os.environ["CUDA_MPS_PIPE_DIRECTORY"] == "before"
    assert "CUDA_MPS_LOG_DIRECTORY" not in os.environ


def test_a_daemon_that_does_not_start_is_told(monkeypatch):
    monkeypatch.setattr(gpu_workers.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(gpu_workers, "seconds_of", lambda *_: 2.0)

    def run(command, **options):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", run)
    facts = gpu_workers.report("cuda", quick=True)
    assert facts["seconds"]["grace"] == {"1": 2.0, "2": 2.0}
    assert facts["mps"]["grace"].startswith(
        "failed: Command '['nvidia-cuda-mps-control', '-d']' returned"
    )


@pytest.mark.parametrize(
    ("seconds", "better"),
    [
        ({"dmat_i": {"4": 2.0, "4, MPS": 1.0}, "grace": {"4": 2.0, "4, MPS": 1.9}}, True),
        ({"dmat_i": {"4": 2.0, "4, MPS": 1.0}, "grace": {"4": 2.0, "4, MPS": 2.1}}, False),
        ({"dmat_i": {"4": 2.0, "4, MPS": "a worker ended"}}, False),
        ({"dmat_i": {"1": 2.0, "4": 2.0}}, False),
        ({}, False),
    ],
)
def test_mps_is_better_where_every_method_is_faster_by_it(seconds, better, tmp_path, monkeypatch):
    assert gpu_workers.better_by_mps({"seconds": seconds}) is better
    file = tmp_path / "gpu_check.json"
    file.write_text(json.dumps({"parts": {"workers": {"result": {"seconds": seconds}}}}))
    monkeypatch.setattr(sys, "argv", ["gpu_workers.py", "--better-by-mps", str(file)])
    assert gpu_workers.main() == (0 if better else 1)


def test_mps_of_a_part_that_failed_is_not_taken(tmp_path, monkeypatch):
    file = tmp_path / "gpu_check.json"
    for parts in ({}, {"workers": {"result": {"failed": "OutOfTime"}}}):
        file.write_text(json.dumps({"parts": parts}))
        monkeypatch.setattr(sys, "argv", ["gpu_workers.py", "--better-by-mps", str(file)])
        assert gpu_workers.main() == 1
