"""GRACE+(mp-mix) of M-Mix (KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("mmix_grace")
@dataclass(frozen=True)
class MmixGrace(Grace):
    """M-Mix (mp) on GRACE: one of two corrupted views is mixed.

    The shares are learned, with the diversity loss.
    """

    negatives: ClassVar[str] = "mmix"
    takes_weights: ClassVar[bool] = False  # its strategy reads edges without weights
