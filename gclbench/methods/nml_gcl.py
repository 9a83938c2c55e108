"""NML-GCL: negative metric learning for graphs (Zhao et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("nml_gcl")
@dataclass(frozen=True)
class NmlGcl(Grace):
    """NML-GCL: GRACE with a network that learns the weights of the negatives."""

    negatives: ClassVar[str] = "nml"
