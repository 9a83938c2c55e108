"""AUGCL: affinity uncertainty-based hard negatives (Niu et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.two_view import TwoView


@METHODS.register("augcl")
@dataclass(frozen=True)
class AugclMethod(TwoView):
    """AUGCL: GRACE whose negatives are weighted by the uncertainty of their affinity.

    The weighting starts after half of the training.
    """

    negatives: ClassVar[str] = "augcl"
    for_graphs: ClassVar[str] = "augcl_graphcl"
