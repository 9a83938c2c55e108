"""PHASES: progressive hard negative masking (Sun et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.methods.grace import Grace


@METHODS.register("phases")
@dataclass(frozen=True)
class Phases(Grace):
    """PHASES, our reading of the abstract (no public code): GRACE with hard negatives masked."""

    negatives: ClassVar[str] = "phases"
