"""AUGCL: affinity uncertainty-based hard negatives (Niu et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.two_view import TwoView


@METHODS.register("augcl")
@dataclass(frozen=True)
class AugclMethod(TwoView):
    """AUGCL: GRACE, whose negatives are weighted by how uncertain their affinity is.

    The weights apply from half of the training on.
    """
