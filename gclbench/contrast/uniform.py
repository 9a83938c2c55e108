"""The plain negatives of InfoNCE."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.registry import NEGATIVES


@NEGATIVES.register("uniform")
@dataclass(frozen=True)
class Uniform:
    """Every other node is a negative, all with weight 1."""
