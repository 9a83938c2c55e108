"""NML-GCL: negative metric learning for graphs (NML-GCL paper)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("nml_gcl")
@dataclass(frozen=True)
class NmlGcl(Grace):
    """NML-GCL: GRACE's views, and a network that learns the weights of the negatives.

    It has GRACE's settings with other values.
    """
