"""GCN (Kipf and Welling, ICLR 2017), supervised, on collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("gcn_graphs")
@dataclass(frozen=True)
class GcnGraphs(GraphClassifier):
    """GCN on graphs: graph convolutions, trained on the labels of training graphs."""

    version: ClassVar[str] = "2"
    layer: ClassVar[str] = "gcn"
    for_nodes: ClassVar[str] = "gcn"
