"""What a filter returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Filtered:
    """Smoothed features and how they came to be.

    Attributes:
        x: N×F float32.
        report: plain values for the record: solver, sweeps, error bound, …
        file: the .npy file that x is mapped from, when it is; it belongs to whoever asked for the
            filter.
    """

    x: Tensor
    report: dict[str, Any] = field(default_factory=dict)
    file: Path | None = None
