"""The filter's kernel on a GPU: its tests, and its sweeps without a solver around them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_filter
import torch

from gclbench.filters.kernels.backend import path_for
from gclbench.filters.operator import Operator

ROOT = Path(__file__).resolve().parent.parent


def tests(limit: float) -> dict[str, Any]:
    """The tests marked `gpu`, by pytest."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "gpu",
        "tests/filters",
        "tests/training",
        "-rfs",
        "-p",
        "no:cacheprovider",
    ]
    # What is not installed there was put on the path by hand.
    searched = (str(ROOT), os.environ.get("PYTHONPATH"))
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, searched))},
        )
    except subprocess.TimeoutExpired as expired:
        return {
            "failed": f"not finished after {limit:.0f} s",
            "output": str(expired.stdout or "")[-2000:],
        }
    text = done.stdout[-6000:]
    if done.returncode == 0:
        return {"output": text}
    told = [line for line in text.splitlines() if line.startswith("FAILED ")] or [""]
    return {
        "failed": f"exit {done.returncode}; {'; '.join(told)}",
        "output": text + done.stderr[-1000:],
    }


def alone(device: str, quick: bool) -> dict[str, Any]:
    """Sweeps without a solver around them: R-MAT, about 10⁷ entries × 128 columns, against
    torch.sparse.mm and copying."""
    graph = bench_filter.load("rmat_large", 12 if quick else 0)
    operator = Operator(graph.edge_index, graph.num_nodes, True)
    path, width = path_for(operator, device), 128
    base, source, out = (torch.rand(graph.num_nodes, width, device=device) for _ in range(3))
    residual = torch.empty(graph.num_nodes, device=device)
    bandwidth = bench_filter.copy_bandwidth(device)
    matrix = operator.transition().to(device)

    def seconds(work: Callable[[], Any]) -> float:
        work()
        rounds = 2 if quick else 20
        taken = [
            bench_filter.timed(lambda: [work() for _ in range(rounds)], device)[0] / rounds
            for _ in range(3)
        ]
        return statistics.median(taken)

    ways = {
        "sweep": lambda: path.sweep(source, base, out, 0.9, 1.2),
        "sweep with residual": lambda: path.sweep(source, base, out, 0.9, 1.2, residual),
        "torch.sparse.mm and the same update": lambda: (
            torch.sparse.mm(matrix, source).mul_(0.9).add_(base).lerp_(out, -0.2)
        ),
    }
    times = {name: seconds(work) for name, work in ways.items()}
    moved = 4.0 * operator.entries * width
    return {
        "path": path.name,
        "entries": operator.entries,
        "columns": width,
        "copy_bandwidth": bandwidth,
        "seconds": times,
        "of_copy_bandwidth": {name: moved / value / bandwidth for name, value in times.items()},
        "times_torch": times["torch.sparse.mm and the same update"] / times["sweep"],
    }
