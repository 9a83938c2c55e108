"""GRACE+(mp-mix) of M-Mix (paper 002)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("mmix_grace")
@dataclass(frozen=True)
class MmixGrace(Grace):
    """M-Mix (mp) on GRACE: two corrupted views, one of which is mixed with learned shares and the diversity loss."""
