"""A table filled from records: ours beside the printed values, tested and marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gclbench.paper.aggregate import Cell, Group, differences, group_records
from gclbench.paper.columns import Column
from gclbench.paper.reference import OWN_PAPERS, PrintedValue, printed
from gclbench.paper.significance import holm, mark, welch
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, Definition, column_of
from gclbench.records import Record


class NotInTable(LookupError):
    """A dataset or metric that the table does not have; the text lists those it has."""


@dataclass(frozen=True)
class Entry:
    """One cell: ours, the printed value, and how they compare.

    Attributes:
        column: heading. ours: over seeds. printed: None where the paper has no such cell.
        p_value: Welch's t-test after Holm's correction over the whole table, None where nothing could be tested.
        mark: of `significance.mark`, or "".
    """

    dataset: str
    metric: str
    column: str
    ours: Cell
    printed: PrintedValue | None
    p_value: float | None = None
    mark: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, in fractions."""
        if self.ours.mean is None or self.printed is None or self.printed.mean is None:
            return None
        return self.ours.mean - self.printed.mean

    def show_ours(self) -> str:
        """`70.57 ± 1.28 (10) ✓`."""
        return f"{self.ours.show()} {self.mark}".rstrip()

    def show_printed(self) -> str:
        """`70.57 ± 1.28`, empty for a control."""
        return "" if self.printed is None else self.printed.show()


@dataclass(frozen=True)
class Block:
    """The cells of one dataset: `columns` in order of the definition, `entries` by (metric, column)."""

    dataset: str
    columns: tuple[str, ...]
    entries: Mapping[tuple[str, str], Entry]


@dataclass(frozen=True)
class Comparison:
    """A filled table.

    Attributes:
        definition: what it is. metrics: rows shown. blocks: one per dataset shown.
        records: those that its cells are of. collection: all that were read.
        tests: number of tests that Holm's correction was over. notes: sentences on settings and records that are not shown.
    """

    definition: Definition
    metrics: tuple[str, ...]
    blocks: tuple[Block, ...]
    records: tuple[Record, ...]
    collection: Collection
    tests: int
    notes: tuple[str, ...]

    @property
    def entries(self) -> list[Entry]:
        """Every cell shown, by dataset, metric, column."""
        return [block.entries[metric, column] for block in self.blocks for metric in self.metrics for column in block.columns]

    @property
    def commits(self) -> list[str]:
        """Git commits that the records were made with."""
        return sorted({record.environment.get("commit", "unknown") for record in self.records})

    def restrict(self, datasets: Sequence[str] = (), metrics: Sequence[str] = ()) -> Comparison:
        """Some datasets and metrics only; tests and marks stay those of the whole table.

        Raises:
            NotInTable: for one that the table does not have.
        """
        for kind, asked, known in (("dataset", datasets, self.definition.datasets), ("metric", metrics, self.definition.metrics)):
            for name in asked:
                if name not in known:
                    raise NotInTable(f"table {self.definition.id} has no {kind} '{name}'; it has {', '.join(known)}")
        blocks = tuple(block for block in self.blocks if not datasets or block.dataset in datasets)
        shown = {block.dataset for block in blocks}
        return replace(
            self,
            metrics=tuple(metric for metric in self.metrics if not metrics or metric in metrics),
            blocks=blocks,
            records=tuple(record for record in self.records if record.name("dataset") in shown),
            notes=tuple(note for note in self.notes if note.partition(":")[0] in shown),
        )


def compare(definition: Definition, collection: Collection) -> Comparison:
    """Fills a table.

    Settings of one column and dataset that are recorded more than once are never mixed: those with the printed hyper-parameters
    are shown where there are some, else all, each as a column of its own named by what differs; the notes say what is not shown.
    """
    groups = [group for group in group_records(collection.records) if definition.holds(group.settings)]
    blocks: list[tuple[str, list[str], list[Entry]]] = []
    used: list[Record] = []
    notes: list[str] = []
    for dataset in definition.datasets:
        here = [group for group in groups if group.name("dataset") == dataset]
        labels: list[str] = []
        entries: list[Entry] = []
        for column in definition.columns:
            shown, hidden = _choose(column, [group for group in here if column.holds(group.settings)])
            if not shown:
                labels.append(column.label)
                entries += [_entry(definition, dataset, column, column.label, metric, None) for metric in definition.metrics]
            for label, group in shown:
                labels.append(label)
                entries += [_entry(definition, dataset, column, label, metric, group) for metric in definition.metrics]
                used += group.records
                departures = column.departures(group.settings)
                if departures:
                    notes.append(f"{dataset}: {label} was not run at the paper's settings: {', '.join(departures)}.")
            for group in hidden:
                departs = ", ".join(column.departures(group.settings))
                notes.append(
                    f"{dataset}: runs of {column.label} at other settings are not shown ({len(group.records)}): {departs}."
                )
        notes += _outside(dataset, definition, here)
        blocks.append((dataset, labels, entries))
    adjusted = iter(_tested([entry for _, _, entries in blocks for entry in entries]))
    filled = tuple(
        Block(dataset, tuple(labels), {(entry.metric, entry.column): next(adjusted) for entry in entries})
        for dataset, labels, entries in blocks
    )
    tests = sum(entry.p_value is not None for block in filled for entry in block.entries.values())
    return Comparison(definition, definition.metrics, filled, tuple(used), collection, tests, tuple(notes))


def _choose(column: Column, groups: list[Group]) -> tuple[list[tuple[str, Group]], list[Group]]:
    """(the settings to show under their headings, the settings left out)."""
    faithful = [group for group in groups if not column.departures(group.settings)]
    shown = faithful or groups
    hidden = [group for group in groups if group not in shown]
    if len(shown) == 1:
        return [(column.label, shown[0])], hidden
    told_apart = [(f"{column.label} [{what}]", group) for what, group in zip(differences(shown), shown, strict=True)]
    return sorted(told_apart, key=lambda pair: pair[0]), hidden


def _outside(dataset: str, definition: Definition, groups: list[Group]) -> list[str]:
    """Notes on runs of the table's methods at settings that no column is for."""
    methods = {condition.values[0] for column in definition.columns for condition in column.where if condition.key == "method.name"}
    counts: dict[str, int] = {}
    for group in groups:
        if group.name("method") in methods and column_of(group.settings, definition) is None:
            name = f"{group.name('method')} with filter {group.name('filter')}"
            counts[name] = counts.get(name, 0) + len(group.records)
    return [f"{dataset}: {count} runs of {name} are in no column of this table." for name, count in counts.items()]


def _entry(definition: Definition, dataset: str, column: Column, label: str, metric: str, group: Group | None) -> Entry:
    cell = group.cell(metric) if group else Cell()
    return Entry(dataset, metric, label, cell, definition.printed(dataset, column, metric))


def _tested(entries: list[Entry]) -> list[Entry]:
    """The entries with adjusted p-values and marks."""
    raw: list[float | None] = []
    for entry in entries:
        ours, theirs = entry.ours, entry.printed
        if ours.mean is None or theirs is None or theirs.mean is None:
            raw.append(None)
        else:
            raw.append(welch(ours.mean, ours.std, ours.n, theirs.mean, theirs.std, theirs.runs))
    marked = []
    for entry, p_value in zip(entries, holm(raw), strict=True):
        ours, theirs = entry.ours, entry.printed
        sign = ""
        if ours.mean is not None and theirs is not None and theirs.mean is not None:
            sign = mark(entry.metric, ours.mean, theirs.mean, theirs.std, p_value)
        marked.append(replace(entry, p_value=p_value, mark=sign))
    return marked


def printed_beside(settings: Mapping[str, Any], metric: str) -> tuple[PrintedValue | None, list[str]]:
    """The printed value that a run's metric may be held against, the method's own paper first, and how its settings depart from it.

    A value of a table that is defined here stands beside settings of its column only (k-means on filtered features is not the
    paper's KMeans). Only where no such table has the cell, a value of another one stands beside a run of that name on raw
    features with uniform negatives, or at any filter and negatives where the paper is the method's own.
    """
    dataset, method, task = (str(settings[kind]["name"]) for kind in ("dataset", "method", "task"))
    values = [value for value in printed(dataset, method, task, metric, settings["task"].get("protocol")) if value.mean is not None]
    # The two versions of a paper print a cell twice, and a control of the one's column is no run of the other's either.
    defined = [value for value in values if f"{value.paper}/{value.table}" in TABLES]
    for value in defined or values:
        definition = TABLES.get(f"{value.paper}/{value.table}")
        if definition is not None:
            column = column_of(settings, definition)
            if column is not None and (column.method, column.variant) == (value.method, value.variant):
                return value, column.departures(settings)
            continue
        plain = settings["filter"].get("name", "none") == "none" and settings["negatives"].get("name", "uniform") in (
            "uniform",
            "none",
        )
        if plain or value.paper in OWN_PAPERS.get(method, ()):
            return value, []
    return None, []
