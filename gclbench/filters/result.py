"""What a filter returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Filtered:
    """Smoothed features and how they came to be.

    Attributes:
        x: N×F float32.
        report: plain values for the record: solver, sweeps, error bound, …
    """

    x: Tensor
    report: dict[str, Any] = field(default_factory=dict)
