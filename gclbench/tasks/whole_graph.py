"""What tasks have in common that hold nothing out."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from gclbench.data.splits import Split
from gclbench.graph import Graph


class WholeGraph:
    """All nodes, features and edges take part in the training, and no method sees a label."""

    hides: ClassVar[bool] = False

    def hide(self, graph: Graph, split: Split | None) -> Graph:
        """The graph itself."""
        return graph

    def labels(self, graph: Graph, split: Split | None) -> Tensor:
        """N times −1: no label is seen."""
        return torch.full((graph.num_nodes,), -1, dtype=torch.long)
