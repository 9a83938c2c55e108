"""How many threads a run computes with: one rule, in this process and in a worker alike.

The order of sums depends on the number of threads, and with it the last bits of a result. So the
number follows from the machine and the graph alone. How many workers there are changes nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gclbench.graph import Graph

NODES_OF_ONE_THREAD = 16_384
"""Graphs up to this many nodes are computed on one thread: several runs side by side then use
several cores better than one run does."""


GRAPHS_AT_ONCE = 256
"""A collection counts as so many of its graphs: no method ships with larger batches."""


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def allowed() -> int:
    """The most threads that a run takes by itself: the cores, or OMP_NUM_THREADS where that is
    less."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores(), int(said)) if said.isdigit() and int(said) > 0 else cores()


def threads_for(nodes: int, asked: int | None = None) -> int:
    """The rule of `threads=auto`, or the number that was asked for.

    One thread for a graph of up to `NODES_OF_ONE_THREAD` nodes, `allowed()` for a larger one.
    """
    if asked is not None:
        return asked
    return 1 if nodes <= NODES_OF_ONE_THREAD else allowed()


def threads_of(graph: Graph, asked: int | None = None) -> int:
    """`threads_for` the nodes that are computed with at once: all of a graph, or those of
    `GRAPHS_AT_ONCE` graphs of a collection's mean size."""
    if graph.item_kind != "graphs":
        return threads_for(graph.num_nodes, asked)
    return threads_for(graph.num_nodes * GRAPHS_AT_ONCE // max(graph.items, GRAPHS_AT_ONCE), asked)


@contextlib.contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Within the block torch and the libraries that NumPy and SciPy compute with use so many
    threads."""
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own; limits reach what is loaded
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    try:
        with threadpool_limits(limits=threads):
            torch.set_num_threads(threads)
            yield
    finally:
        torch.set_num_threads(before)
