"""ProGCL: graph contrastive learning with probably true negatives (Xia et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.gca import Gca


@METHODS.register("progcl")
@dataclass(frozen=True)
class Progcl(Gca):
    """ProGCL: GCA whose negatives are weighted (or mixed) by how probably they are true ones.

    `negatives=progcl_mix` mixes them.
    """

    negatives: ClassVar[str] = "progcl_weight"
