"""GRACE+: GRACE with positives and negatives weighted by a fixed similarity (Chi and Ma 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("grace_plus")
@dataclass(frozen=True)
class GracePlus(Grace):
    """GRACE+: GRACE weighted by PageRank and the features' cosines, positives and negatives."""

    negatives: ClassVar[str] = "grace_plus"
    takes_weights: ClassVar[bool] = False  # its strategy reads edges without weights
    takes_sparse: ClassVar[bool] = False  # and cosines of dense features
