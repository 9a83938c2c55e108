"""Readouts: from the nodes of a batch of graphs to one row for each graph."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

READOUTS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "sum": global_add_pool,
    "mean": global_mean_pool,
    "max": global_max_pool,
}
"""B×d from nodes (M×d), the graph of each (M) and B."""
