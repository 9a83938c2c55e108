"""HomoGCL: rethinking homophily in graph contrastive learning (Li et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("homogcl")
@dataclass(frozen=True)
class HomoGcl(Grace):
    """HomoGCL: GRACE whose positives are neighbours too, as far as their soft clusters agree."""

    negatives: ClassVar[str] = "homogcl"
    takes_weights: ClassVar[bool] = False  # its strategy reads edges without weights
