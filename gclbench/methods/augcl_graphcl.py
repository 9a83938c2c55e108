"""AUGCL on collections of graphs, its own setting: on GraphCL (Niu et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.graphcl import Graphcl


@METHODS.register("augcl_graphcl")
@dataclass(frozen=True)
class AugclGraphcl(Graphcl):
    """AUGCL on GraphCL: negative graphs weighted by the uncertainty of their affinity.

    The weighting starts after half of the training.
    """

    negatives: ClassVar[str] = "augcl"
    for_nodes: ClassVar[str] = "augcl"
