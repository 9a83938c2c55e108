"""Random sub-graphs as a training's batches."""

from __future__ import annotations

import torch
from torch import Tensor


class Subgraphs:
    """Draws the node sets of a step's induced sub-graphs, uniformly.

    Windows of neighbouring ids, which official codes take, would tie the negatives to the order of
    the file (docs/sources.md).

    Args:
        nodes: N. count: sub-graphs per step; 0 for the whole graph. size: nodes of each. generator:
            what draws.

    Attributes:
        drawn: whether there is anything to draw: not if a sub-graph would hold every node.
    """

    def __init__(self, nodes: int, count: int, size: int, generator: torch.Generator):
        self.drawn = count > 0 and size < nodes
        self.generator = generator
        self._nodes, self._count, self._size = nodes, count, size

    def draw(self, device: torch.device) -> list[Tensor | None]:
        """(size,) node ids in ascending order for each sub-graph; [None] stands for the whole
        graph."""
        if not self.drawn:
            return [None]
        orders = (torch.randperm(self._nodes, generator=self.generator) for _ in range(self._count))
        return [order[: self._size].sort().values.to(device) for order in orders]
