"""Readouts: from the nodes of a batch of graphs to one row for each graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.autograd.function import Function, once_differentiable
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool


class _Sum(Function):
    """PyG's sum of each graph's nodes. Its backward copies a graph's row to each of its nodes as
    whole rows; PyG's copies number by number, which takes ten times as long."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, graph_of: Tensor, graphs: int) -> Tensor:
        ctx.save_for_backward(graph_of)
        return global_add_pool(x, graph_of, graphs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (graph_of,) = ctx.saved_tensors
        return gradient.index_select(0, graph_of), None, None


READOUTS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "sum": _Sum.apply,
    "mean": global_mean_pool,
    "max": global_max_pool,
}
"""B×d from nodes (M×d), the graph of each (M) and B."""
