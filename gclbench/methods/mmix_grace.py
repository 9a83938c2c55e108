"""GRACE+(mp-mix) of the M-Mix paper (KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("mmix_grace")
@dataclass(frozen=True)
class MmixGrace(Grace):
    """M-Mix (mp) on GRACE: one of two corrupted views is mixed, with learned shares.

    The diversity loss is added.
    """
