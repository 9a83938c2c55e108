"""GraphSAGE (Hamilton et al., NeurIPS 2017) as GIN's authors have it (Xu et al., ICLR 2019),
supervised, on collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("graphsage")
@dataclass(frozen=True)
class GraphSage(GraphClassifier):
    """GraphSAGE on graphs: maxima over neighbours, trained on the labels of training graphs.

    It is "MAX–1-LAYER (GraphSAGE)" of Table 1 of GIN's authors, which later papers quote: the
    largest of a node's neighbours and itself, then one linear map. Hamilton et al. join a node's
    own row to the aggregated one instead.
    """

    version: ClassVar[str] = "3"
    layer: ClassVar[str] = "max"
