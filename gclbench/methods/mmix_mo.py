"""MVGRL+(mo-mix) of the M-Mix papers (ICLR submission, KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.mvgrl import Mvgrl


@METHODS.register("mmix_mo")
@dataclass(frozen=True)
class MmixMo(Mvgrl):
    """M-Mix (mo): MVGRL whose graph view is mixed, with shares by similarity.

    The node itself has a fixed share.
    """
