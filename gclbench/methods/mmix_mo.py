"""MVGRL+(mo-mix) of M-Mix (papers 001, 002)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.mvgrl import Mvgrl


@METHODS.register("mmix_mo")
@dataclass(frozen=True)
class MmixMo(Mvgrl):
    """M-Mix (mo): MVGRL whose graph view is mixed: similarity-based shares and a fixed one for the node itself."""
