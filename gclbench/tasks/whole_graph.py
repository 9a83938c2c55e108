"""What tasks that hold nothing out have in common."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from gclbench.data.splits import Split
from gclbench.graph import Graph


class WholeGraph:
    """Every item takes part in the training, and no method sees a label."""

    items: ClassVar[str] = "nodes"
    hides: ClassVar[bool] = False

    def hide(self, graph: Graph, split: Split | None) -> Graph:
        """The graph itself."""
        return graph

    def labels(self, graph: Graph, split: Split | None) -> Tensor:
        """n times −1: no method sees a label."""
        return torch.full((graph.items,), -1, dtype=torch.long)
