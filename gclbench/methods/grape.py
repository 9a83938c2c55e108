"""GRAPE: graph contrastive learning via subspace preserving (Hao et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("grape")
@dataclass(frozen=True)
class GrapeGcl(Grace):
    """GRAPE: GRACE whose negatives count less where embeddings within k hops express each other."""

    negatives: ClassVar[str] = "grape"
    takes_weights: ClassVar[bool] = False  # its strategy reads edges without weights
