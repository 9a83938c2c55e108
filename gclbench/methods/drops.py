"""How views are drawn: which entries and columns they drop, and the settings that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Drops:
    """How one view is drawn.

    Attributes:
        edges: probability of dropping an entry of edge_index, one for all or (E,). columns: a
            feature column, or (F,).
    """

    edges: float | Tensor
    columns: float | Tensor


def check_shapes(method: Any) -> None:
    """Raises ValueError unless a method's `architecture` has a layer, and its `edge_drop` and
    `feature_drop` a value per view."""
    if not method.architecture:
        raise ValueError(
            "architecture needs at least one width, for example method.architecture=[256,128]"
        )
    for name in ("edge_drop", "feature_drop"):
        values = getattr(method, name)
        if len(values) != 2:
            raise ValueError(
                f"{name} needs two probabilities, one per view, for example"
                f" method.{name}=[0.2,0.4]; got {list(values)}"
            )
