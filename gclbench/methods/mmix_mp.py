"""MVGRL+(mp-mix) of the M-Mix papers (ICLR submission, KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import METHODS
from gclbench.methods.mvgrl import Mvgrl


@METHODS.register("mmix_mp")
@dataclass(frozen=True)
class MmixMp(Mvgrl):
    """M-Mix (mp): MVGRL whose graph view is mixed, with learned shares and the diversity loss."""
