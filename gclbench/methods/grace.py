"""GRACE: graph contrastive representation learning (Zhu et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.two_view import TwoView


@METHODS.register("grace")
@dataclass(frozen=True)
class Grace(TwoView):
    """GRACE: two corrupted views; the same node in both is the positive, others are negatives."""
