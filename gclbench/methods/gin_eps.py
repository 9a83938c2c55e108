"""GIN-ε: graph isomorphism network with a learned ε (Xu et al., ICLR 2019), supervised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graph_classifier import GraphClassifier


@METHODS.register("gin_eps")
@dataclass(frozen=True)
class GinEps(GraphClassifier):
    """GIN-ε on graphs: as gin, a node's own weight 1 + ε is learned.

    It is "SUM–MLP (GIN-ε)" of its authors' Table 1. The ε of every layer starts at zero.
    """

    version: ClassVar[str] = "3"
    layer: ClassVar[str] = "gin_eps"
