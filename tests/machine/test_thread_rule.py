"""How many threads a run takes, and that workers change nothing about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
import torch
from threadpoolctl import threadpool_info

from gclbench.machine import threads
from gclbench.machine.threads import NODES_OF_ONE_THREAD, computing_with, threads_for
from gclbench.records import Store


@pytest.mark.parametrize(
    ("nodes", "asked", "cores", "variable", "expected"),
    [
        (2708, None, 8, None, 1),
        (NODES_OF_ONE_THREAD, None, 8, None, 1),
        (NODES_OF_ONE_THREAD + 1, None, 8, None, 8),
        (10**6, None, 8, "3", 3),
        (10**6, None, 8, "99", 8),
        (10**6, None, 8, "many", 8),
        (2708, 5, 8, "3", 5),
        (10**6, 2, 8, None, 2),
    ],
)
def test_the_rule(
    nodes: int,
    asked: int | None,
    cores: int,
    variable: str | None,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "cores", lambda: cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert threads_for(nodes, asked) == expected


@pytest.mark.parametrize(
    ("graphs", "nodes", "expected"),
    [
        (1, NODES_OF_ONE_THREAD + 1, 4),
        (2, NODES_OF_ONE_THREAD + 1, 4),  # a batch may hold both
        (1000, 20 * 1000, 1),  # as IMDB-BINARY
        (2000, 430 * 2000, 4),  # as REDDIT-BINARY
        (512, 64 * 512, 1),  # 256 of them have just as many nodes as one thread takes
        (512, 66 * 512, 4),
    ],
)
def test_a_collection_counts_as_a_batch_of_it(
    graphs: int, nodes: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    kind = "nodes" if graphs == 1 else "graphs"
    graph = SimpleNamespace(num_nodes=nodes, items=graphs, item_kind=kind)
    assert threads.threads_of(graph) == expected
    assert threads.threads_of(graph, asked=3) == 3


def test_every_library_computes_with_them_and_is_left_as_it_was() -> None:
    np.ones((2, 2)) @ scipy.linalg.cholesky(np.eye(2))
    before = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    with pytest.raises(ZeroDivisionError), computing_with(2):
        assert torch.get_num_threads() == 2
        assert {pool["num_threads"] for pool in threadpool_info()} <= {1, 2}
        raise ZeroDivisionError
    assert torch.get_num_threads() == 1
    assert {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()} == before


def test_a_library_that_is_first_used_within_keeps_to_them_too() -> None:
    """SciPy brings a BLAS of its own, loaded with its first import. Its threads, beside other runs,
    wait for each other most of the time."""
    code = """
from gclbench.machine.threads import computing_with
with computing_with(1):
    from scipy.linalg import cho_factor
    from threadpoolctl import threadpool_info
    print({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
print(max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"))
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        check=True,
        capture_output=True,
        text=True,
    )
    if os.cpu_count() == 1:  # OpenBLAS takes no more threads than there are cores
        assert found.stdout.split() == ["{1}", "1"]
    else:
        assert found.stdout.split() == ["{1}", "2"]


@pytest.mark.slow
@pytest.mark.skipif(os.cpu_count() == 1, reason="one core has one number of threads")
def test_the_same_command_gives_the_same_bits_with_and_without_workers(tmp_path: Path) -> None:
    """GRACE on 1,797 nodes came to other numbers with two threads than with one."""
    command = ["method=grace", "method.epochs=3", "dataset=digits", "seeds=2", "task=[clustering]"]
    environment = {key: value for key, value in os.environ.items() if "NUM_THREADS" not in key}
    found = []
    for name, more in (("here", []), ("workers", ["launcher.workers=2"])):
        done = subprocess.run(
            [sys.executable, "-m", "gclbench", *command, f"runs_dir={tmp_path / name}", *more],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        records = sorted(Store(tmp_path / name).scan(), key=lambda record: record.id)
        found.append([(one.id, one.metrics, one.fit["loss"]) for one in records])
        assert {one.environment["threads"] for one in records} == {"1"}
    assert len(found[0]) == 2 and found[0] == found[1]
