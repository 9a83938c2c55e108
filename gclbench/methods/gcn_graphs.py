"""GCN (Kipf and Welling, ICLR 2017) as GIN's authors have it (Xu et al., ICLR 2019), supervised, on
collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("gcn_graphs")
@dataclass(frozen=True)
class GcnGraphs(GraphClassifier):
    """GCN on graphs: means over neighbours, trained on the labels of training graphs.

    It is "MEAN–1-LAYER (GCN)" of Table 1 of GIN's authors, which later papers quote: the mean of a
    node's neighbours and itself, then one linear map. Kipf and Welling divide by the roots of both
    ends' degrees instead.
    """

    version: ClassVar[str] = "3"
    layer: ClassVar[str] = "mean"
    for_nodes: ClassVar[str] = "gcn"
