"""Whether a graph fits into this machine's memory, told before it is tried."""

from __future__ import annotations

from gclbench.graph import GraphError
from gclbench.machine.memory_map import available_memory

GIB = 1 << 30


def check_capacity(nodes: int, features: int, name: str, entries: int = 0, copies: int = 1) -> None:
    """Whether features (N×F, float32) and edges fit into memory.

    Args:
        features: F, 0 where they go to disk.
        entries: of edges, at most; 48 bytes each while the graph is made.
        copies: of the features that there are at a time.

    Raises:
        GraphError: with the memory that they need and the memory that is free.
    """
    wanted, free = 4 * copies * nodes * features + 48 * entries, available_memory()
    if wanted > free:
        sizes = [f"{nodes:,} × {features:,} features as float32"] * bool(features)
        sizes += [f"{entries:,} entries of edges"] * bool(entries)
        fewer = "features, for example by a truncated SVD, or fewer nodes" if features else "nodes"
        raise GraphError(
            f"graph '{name}': {' and '.join(sizes)} need {wanted / GIB:,.1f} GiB of memory, and"
            f" {free / GIB:,.1f} GiB are free; take fewer {fewer}"
        )
