"""How many worker processes `launcher.workers=auto` starts for a sweep on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gclbench.launch.attempt import composed
from gclbench.machine import threads
from gclbench.machine.free_memory import available_memory

if TYPE_CHECKING:
    from gclbench.run.unit import Unit

PROCESS = 1 << 30
"""Bytes of a worker before its graph: Python, torch, and the tiles of a contrast."""

COPIES = 8
"""A run holds about so many matrices of the size of its features."""

ENTRY = 64
"""Bytes of an edge's entry, with those of the matrices made of it."""


def workers_for(units: Sequence[Unit]) -> int:
    """As many workers as keep the cores busy, one per GPU where the runs go to GPUs.

    The cores are divided by the threads of the largest graph. There are never more workers than
    units, nor more than find room in the memory that is free now.
    """
    most = len(units)
    if most < 2:
        return 1
    gpus = _gpus(units)
    if gpus:
        return min(most, gpus)
    needs = [needed for same in _by_dataset(units) for needed in _needs(same)]
    if not needs:
        return 1
    wide, size = (max(values) for values in zip(*needs, strict=True))
    return max(1, min(most, threads.cores() // wide, available_memory() // size))


def _by_dataset(units: Sequence[Unit]) -> list[list[Unit]]:
    """The units of each dataset, one of those that differ in seed or task alone."""
    groups: dict[str, dict[tuple[str, ...], Unit]] = {}
    for unit in units:
        groups.setdefault(unit.dataset_hash, {})[unit.overrides] = unit
    return [list(group.values()) for group in groups.values()]


def _needs(units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """Threads and bytes of each unit; they have one dataset, whose graph is read once and not kept.

    What cannot be had is left to its run.
    """
    from gclbench.config.validation import ConfigErrors
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import Graph, GraphError, bytes_of
    from gclbench.run import datasets

    graph: Graph | None = None
    for unit in units:
        try:
            components = composed(unit.overrides, unit.tasks).components
            graph = graph or datasets.load(components.dataset).graph
        except (ConfigErrors, DataUnavailable, GraphError):
            continue
        held = getattr(components.method, "held_bytes", lambda graph: 0)(graph)
        size = PROCESS + COPIES * bytes_of(graph.x) + ENTRY * graph.edge_index.shape[1]
        yield threads.threads_of(graph, unit.threads), size + held


def _gpus(units: Sequence[Unit]) -> int:
    """How many GPUs the units may use; 0 where one of them computes on the processor."""
    if any(unit.device == "cpu" for unit in units):
        return 0
    import torch

    if not torch.cuda.is_available():
        return 0
    dealt = all(unit.device in ("auto", "cuda") for unit in units)
    return torch.cuda.device_count() if dealt else 1
