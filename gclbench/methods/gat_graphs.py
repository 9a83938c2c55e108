"""GAT (Veličković et al., ICLR 2018), supervised, on collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("gat_graphs")
@dataclass(frozen=True)
class GatGraphs(GraphClassifier):
    """GAT on graphs: attention over neighbours in four heads, trained on labels of training graphs.

    The layer is torch_geometric's; the frame is that of gin. `hidden` is a multiple of four.
    """

    version: ClassVar[str] = "2"
    layer: ClassVar[str] = "gat"
    for_nodes: ClassVar[str] = "gat"
