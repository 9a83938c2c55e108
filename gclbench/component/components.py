"""The components of a run, bound to their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Components:
    """What an experiment is made of: one instance per kind, and the chosen tasks by name.

    Instances are typed `Any`: packages outside register their own. `registry` says which parts a
    component of each kind has (`METHODS`: version, needs_labels, fit).
    """

    dataset: Any
    filter: Any
    method: Any
    negatives: Any
    tasks: Mapping[str, Any] = field(default_factory=dict)
