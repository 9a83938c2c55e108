"""Generalised PageRank of feature columns: the solvers over all slices, on the CPU's threads or a
GPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from gclbench.filters.chebyshev import Problem, Solver
from gclbench.filters.kernels.backend import CudaPath, Path, path_for
from gclbench.filters.operator import Operator
from gclbench.filters.outcome import Outcome
from gclbench.filters.push import push as push_slice
from gclbench.filters.slices import BUFFERS, column_slices, deal, gpu_slice_width, slice_width

R = TypeVar("R")


def exact(
    operator: Operator,
    x: Tensor,
    problem: Problem,
    *,
    device: str = "cpu",
    result: Tensor | None = None,
    name: str = "graph",
) -> tuple[Tensor, Outcome]:
    """Chebyshev iteration or the series to the asked relative error.

    Args:
        x: N×F float32, on the CPU, perhaps a memory map. device: where to compute. result: N×F
            float32 to write into, else a new one.

    Returns:
        X (N×F float32) and the outcome, whose `error_bound` covers rounding, about 2⁻²⁴/α, which
        may exceed a very small tolerance.

    Raises:
        ValueError: when x is not finite. TooLarge: when not even one column fits.
    """
    path, pieces, workers, result = _prepare(operator, x, device, result, problem.storage)
    solver = Solver(problem, path, name)
    solved = _each(path, lambda columns: solver(x, columns, result), pieces, workers)
    sweeps = max((part.sweeps for part in solved), default=0)
    size = math.hypot(*(part.size for part in solved))
    error = math.hypot(*(part.error for part in solved)) / size if size else 0.0
    done = sum(part.sweeps * part.columns for part in solved)
    return result, Outcome(
        solver="chebyshev" if problem.accelerated else "series",
        sweeps=sweeps,
        error_bound=error / (1.0 - error) if error < 1.0 else math.inf,
        error_norm="weighted",
        touched=done / max(1, sweeps * x.shape[1]) if sweeps else 1.0,
        path=path.name,
        slices=len(pieces),
        slice_width=pieces[0].stop,
        verified=sum(part.columns for part in solved if part.verified),
        memory=_memory(operator, path, pieces, workers, result),
    )


def pushed(
    operator: Operator,
    x: Tensor,
    alpha: float,
    r: float,
    r_max: float,
    *,
    device: str = "cpu",
    storage: torch.dtype = torch.float32,
    result: Tensor | None = None,
    name: str = "graph",
) -> tuple[Tensor, Outcome]:
    """GBP's thresholded push. Arguments, result and errors as `exact`."""
    path, pieces, workers, result = _prepare(operator, x, device, result, storage)
    done = _each(
        path,
        lambda columns: push_slice(path, x, columns, result, alpha, r, r_max, storage, name),
        pieces,
        workers,
    )
    rounds = max(part.rounds for part in done)
    mass = sum(part.mass for part in done)
    entries = max(1, operator.entries) * max(1, rounds) * x.shape[1]
    return result, Outcome(
        solver="push",
        sweeps=rounds,
        error_bound=max(part.error for part in done),
        error_norm="absolute",
        touched=min(1.0, sum(part.reads for part in done) / entries),
        path=path.name,
        slices=len(pieces),
        slice_width=pieces[0].stop,
        unpushed=sum(part.unpushed for part in done) / mass if mass else 0.0,
        memory=_memory(operator, path, pieces, workers, result),
    )


def _prepare(
    operator: Operator, x: Tensor, device: str, result: Tensor | None, storage: torch.dtype
) -> tuple[Path, list[slice], int, Tensor]:
    path = path_for(operator, device)
    nodes, width = x.shape
    result = torch.empty(nodes, width) if result is None else result
    if isinstance(path, CudaPath):
        torch.cuda.reset_peak_memory_stats(path.device)
        free, _ = torch.cuda.mem_get_info(path.device)
        # The float64 matrix of the check: a float64 value and a column for every entry, 32 bits of
        # it as long as pointers take no more.
        checking = (12 if operator.entries < 2**31 else 16) * operator.entries
        step = gpu_slice_width(
            nodes, operator.entries, width, storage.itemsize, max(0, free - checking)
        )
        return path, column_slices(width, step), 1, result
    workers = max(1, min(torch.get_num_threads(), width))
    return path, column_slices(width, slice_width(nodes, width, workers)), workers, result


def _each(path: Path, work: Callable[[slice], R], pieces: list[slice], workers: int) -> list[R]:
    """`work` of every slice: on the CPU's threads, or one after the other on a GPU, whose transfers
    then have the threads."""
    return (
        [work(piece) for piece in pieces]
        if isinstance(path, CudaPath)
        else deal(work, pieces, workers)
    )


def _memory(
    operator: Operator, path: Path, pieces: list[slice], workers: int, result: Tensor
) -> int:
    """Bytes held at once; on the CPU counted, not measured: the record has the process's own peak
    beside it."""
    if isinstance(path, CudaPath):
        return int(torch.cuda.max_memory_allocated(path.device))
    matrix = operator.entries * (8 if operator.weights is None else 12) + operator.nodes * 48
    return matrix + workers * BUFFERS * 4 * operator.nodes * pieces[0].stop + 4 * result.numel()
