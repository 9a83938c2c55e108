"""The table that a run ends with: ours beside the paper's, and what went wrong."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gclbench.config.composition import items_of_tasks
from gclbench.paper.aggregate import Group, differences, group_records
from gclbench.paper.config_defaults import own_negatives
from gclbench.paper.filled_table import DEGENERATE, Entry
from gclbench.paper.fitted import FITTED, fitted_by
from gclbench.paper.floors import Floors
from gclbench.paper.metrics import shown_of
from gclbench.paper.printed_beside import printed_beside, printed_elsewhere
from gclbench.paper.reference import PrintedValue
from gclbench.records import Record

HEADINGS = ("dataset", "method", "task", "metric", "ours (n)", "paper", "difference", "printed in")
RIGHT = ("ours (n)", "paper", "difference")
GROUPED = 3
"""So many headings name a grid of the terminal: dataset, method and task."""

UNWRAPPED = 100_000
"""Characters of a line that is not wrapped."""

ONE_WAY = 0.99
"""Mean cosine of different items from which a training is said to have spread nothing: an encoder
starts there, and may collapse to it."""


@dataclass(frozen=True)
class RunSummary:
    """What a run command prints at its end.

    Attributes:
        entries: the cells, by task, dataset and method. troubles: one line per way in which runs
            ended without a value.
        notes: one line per setting that departs from what the paper prints, or has no printed
            number beside it while others have, or was chosen after the dataset's own labels had
            been seen; and per setting after whose training all items point one way.
    """

    entries: tuple[Entry, ...]
    troubles: tuple[str, ...]
    notes: tuple[str, ...]

    def plain(self) -> str:
        """Aligned text without colours, for files and pipes."""
        file = io.StringIO()
        self.show(Console(file=file, width=UNWRAPPED, color_system=None), together=True)
        return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())

    def show(self, console: Console, together: bool = False) -> None:
        """Prints it.

        Args:
            together: one grid of everything; else one per dataset, method and task, which fits 80
                columns.
        """
        grids: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        first = 0 if together else GROUPED
        for texts in map(row, self.entries):
            grids.setdefault(texts[:first], []).append(texts[first:])
        for head, rows in grids.items():
            console.print(_grid(" · ".join(head), HEADINGS[first:], rows))
        for line in self.troubles:
            console.print(Text(line, style="red"))
        for line in self._said():
            console.print(Text(line, style="dim"))

    def _said(self) -> tuple[str, ...]:
        """What the numbers are, and the notes."""
        if not self.entries:
            return self.notes
        plain = sorted({entry.metric for entry in self.entries if not entry.shown.is_fraction})
        units = "in percent, mean ± standard deviation over n seeds" + (
            f"; {', '.join(plain)}: no percentages" if plain else ""
        )
        return (units, *self.notes)


def row(entry: Entry) -> tuple[str, ...]:
    """Texts under `HEADINGS`; the difference is in points, or in the number's own unit where that
    is no fraction."""
    ours = entry.ours.show(entry.factor) + (f" {DEGENERATE}" if entry.degenerate else "")
    texts = (entry.dataset, entry.column, entry.task, entry.metric, ours)
    if entry.printed is None:
        return (*texts, "", "", "")
    difference = entry.show_difference().replace("−", "-")
    return (*texts, entry.show_printed(), difference, entry.printed.source)


def _grid(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A grid with a title and rules, or of aligned columns alone without a title."""
    grid = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD if title else None,
        padding=(0, 1) if title else (0, 2, 0, 0),
        pad_edge=bool(title),
    )
    for heading in headings:
        grid.add_column(heading, justify="right" if heading in RIGHT else "left")
    for texts in rows:
        grid.add_row(*map(Text, texts))
    return grid


def closing_table(records: Iterable[Record], where: str = "") -> RunSummary:
    """The table that ends a command: a row per dataset, method, task and metric of any records.

    Tasks, datasets, methods and their settings stand in the order in which the records name them.
    Runs at different settings are never averaged: their method is named with what differs.

    Args:
        where: what is typed behind `gclbench show ID` to find the records: ` --runs bad`.
    """
    records = list(records)
    entries: list[Entry] = []
    troubles: list[str] = []
    one_way: dict[tuple[str, tuple[tuple[int, float], ...]], list[str]] = {}
    remarked: dict[tuple[str, str], set[int]] = {}
    collapsed: dict[tuple[str, str], list[int]] = {}
    other: dict[str, PrintedValue] = {}
    floors = Floors()
    notes: list[str] = []
    for label, group in _labelled(_as_given(records)):
        task, dataset = group.name("task"), group.name("dataset")
        recorded = group.metrics()
        departures: list[str] = []
        values: list[PrintedValue | None] = []
        for metric in shown_of(task, recorded):
            value, departs, comparable = printed_beside(group.settings, metric)
            departures = departs or departures
            values.append(value)
            if value is not None and not comparable:
                other[f"{label} · {dataset} · {task}"] = value
            entries.append(
                Entry(
                    dataset,
                    metric,
                    label,
                    group.cell(metric),
                    value,
                    comparable=comparable,
                    task=task,
                    records=group.records,
                )
            )
        if values:
            floors.add(label, group)
        troubles += _troubles(f"{label} · {dataset} · {task}", group, where)
        for text, seed in _collapses(group):
            collapsed.setdefault((f"{label} · {dataset} · {task}", text), []).append(seed)
        if cosines := _one_way(group):
            # Tasks that share an embedding have the same figures, and one line.
            one_way.setdefault((f"{label} · {dataset}", cosines), []).append(task)
        for text, seed in _remarks(group):
            # Tasks that share an embedding have the same remarks, and one line.
            remarked.setdefault((f"{label} · {dataset}", text), set()).add(seed)
        if departures:
            whose = "paper's" if any("(paper:" in text for text in departures) else "shipped"
            notes.append(f"{label} · {dataset}: not the {whose} settings: {', '.join(departures)}")
        names = fitted_by(group.flat, group.records)
        if names and values:
            notes.append(
                f"{label} · {dataset} · {task}: {FITTED} settings chosen after these labels had"
                f" been seen (docs/choices.md): {'; '.join(names)}"
            )
        if values and not any(values) and not departures:
            notes += _elsewhere(f"{label} · {dataset} · {task}", group)
    for (name, text), seeds in remarked.items():
        notes.append(
            f"{name} · seed{'s' * (len(seeds) > 1)} {', '.join(map(str, sorted(seeds)))}: {text}"
        )
    notes += [
        f"{name}: no difference is shown, because the paper's numbers are of another quantity;"
        f" `gclbench table {value.paper}/{value.table}` says what they are"
        for name, value in other.items()
    ]
    notes += [_warning(name, tasks, dict(cosines)) for (name, cosines), tasks in one_way.items()]
    troubles += [
        f"degenerate ×{len(seeds)} {DEGENERATE}: {name} · seed{'s' * (len(seeds) > 1)}"
        f" {', '.join(map(str, seeds))}: {text}"
        for (name, text), seeds in collapsed.items()
    ]
    entries = floors.beside(entries)
    notes += floors.below()
    return RunSummary(tuple(entries), tuple(troubles), tuple(dict.fromkeys(notes)))


def print_closing_table(
    records: Iterable[Record], file: TextIO | None = None, where: str = ""
) -> None:
    """Prints the table that ends a command: rich on a terminal, plain aligned text elsewhere.

    Args:
        file: where to; None is standard output. where: as of `closing_table`.
    """
    target = sys.stdout if file is None else file
    table = closing_table(records, where)
    if target.isatty():
        table.show(Console(file=target))
    else:
        target.write(table.plain())


def _as_given(records: list[Record]) -> list[Group]:
    """The groups of records by task, dataset and method, each in order of the records."""
    kinds = ("task", "dataset", "method")
    ranks: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
    places: dict[str, int] = {}
    for place, record in enumerate(records):
        places.setdefault(record.id, place)
        for kind in kinds:
            ranks[kind].setdefault(record.name(kind), place)
    return sorted(
        group_records(records),
        key=lambda group: (
            *(ranks[kind][group.name(kind)] for kind in kinds),
            min(places[record.id] for record in group.records),
        ),
    )


def _labelled(groups: list[Group]) -> list[tuple[str, Group]]:
    """Every group with its method's name, and what differs where a method has several settings."""
    alike: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        alike.setdefault(
            (group.name("task"), group.name("dataset"), group.name("method")), []
        ).append(group)
    labelled = []
    for (_, _, method), members in alike.items():
        for what, group in zip(differences(members), members, strict=True):
            strategy = group.name("negatives")
            if not what and strategy != own_negatives(method):
                what = f"negatives.name={strategy}"
            labelled.append((f"{method} [{what}]" if what else method, group))
    return labelled


def _troubles(name: str, group: Group, where: str) -> list[str]:
    """One line per status and reason of the runs that are not ok, and where the traceback is."""
    alike: dict[tuple[str, str], list[Record]] = {}
    for record in group.records:
        if not record.ok:
            alike.setdefault((record.status, record.reason), []).append(record)
    return [
        f"{status} ×{len(runs)}: {name} · seed{'s' * (len(runs) > 1)}"
        f" {', '.join(str(run.seed) for run in runs)}{': ' * bool(reason)}{reason}"
        + (f" (the traceback: gclbench show {runs[0].id}{where})" if runs[0].traceback else "")
        for (status, reason), runs in alike.items()
    ]


def _elsewhere(name: str, group: Group) -> list[str]:
    """Which settings the printed number is of, where it is not of these."""
    for metric in group.metrics():
        found = printed_elsewhere(group.settings, metric)
        if found:
            value, overrides = found
            return [f"{name}: the number printed in {value.source} is for {' '.join(overrides)}"]
    return []


def _one_way(group: Group) -> tuple[tuple[int, float], ...]:
    """(seed, mean cosine) of the trainings that ended with all items pointing one way; no label is
    read for it."""
    cosines = {
        record.seed: float(record.fit.get("mean_cosine", 0.0))
        for record in group.records
        if record.ok and record.fit.get("iterations")
    }
    return tuple(sorted((seed, cosine) for seed, cosine in cosines.items() if cosine > ONE_WAY))


def _collapses(group: Group) -> Iterator[tuple[str, int]]:
    """How runs collapsed that came to their end, and the seed."""
    yield from ((text, record.seed) for record in group.records for text in record.degenerate)


def _remarks(group: Group) -> Iterator[tuple[str, int]]:
    """What methods and strategies for negatives remarked on their trainings, and the seed."""
    for record in group.records:
        found = record.fit.get("remarks")
        yield from (
            (text, record.seed)
            for text in (found if isinstance(found, list) else [])
            if isinstance(text, str)
        )


def _warning(name: str, tasks: list[str], cosines: dict[int, float]) -> str:
    """One line on trainings after which all items point one way in what the loss compares."""
    items = items_of_tasks(tasks)
    return (
        f"{name} · {', '.join(tasks)} · seed{'s' * (len(cosines) > 1)}"
        f" {', '.join(map(str, cosines))}: after training all {items} point one way"
        f" (mean cosine {min(cosines.values()):.4f}): too few steps, or collapsed"
    )
