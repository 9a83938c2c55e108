"""Versions of the components that runs are of, beside those that the code has; which runs count
where others are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gclbench.component.declared import declared
from gclbench.component.registry import KINDS
from gclbench.paper.aggregate import Group
from gclbench.paper.config_defaults import with_younger
from gclbench.records import Record, digest, flatten

PARTS = ("method", "negatives", "filter")
"""Components that have a version. A task's is that of its protocol, which runs never share."""

REDONE = "interrupted"
"""Status of a run that is taken up again; every other run has ended, with a value or without."""


def age(versions: Mapping[str, Any], parts: Sequence[str] = PARTS) -> tuple[tuple[int, str], ...]:
    """Of a spec's versions, larger for newer ones; `10` after `9`."""
    found = [str(versions.get(part, "")) for part in parts]
    return tuple((len(version), version) for version in found)


def newest(groups: Sequence[Group]) -> list[Group]:
    """Those of the newest versions of which a run has ended; of the newest, where none has."""
    left = [group for group in groups if _has_ended(group)] or groups
    ages = [age(group.settings.get("versions", {})) for group in left]
    return [group for group, one in zip(left, ages, strict=True) if one == max(ages)]


def of_newest_versions(groups: Sequence[Group]) -> list[Group]:
    """Of groups that differ in their versions alone, the `newest`; in their order."""
    kept = {group.key for several in alike_but_for_versions(groups) for group in newest(several)}
    return [group for group in groups if group.key in kept]


def alike_but_for_versions(groups: Iterable[Group]) -> list[list[Group]]:
    """The groups, those together that differ in their versions alone."""
    alike: dict[str, list[Group]] = {}
    versions = {f"versions.{part}" for part in PARTS}
    for group in groups:
        settings = with_younger(group.flat)
        rest = {key: value for key, value in settings.items() if key not in versions}
        alike.setdefault(digest(rest), []).append(group)
    return [*alike.values()]


def _has_ended(group: Group) -> bool:
    return any(record.status != REDONE for record in group.records)


def versions_of(group: Group) -> str:
    """What a group is of: `method 1, filter 2`."""
    flat = group.flat
    parts = (f"{part} {flat[key]}" for part in PARTS if (key := f"versions.{part}") in flat)
    return ", ".join(parts)


def others(flat: Mapping[str, Any]) -> list[str]:
    """`progcl_weight 1 (here 2)` for each of our components in flattened settings that the code has
    another version of. It is read from the source, since importing takes seconds."""
    found = []
    for part in PARTS:
        name, version = flat.get(f"{part}.name"), flat.get(f"versions.{part}")
        entry = KINDS[part].entries.get(str(name))
        if version is not None and entry is not None and entry.builtin:
            here = declared(KINDS[part], str(name)).version
            if here != version:
                found.append(f"{name} {version} (here {here})")
    return found


def of_other_versions(records: Sequence[Record]) -> bool:
    """Whether a cell's runs, whose versions are all the same, are of others than the code has."""
    return bool(records) and bool(others(flatten(records[0].spec)))


def recorded_seeds(records: Sequence[Record]) -> set[int]:
    """The seeds of a cell that are not to be run: none where its runs are of other versions than
    the code has."""
    if of_other_versions(records):
        return set()
    return {record.seed for record in records if record.status != REDONE}


def sentence(cells: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Of cells, by name: which of them are of other versions; empty where none is."""
    return told("Runs", ((name, others(flat)) for name, flat in cells))


def told(what: str, cells: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Names with what `others` gave for each, by component; empty where it gave nothing.

    Args:
        what: `Runs`, `Controls`.
    """
    found: dict[str, dict[str, None]] = {}
    for name, older in cells:
        for other in older:
            found.setdefault(other, {})[name] = None
    listed = "; ".join(f"{other}: {', '.join(names)}" for other, names in found.items())
    return f"{what} of other versions than the code has: {listed}." if listed else ""
