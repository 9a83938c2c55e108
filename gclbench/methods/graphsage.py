"""GraphSAGE (Hamilton et al., NeurIPS 2017), supervised, on collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("graphsage")
@dataclass(frozen=True)
class GraphSage(GraphClassifier):
    """GraphSAGE on graphs: means over neighbours, trained on the labels of training graphs."""

    version: ClassVar[str] = "2"
    layer: ClassVar[str] = "graphsage"
