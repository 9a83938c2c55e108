"""Tables of the runs that no paper's table shows: one per task, methods × metrics × datasets.

Runs stand in one table where the task and everything that divides its items are the same. A row is
a method with what is not as shipped. A dataset is a graph: two files, or two generated graphs, are
two datasets, told apart by their settings.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gclbench.component.declared import declared_or_none
from gclbench.component.own_files import taken_out
from gclbench.component.registry import DATASETS, did_you_mean
from gclbench.config.suggestion import unknown_id
from gclbench.paper import run_words
from gclbench.paper.aggregate import Group
from gclbench.paper.asked_settings import label_of
from gclbench.paper.columns import SCORED, Column, Condition, is_, typed
from gclbench.paper.comparison import shown_records
from gclbench.paper.component_versions import alike_but_for_versions, recorded_seeds
from gclbench.paper.config_defaults import shipped_settings
from gclbench.paper.filled_table import Comparison, Entry, NotInTable
from gclbench.paper.floors import NAMES
from gclbench.paper.graph_labels import graph_key, graph_labels
from gclbench.paper.metrics import shown_of
from gclbench.paper.missing import refused
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition
from gclbench.paper.tables import TABLES, UnknownTable
from gclbench.records import digest

ID = "own"
TITLE = "runs that are in no paper's table, by task"
NOTHING = "result"
"""Metric of a task of which no run came to one."""


@dataclass(frozen=True)
class OwnRow(Column):
    """The runs of one label; keys: of their groups."""

    keys: frozenset[str] = frozenset()

    def matches(self, flat: Mapping[str, Any]) -> bool:
        """Whether a flattened spec is one of its runs'."""
        return super().matches(flat) and digest(flat) in self.keys

    def departures(self, flat: Mapping[str, Any], asked: Sequence[Condition] = ()) -> list[str]:
        """None: what differs from the shipped settings is in the label."""
        return []


@dataclass(frozen=True)
class OwnTable(Definition):
    """A table of own runs.

    Attributes:
        places: key of a graph to the dataset's label. examples: that label to the dataset as typed.
        called: another name of a user's own graph to the labels of datasets. of_task: the task's
            words, as typed. files: label of a row with a component that is not known here to the
            `--components FILE` of its runs. lost: rows and datasets with such a component of which
            no run names the file.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    called: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_task: tuple[str, ...] = ()
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()

    @property
    def own(self) -> bool:
        """Yes."""
        return True

    def place(self, group: Group) -> str:
        """The label of the graph; "" for one of no own run."""
        return self.places.get(graph_key(group.flat), "")

    def matches(self, flat: Mapping[str, Any]) -> bool:
        """Whether the task is the table's: own runs, and the controls that others brought."""
        return _task_words(flat) == self.of_task

    def typed_dataset(self, dataset: str) -> list[str]:
        """The dataset of a label as typed, `["blocks"]` being `dataset=blocks`, further words
        behind it; nothing for one of `lost`."""
        if dataset in self.lost:
            return []
        words = self.examples.get(dataset, (f"dataset={dataset}",))
        named = [word for word in words if word.startswith("dataset=")]
        rest = [word for word in words if word not in named]
        return [*(word.partition("=")[2] for word in named), *rest]

    def command(self, dataset: str, column: Column) -> str:
        """What makes a cell: `gclbench method=… dataset=… task=…`, without seeds; "" for a floor
        and for what is `lost`."""
        if column.label in NAMES.values() or {column.label, dataset} & self.lost:
            return ""
        words = [*_method_words(column.label, self.task), *self.examples[dataset]]
        return run_words.command([*words, *self.of_task, *self.files.get(column.label, ())])


def own_tables(collection: Collection, shown: Iterable[str] | None = None) -> list[OwnTable]:
    """The tables of the runs that no paper's table shows, by task.

    Args:
        shown: ids of the runs that papers' tables show; None: looked for in all of them.
    """
    if shown is None:
        shown = {
            run
            for definition in TABLES.values()
            if definition.source == "runs"
            for run in shown_records(definition, collection.groups)
        }
    there = {*shown}
    by_task: dict[tuple[str, ...], list[Group]] = {}
    for several in alike_but_for_versions(collection.groups):
        # A table that shows one version says how many runs there are of others.
        if not any(record.id in there for group in several for record in group.records):
            for group in several:
                if not _only_drawn(group):
                    by_task.setdefault(_task_words(group.flat), []).append(group)
    return [_table(words, groups) for words, groups in sorted(by_task.items())]


def find_own(name: str, collection: Collection) -> list[OwnTable]:
    """`own` is all tables of own runs, `own/clustering` one of them.

    Raises:
        UnknownTable: there is no run of one's own, or not of that task; the text says what to type.
    """
    tables = own_tables(collection)
    if not tables:
        read = ", ".join(collection.stores) or "no folder: neither results/ nor runs/ is here"
        raise UnknownTable(
            f"there is no run that no paper's table shows (read: {read}). `gclbench method=grace"
            " dataset=digits task=clustering` makes one"
        )
    found = [table for table in tables if name in (ID, table.id)]
    if not found:
        raise UnknownTable(unknown_id("table", name, [ID, *(table.id for table in tables)]))
    return found


def check_names(
    tables: Sequence[OwnTable],
    datasets: Sequence[str],
    metrics: Sequence[str],
    methods: Sequence[str],
) -> None:
    """Whether some of the tables has each name.

    Raises:
        NotInTable: for one that none has.
    """
    for kind, asked, known in (
        ("dataset", datasets, [name for table in tables for name in _datasets(table)]),
        ("metric", metrics, [name for table in tables for name in table.metrics]),
        ("method", methods, [name for table in tables for name in _methods(table)]),
    ):
        for name in asked:
            if name not in known:
                have = ", ".join(dict.fromkeys(known))
                hint = did_you_mean(name, known=known)
                raise NotInTable(
                    f"no own run shown here has {kind} '{name}'; they have {have}"
                    f"{'.' * bool(hint)}{hint}"
                )


def restricted(
    comparison: Comparison,
    datasets: Sequence[str],
    metrics: Sequence[str],
    methods: Sequence[str],
) -> Comparison | None:
    """Some datasets, metrics and methods only, those that the table has; None where it has none of
    them. A dataset's name stands for all graphs of that name."""
    definition = comparison.definition
    called = definition.called if isinstance(definition, OwnTable) else {}
    wanted = {*datasets, *(label for name in datasets for label in called.get(name, ()))}
    chosen = (
        [name for name in definition.datasets if {name, name.partition(" [")[0]} & wanted],
        [name for name in definition.metrics if name in metrics],
        [
            column.label
            for column in definition.columns
            if {column.label, column.method_name} & {*methods}
        ],
    )
    asked = (datasets, metrics, methods)
    if any(names and not found for names, found in zip(asked, chosen, strict=True)):
        return None
    found = comparison.restrict(*chosen)
    kept = tuple(block for block in found.blocks if block.columns)
    return replace(found, blocks=kept) if kept else None


def _datasets(table: OwnTable) -> list[str]:
    names = [part for name in table.datasets for part in (name.partition(" [")[0], name)]
    return [*names, *table.called]


def _methods(table: OwnTable) -> list[str]:
    return [part for column in table.columns for part in (column.method_name, column.label)]


def missing_runs(comparison: Comparison, seeds: int) -> list[str]:
    """Commands whose runs would give every cell its seeds, but for those whose runs are all
    refused; a run that is recorded counts, whatever its end, unless it was `interrupted` or is of
    another version of a component than the code has.

    Of cells that one command stands for, as of a file that was changed, only that of the newest run
    can still be run.
    """
    newest: dict[str, Entry] = {}
    for entry in comparison.entries:
        if entry.metric == comparison.metrics[0] and entry.command:
            other = newest.setdefault(entry.command, entry)
            if _newest(entry) > _newest(other):
                newest[entry.command] = entry
    lines = [
        f"{command} {shlex.quote(run_words.of_seeds(lacking))}"
        for command, entry in newest.items()
        if (lacking := _lacking(entry, seeds))
    ]
    definition = comparison.definition
    lost = {
        name: None
        for entry in comparison.entries
        if isinstance(definition, OwnTable) and _lacking(entry, seeds)
        for name in (entry.heading, entry.dataset)
        if name in definition.lost
    }
    return lines + [
        f"# {name}: not all of its components are known here, and no run names their file; add"
        " --components FILE.py, or install their package"
        for name in lost
    ]


def _lacking(entry: Entry, seeds: int) -> list[int]:
    """The seeds that a cell lacks; none where another one would be refused, too."""
    found = recorded_seeds(entry.records)
    lacking = [seed for seed in range(seeds) if seed not in found]
    return [] if refused(entry.records) else lacking[: max(0, seeds - len(found))]


def _newest(entry: Entry) -> str:
    """When the newest of a cell's runs was made."""
    return max((record.created for record in entry.records), default="")


def _table(words: tuple[str, ...], groups: Sequence[Group]) -> OwnTable:
    task = groups[0].name("task")
    settings = [word.partition(f"task.{task}.")[2] for word in words[1:]]
    rest = "_".join(text.removeprefix("protocol=") for text in settings)
    recorded = dict.fromkeys(name for group in groups for name in group.metrics())
    metrics = shown_of(task, recorded)
    places = graph_labels(groups)
    rows: dict[str, list[Group]] = {}
    for group in groups:
        rows.setdefault(_label(group), []).append(group)
    of_task = _files(groups) if "task" in run_words.unknown_kinds(groups[0].flat) else []
    files = {
        label: [*_files(several), *of_task] if kinds - {"task"} else of_task
        for label, several in rows.items()
        if (kinds := _unknown(several[0]))
    }
    protocol = groups[0].flat.get("task.protocol")
    labels: dict[str, list[Group]] = {}
    called: dict[str, list[str]] = {}
    for group in groups:
        label = places[graph_key(group.flat)]
        labels.setdefault(label, []).append(group)
        for name in group.called:
            if label not in called.setdefault(name, []):
                called[name].append(label)
    unlike = [text for text in settings if not text.startswith("protocol=")]
    said = ", ".join([*([str(protocol)] if protocol else []), *unlike])
    return OwnTable(
        paper=ID,
        number=f"{task}_{rest}" if rest else task,
        title=f"own runs, {task}{f' ({said})' if said else ''}",
        task=task,
        datasets=tuple(sorted(dict.fromkeys(places.values()))),
        metrics=tuple(metrics or [NOTHING]),
        columns=tuple(
            OwnRow(
                label,
                (is_("method.name", rows[label][0].name("method")),),
                keys=frozenset(digest(group.flat) for group in rows[label]),
            )
            for label in sorted(rows, key=lambda label: (label in NAMES.values(), label))
        ),
        places=places,
        examples={label: _dataset_words(several) for label, several in labels.items()},
        called=called,
        remarks=tuple(
            f"Dataset {label} is also called {name}."
            for name, several in sorted(called.items())
            for label in several
        ),
        of_task=words,
        files=files,
        lost=frozenset(
            [
                *(label for label, named in files.items() if not named),
                *(
                    label
                    for label, several in labels.items()
                    if "dataset" in run_words.unknown_kinds(several[0].flat)
                    and not taken_out(run_words.recorded_dataset(several))[1]
                ),
            ]
        ),
    )


def _only_drawn(group: Group) -> bool:
    """Whether the runs were made for a figure: they are ok and have no metric."""
    return any(record.ok for record in group.records) and not group.metrics()


def _task_words(flat: Mapping[str, Any]) -> tuple[str, ...]:
    """The task as typed, without how hard a task tries, which is a row's."""
    task = flat["task.name"]
    scored = {key.replace("task.", f"task.{task}.", 1) for key in SCORED}
    return tuple(word for word in run_words.of_task(flat) if word.partition("=")[0] not in scored)


def _label(group: Group) -> str:
    """`grace method.tau=0.4 task.normalize=l2`; with components that are not known here, the
    settings that were typed for the newest of its runs."""
    flat = group.flat
    label = label_of(flat)
    if _unknown(group) & {*run_words.CHOSEN}:
        words = run_words.recorded_method(flat, group.records)
        label = shlex.join([group.name("method"), *words[1:]]) if words else label
    return " ".join([label, *_scored(flat)])


def _unknown(group: Group) -> set[str]:
    """Kinds of the components of a row's runs, its task's included, that are not known here."""
    if group.name("method") in NAMES.values():
        return set()  # a floor, which is no component
    return {*run_words.unknown_kinds(group.flat)} - {"dataset"}


def _files(groups: Sequence[Group]) -> list[str]:
    """`--components FILE` of the runs of some groups."""
    return run_words.files_in_common(record for group in groups for record in group.records)


def _scored(flat: Mapping[str, Any]) -> list[str]:
    unusual = (f"task.{text}" for text in run_words.unusual(flat))
    return [text for text in unusual if text.partition("=")[0] in SCORED]


def _method_words(label: str, task: str) -> list[str]:
    """What a row's label stands for, as typed."""
    method, *rest = shlex.split(label)
    return [f"method={method}", *(word.replace("task.", f"task.{task}.", 1) for word in rest)]


def _dataset_words(groups: Sequence[Group]) -> list[str]:
    """The dataset of some groups as typed: `dataset=sbm`, `dataset.nodes=60`; as in the command of
    a run where one is recorded: a file's path is no setting of a run."""
    if words := run_words.recorded_dataset(groups):
        return words
    flat, name = groups[0].flat, groups[0].name("dataset")
    usual: dict[str, Any] = {}
    if said := declared_or_none(DATASETS, name):
        usual = {f"dataset.{key}": value for key, value in said.defaults.items()}
    usual |= shipped_settings(flat)
    return [f"dataset={name}"] + [
        f"{key}={typed(value)}"
        for key, value in flat.items()
        if key.startswith("dataset.") and key != "dataset.name"
        if key not in usual or typed(usual[key]) != typed(value)
    ]
