"""NML-GCL: negative metric learning for graphs (paper 003)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("nml_gcl")
@dataclass(frozen=True)
class NmlGcl(Grace):
    """NML-GCL: GRACE's views with a network that learns the weights of the negatives (its settings are GRACE's but for the values)."""
