"""GBP's push node by node, as its own routine does it: the reference of the rounds."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

from gclbench.filters.operator import Operator


def push_in_order(
    operator: Operator,
    column: Tensor,
    alpha: float,
    r: float,
    r_max: float,
    last_in_first_out: bool = True,
) -> Tensor:
    """One column pushed node by node as GBP's routine does, with a stack (or a queue).

    Args:
        column: (N,). last_in_first_out: take the newest node of the worklist, as the shipped code
            does.

    Returns:
        (N,) float64. Order changes which residue stays unpushed, never the bound of `push.push`.
    """
    degree = operator.safe_degree.tolist()
    pointers, neighbours = operator.pointers.tolist(), operator.columns.tolist()
    weights = [1.0] * len(neighbours) if operator.weights is None else operator.weights.tolist()
    values = column.to(torch.float64)[operator.order].tolist()
    scaled = [value / degree[node] ** r for node, value in enumerate(values)]
    result = [0.0] * operator.nodes
    for sign in (1.0, -1.0):
        residue = [max(sign * value, 0.0) for value in scaled]
        threshold = r_max * (sum(residue) or 1.0)
        reserve = [0.0] * operator.nodes
        waiting = deque(node for node, value in enumerate(residue) if value > threshold)
        queued = set(waiting)
        while waiting:
            node = waiting.pop() if last_in_first_out else waiting.popleft()
            queued.discard(node)
            amount, residue[node] = residue[node], 0.0
            reserve[node] += alpha * amount
            for index in range(pointers[node], pointers[node + 1]):
                neighbour = neighbours[index]
                residue[neighbour] += (1.0 - alpha) * weights[index] * amount / degree[neighbour]
                if residue[neighbour] > threshold and neighbour not in queued:
                    waiting.append(neighbour)
                    queued.add(neighbour)
        for node in range(operator.nodes):
            result[node] += sign * (reserve[node] + alpha * residue[node])
    scaled_back = torch.tensor(
        [value * degree[node] ** r for node, value in enumerate(result)], dtype=torch.float64
    )
    return scaled_back[operator.rank]
