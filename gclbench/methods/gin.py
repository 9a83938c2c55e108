"""GIN-0: graph isomorphism network (Xu et al., ICLR 2019), supervised, on collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("gin")
@dataclass(frozen=True)
class Gin(GraphClassifier):
    """GIN-0 on graphs: sums over neighbours, trained on the labels of training graphs.

    It is "SUM–MLP (GIN-0)" of its authors' Table 1: the sum of a node's neighbours and itself, then
    a network of two layers.
    """

    version: ClassVar[str] = "3"
    layer: ClassVar[str] = "gin"
