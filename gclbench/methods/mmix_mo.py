"""MVGRL+(mo-mix) of M-Mix (ICLR submission, KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.mvgrl import Mvgrl


@METHODS.register("mmix_mo")
@dataclass(frozen=True)
class MmixMo(Mvgrl):
    """M-Mix (mo): MVGRL whose graph view is mixed with shares that follow similarity.

    The node itself has a fixed share.
    """

    negatives: ClassVar[str] = "mmix"
    # Its strategy reads edges without weights.
    takes_weights: ClassVar[bool | tuple[str, ...]] = False
