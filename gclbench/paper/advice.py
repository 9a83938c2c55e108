"""What `gclbench compare` tells to type next: commands that run on the graphs that are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from gclbench.component.declared import declared_or_none
from gclbench.component.registry import DATASETS, METHODS
from gclbench.config.composition import items_of_dataset
from gclbench.paper import run_words
from gclbench.paper.aggregate import Group
from gclbench.paper.asked_settings import A_COLLECTION, A_GRAPH, no_runs, origin, stands_for
from gclbench.paper.columns import dataset_departures, typed
from gclbench.paper.config_defaults import (
    can_be_untrained,
    shipped_settings,
    with_younger,
)
from gclbench.paper.table_definition import SEEDS
from gclbench.records import Record

REPEATS = re.compile("; (its|the same) command repeats it$")
"""What the reason of an interrupted run ends with."""


def another(words: tuple[str, ...], registered: str) -> str:
    """Words that differ: the method untrained, or another one where nothing is trained.

    Args:
        registered: under which name the dataset is registered.
    """
    there = stands_for(words, registered)
    if there.get("method.epochs") and can_be_untrained(str(there["method.name"])):
        kept = [word for word in words if not word.startswith("method.epochs=")]
        return f"{shlex.join(kept)} method.epochs=0"
    controls = {"graphs": ("histogram", "graph_statistics"), "nodes": ("kmeans", "dgi")}
    choices = controls[_items(registered)]
    return next(name for name in choices if words[0] != f"method={name}")


def registered_as(dataset: str, groups: Iterable[Group]) -> str:
    """Under which name a dataset is registered: `custom` of a user's own graph."""
    return next((origin(group.flat) for group in groups if group.is_on([dataset])), dataset)


def _items(registered: str) -> str:
    return items_of_dataset(registered) if registered in DATASETS.entries else "nodes"


def unsuited(words: tuple[str, ...], dataset: str, registered: str) -> str | None:
    """Why a side's method has nothing to embed in a dataset, or its words mean nothing there, as a
    sentence; else None."""
    if registered not in DATASETS.entries:
        return None
    items, wanted = _items(registered), stands_for(words, registered)
    if not wanted:
        method = words[0].removeprefix("method=")
        return f"{dataset} has {items}, and {method} has other settings there"
    name = str(wanted["method.name"])
    said = declared_or_none(METHODS, name)
    if said is None:
        return None
    embedded = said.items or ("nodes",)
    if items in embedded:
        return None
    return f"{name} embeds {' and '.join(embedded)}, and {dataset} has {items} to embed"


def shipped_for(group: Group, words: Iterable[tuple[str, ...]]) -> bool:
    """Whether a group's form of a published dataset is what its own method, or that of a side of
    the comparison, is run on without further words."""
    return not dataset_departures(group.flat) or any(of_form(group, side) for side in words)


def of_form(group: Group, words: tuple[str, ...]) -> bool:
    """Whether a group's form of a published dataset is what a side is run on without further
    words."""
    return not dataset_departures({**group.flat, "method.name": _method(words, group)})


def _method(words: tuple[str, ...], group: Group) -> str:
    """The method that a side's words stand for on a group's dataset; the group's where they mean
    nothing there."""
    return str(stands_for(words, origin(group.flat)).get("method.name") or group.name("method"))


def choosing(group: Group, words: tuple[str, ...]) -> tuple[str, ...]:
    """What chooses a group's dataset for a side: its name; besides, the settings of a generated
    graph or of any TU collection, the form of a published dataset that the side's method is not run
    on by itself, or the file of a user's own graph as it was typed for its newest run."""
    flat, name, source = group.flat, group.name("dataset"), origin(group.flat)
    if source != name:
        unknown = (f"dataset={source}", "dataset.path=FILE.npz", f"dataset.name={name}")
        return tuple(run_words.recorded_dataset([group])) or unknown
    said = declared_or_none(DATASETS, name)
    if said is None:
        return tuple(run_words.recorded_dataset([group])) or (f"dataset={name}",)
    usual = {f"dataset.{key}": value for key, value in said.defaults.items()}
    usual |= shipped_settings({**flat, "method.name": _method(words, group)})
    settings = (
        f"{key}={typed(value)}"
        for key, value in with_younger(flat).items()
        if key.startswith("dataset.") and key != "dataset.name"
        if typed(value) != typed(usual.get(key))
    )
    return (f"dataset={name}", *settings)


def not_by_name(group: Group, words: tuple[str, ...]) -> tuple[str, ...]:
    """`choosing`, where a name alone does not choose the dataset; else nothing."""
    chosen = choosing(group, words)
    return chosen if len(chosen) > 1 else ()


def command_of(words: tuple[str, ...], groups: Sequence[Group], seeds: Iterable[int]) -> str:
    """What runs a side on the datasets of some groups, of one task and equal in `not_by_name`."""
    names = ",".join(sorted({group.name("dataset") for group in groups}))
    where = not_by_name(groups[0], words) or (f"dataset={names}",)
    sweep, task = ["-m"] if "," in names else [], run_words.of_task(groups[0].flat)
    typed_words = [*sweep, *words, *where, *task, run_words.of_seeds(seeds)]
    return f"`{run_words.command(typed_words)}`"


def without_runs(
    words: tuple[str, ...],
    text: str,
    groups: Sequence[Group],
    datasets: Sequence[str],
    tasks: Sequence[str],
) -> str:
    """That a side has no runs, which settings of its method are recorded, and what runs it; or why
    nothing would."""
    recorded = {group.name("dataset"): group for group in groups}
    asked = [*datasets] or [*recorded] or [A_GRAPH if stands_for(words, A_GRAPH) else A_COLLECTION]
    recorded |= {name: group for name in datasets for group in groups if group.is_on([name])}
    reasons = {name: unsuited(words, name, registered_as(name, groups)) for name in asked}
    suited = [name for name in asked if reasons[name] is None]
    if not suited:
        told = "; ".join(filter(None, reasons.values()))
        there = "there" if datasets else "on what is recorded"
        return f"'{text}' cannot run {there}: {told}"
    where = f" on {', '.join(datasets)}" if datasets else ""
    where += f" ({', '.join(tasks)})" if tasks else ""
    # Without names, one of the datasets that there are.
    few = suited if datasets else ["cora"] if "cora" in suited else suited[:1]
    return no_runs(words, text, where, groups, _run(words, recorded, few, tasks))


def never_run(
    words: tuple[str, ...], groups: Sequence[Group], datasets: Sequence[str], tasks: Sequence[str]
) -> list[str]:
    """What runs a side on those of the datasets that it can be run on; nothing where there are
    none."""
    recorded = {name: group for name in datasets for group in groups if group.is_on([name])}
    suited = [name for name in datasets if not unsuited(words, name, registered_as(name, groups))]
    return _run(words, recorded, suited, tasks) if suited else []


def _run(
    words: tuple[str, ...],
    recorded: Mapping[str, Group],
    suited: Sequence[str],
    tasks: Sequence[str],
) -> list[str]:
    """What runs a side on datasets that its method takes.

    Args:
        recorded: runs on them, which say what chooses a dataset that a name alone does not.
    """
    special = {name: not_by_name(recorded[name], words) for name in suited if name in recorded}
    named = [name for name in suited if not special.get(name)]
    chosen = [f"dataset={','.join(named)}"] if named else [*special[suited[0]]]
    if tasks:
        chosen.append(f"task={tasks[0]}" if len(tasks) == 1 else f"task=[{','.join(tasks)}]")
    return ["-m"] * (len(named) > 1) + [*words, *chosen, f"seeds={SEEDS}"]


def what_next(records: Sequence[Record]) -> str:
    """Why a run has no value, and what to type: what makes it again where that is worth a try."""
    for record in records:
        if record.command and record.status in ("failed", "interrupted"):
            why = REPEATS.sub("", record.reason).rstrip(".")
            return f"{why}. `{record.command}` repeats it"
    return records[0].reason
