"""Which recorded settings a column of a table holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gclbench.paper.aggregate import flatten
from gclbench.paper.reference import printed_settings


@dataclass(frozen=True)
class Condition:
    """One setting must be, or must not be, one of some values.

    Attributes:
        key: as on the command line, `method.epochs`. values: those meant. excluded: they are ruled out rather than asked for.
        default: what a spec without the key counts as.
    """

    key: str
    values: tuple[Any, ...]
    excluded: bool = False
    default: Any = None

    def holds(self, flat: Mapping[str, Any]) -> bool:
        """Whether flattened settings satisfy it."""
        return (flat.get(self.key, self.default) in self.values) != self.excluded


def is_(key: str, *values: Any, default: Any = None) -> Condition:
    """`key` is one of `values`."""
    return Condition(key, values, default=default)


def is_not(key: str, *values: Any, default: Any = None) -> Condition:
    """`key` is none of `values`."""
    return Condition(key, values, excluded=True, default=default)


@dataclass(frozen=True)
class Column:
    """A column: settings of ours, and the printed row they stand beside.

    Attributes:
        label: heading. where: conditions on the spec, all of which hold.
        method, variant: whose printed values stand beside ours; no method for a control of ours.
        tuned: the method's hyper-parameters are printed per dataset (000 Table 8), so that a setting can be held against them.
    """

    label: str
    where: tuple[Condition, ...]
    method: str | None = None
    variant: str = ""
    tuned: bool = False

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether a spec belongs in the column."""
        flat = flatten(settings)
        return all(condition.holds(flat) for condition in self.where)

    def departures(self, settings: Mapping[str, Any]) -> list[str]:
        """Settings that differ from the printed ones: `method.epochs=3 (paper: 300)`; keys that `where` asks for are not compared."""
        if not self.tuned:
            return []
        flat = flatten(settings)
        fixed = {condition.key for condition in self.where if not condition.excluded}
        expected = printed_settings(str(flat["dataset.name"]))
        return [
            f"{key}={_typed(flat[key])} (paper: {_typed(value)})"
            for key, value in expected.items()
            if key in flat and key not in fixed and not _same(flat[key], value)
        ]


def _same(ours: Any, theirs: Any) -> bool:
    return (
        list(ours) == list(theirs)
        if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple))
        else bool(ours == theirs)
    )


def _typed(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_typed(item) for item in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
