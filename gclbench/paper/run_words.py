"""What is typed to make runs again, or with other settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gclbench.component.declared import declared_or_none
from gclbench.component.own_files import as_typed, taken_out
from gclbench.component.registry import KINDS, METHODS, TASKS
from gclbench.config.composition import all_names, stated_names
from gclbench.config.seeds import spelled
from gclbench.paper.aggregate import Group
from gclbench.paper.columns import typed
from gclbench.paper.config_defaults import shipped_settings, with_younger
from gclbench.records import NAMED_BY_USER, Record

CHOSEN = ("method", "filter", "negatives")


def command(words: Sequence[str], besides: Iterable[str] = ()) -> str:
    """What is typed for these words, `gclbench method=gca seeds=3`; with the user's own files that
    their components come from.

    Args:
        words: may have `--components FILE` anywhere. besides: words of components that the command
            runs without naming them.
    """
    left, places = taken_out(words)
    return shlex.join(["gclbench", *left, *as_typed([*files_of([*left, *besides]), *places])])


def files_of(words: Iterable[str]) -> list[str]:
    """The user's own files that the components named by a command's words come from.

    Args:
        words: `method=a,b`, `mine method.tau=0.4` as behind `--with`, `own`; what names no
            component is left out.
    """
    found: dict[str, None] = {}
    left = [part for text in words for part in text.split()]
    for word in left:  # to which a method adds what it states for itself
        kind, given, value = word.partition("=")
        registry = KINDS.get(kind) if given else METHODS
        for name in (value if given else kind).strip("[]").split(","):
            entry = registry.entries.get(name) if registry is not None else None
            if registry is METHODS and entry is not None and not entry.builtin:
                left += [f"{each}={stated}" for each, stated in stated_names(name).items()]
            if entry is not None and entry.file:
                found[entry.file] = None
    return list(found)


def of_method(flat: Mapping[str, Any]) -> list[str]:
    """Method, filter and strategy of flattened settings, `method=gca`, `method.epochs=0`; what the
    method states and what is shipped are left out."""
    flat = with_younger(flat)  # of these another value than the default may be shipped
    method = str(flat["method.name"])
    usual = all_names({"method": method}) if method in METHODS.entries else {}
    shipped = shipped_settings(flat)
    names = [
        f"{kind}={flat[f'{kind}.name']}"
        for kind in ("filter", "negatives")
        if flat.get(f"{kind}.name", usual.get(kind)) != usual.get(kind)
    ]
    settings = [
        f"{key}={typed(value)}"
        for key, value in flat.items()
        if key.startswith(("method.", "filter.", "negatives.")) and not key.endswith(".name")
        if typed(shipped.get(key, value)) != typed(value)
    ]
    return [f"method={method}", *names, *settings]


def of_task(flat: Mapping[str, Any]) -> list[str]:
    """The task of flattened settings: `task=classification`,
    `task.classification.protocol=public`; settings at their default are left out."""
    name = flat["task.name"]
    return [f"task={name}", *(f"task.{name}.{text}" for text in unusual(flat))]


def unusual(flat: Mapping[str, Any]) -> list[str]:
    """The task's settings that are not at their default: `protocol=public`; all of them of a task
    that is not known here."""
    name = str(flat["task.name"])
    said = declared_or_none(TASKS, name)
    settings = {
        key.removeprefix("task."): value
        for key, value in flat.items()
        if key.startswith("task.") and key != "task.name"
    }
    return [
        f"{key}={typed(value)}"
        for key, value in settings.items()
        if said is None or said.defaults.get(key, value) != value
    ]


def of_dataset(flat: Mapping[str, Any]) -> list[str]:
    """The dataset's settings that are not the shipped ones: `dataset.features=binary`."""
    flat = with_younger(flat)
    return [
        f"{key}={typed(flat[key])}"
        for key, value in shipped_settings(flat).items()
        if key.startswith("dataset.") and key in flat and flat[key] != value
    ]


def recorded_dataset(groups: Sequence[Group]) -> list[str]:
    """The dataset of some groups as it was typed for the newest of their runs that has a command;
    of a graph of several names, for one under the name that it stands under. With `--components
    FILE` where the dataset is not known here. Empty without a command."""
    typed_for = (
        (record.name("dataset") == group.name("dataset"), record.created, record.command)
        for group in groups
        for record in group.records
        if "dataset" in record.command
    )
    *_, newest = max(typed_for, default=("",))
    words, _ = taken_out(shlex.split(newest))
    unknown = bool(groups) and "dataset" in unknown_kinds(groups[0].flat)
    files = files_in_common(record for group in groups for record in group.records)
    return [word for word in words if word.lstrip("+").startswith("dataset")] + files * unknown


def recorded_method(flat: Mapping[str, Any], records: Sequence[Record]) -> list[str]:
    """Method, filter and strategy of flattened settings with what was typed for the newest of these
    runs that has a command; empty without one.

    It is for components that are not known here, of which nobody can tell what is usual."""
    newest = max(((one.created, one.command) for one in records if one.command), default=("", ""))
    if not newest[1]:
        return []
    words, _ = taken_out(shlex.split(newest[1]))
    keys = {word.lstrip("+").partition("=")[0] for word in words}
    names = [kind for kind in CHOSEN if kind == "method" or kind in keys]
    # What does not tell runs apart, as a setting of the machine, is in no record's settings.
    settings = sorted(key for key in keys if key in flat and key.partition(".")[0] in CHOSEN)
    return [
        *(f"{kind}={flat[f'{kind}.name']}" for kind in names),
        *(f"{key}={typed(flat[key])}" for key in settings),
    ]


def files_in_common(records: Iterable[Record]) -> list[str]:
    """`--components FILE` for the files that the commands of all these runs name, so that one of
    them which has to do with something else is left out; where they name none in common, those of
    the newest."""
    commands = sorted((one.created, one.command) for one in records if one.command)
    named = [taken_out(shlex.split(command))[1] for _, command in commands]
    if not named:
        return []
    common = [place for place in named[-1] if all(place in others for others in named)]
    return as_typed(common or named[-1])


def unknown_kinds(flat: Mapping[str, Any]) -> list[str]:
    """Kinds of the components of flattened settings that are not known here, `negatives`: their
    file is not given, or their package not installed."""
    kinds = [kind for kind in (*CHOSEN, "task") if f"{kind}.name" in flat]
    names = {kind: str(flat[f"{kind}.name"]) for kind in kinds}
    names["dataset"] = str(flat.get(f"dataset.{NAMED_BY_USER}", flat["dataset.name"]))
    return [kind for kind, name in names.items() if declared_or_none(KINDS[kind], name) is None]


def of_seeds(seeds: Iterable[int]) -> str:
    """`seeds=10` for 0 to 9, `seeds=3-7`, `seeds=[3,7]`."""
    return f"seeds={spelled(seeds)}"
