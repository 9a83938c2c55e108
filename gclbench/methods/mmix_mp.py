"""MVGRL+(mp-mix) of M-Mix (ICLR submission, KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.mvgrl import Mvgrl


@METHODS.register("mmix_mp")
@dataclass(frozen=True)
class MmixMp(Mvgrl):
    """M-Mix (mp): MVGRL whose graph view is mixed: learned shares and the diversity loss."""

    negatives: ClassVar[str] = "mmix"
    # Its strategy reads edges without weights.
    takes_weights: ClassVar[bool | tuple[str, ...]] = False
