"""Where runs are of another version of a component than the code has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gclbench.component.registry import KINDS
from gclbench.paper.aggregate import Group

PART = ("method", "negatives", "filter")
"""Components that have a version. A task's is that of its protocol, which runs never share."""


def by_age(group: Group) -> tuple[tuple[int, str], ...]:
    """Larger for newer versions of the method, its strategy and the filter; `10` after `9`."""
    versions = [str(group.flat.get(f"versions.{kind}", "")) for kind in PART]
    return tuple((len(version), version) for version in versions)


def others(flat: Mapping[str, Any]) -> list[str]:
    """`progcl_weight 1 (here 2)` for each component of flattened settings that the code has another
    version of; nothing for one that it does not have."""
    found = []
    for kind in PART:
        name, version = flat.get(f"{kind}.name"), flat.get(f"versions.{kind}")
        if version is None or name not in KINDS[kind].entries:
            continue
        here = getattr(KINDS[kind].load(str(name)), "version", version)
        if here != version:
            found.append(f"{name} {version} (here {here})")
    return found


def sentence(cells: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Of cells, by name: which of them are of other versions; empty where none is."""
    found: dict[str, dict[str, None]] = {}
    for name, flat in cells:
        for other in others(flat):
            found.setdefault(other, {})[name] = None
    told = "; ".join(f"{other}: {', '.join(names)}" for other, names in found.items())
    return f"Runs of other versions than the code has: {told}." if told else ""
