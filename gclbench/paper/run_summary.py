"""The table that a run ends with: ours beside the paper's, and what went wrong."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gclbench.paper.aggregate import Cell, Group, differences, group_records
from gclbench.paper.comparison import printed_beside, printed_elsewhere
from gclbench.paper.metrics import OF_TASK, find_metric
from gclbench.paper.reference import PrintedValue
from gclbench.records import Record

HEADINGS = ("dataset", "method", "task", "metric", "ours (n)", "paper", "difference", "printed in")
RIGHT = ("ours (n)", "paper", "difference")

ONE_WAY = 0.99
"""Mean cosine of different nodes from which a training is said to have spread nothing: an encoder
starts there, and may collapse to it."""


@dataclass(frozen=True)
class Row:
    """One number of the closing table; `printed` is None where no paper prints it for these
    settings."""

    dataset: str
    method: str
    task: str
    metric: str
    ours: Cell
    printed: PrintedValue | None

    def cells(self) -> tuple[str, ...]:
        """Texts under `HEADINGS`; the difference is in points, or in the number's own unit where
        that is no fraction."""
        factor = find_metric(self.metric).factor
        texts = (self.dataset, self.method, self.task, self.metric, self.ours.show(factor))
        if self.printed is None:
            return (*texts, "", "", "")
        gap = (
            ""
            if self.ours.mean is None or self.printed.mean is None
            else f"{factor * (self.ours.mean - self.printed.mean):+.2f}"
        )
        return (*texts, self.printed.show(), gap, self.printed.source)


@dataclass(frozen=True)
class ClosingTable:
    """What a run command prints at its end.

    Attributes:
        rows: numbers, by task, dataset and method. troubles: one line per way in which runs ended
            without a value.
        notes: one line per setting that departs from what the paper prints, or has no printed
            number beside it while others have, and per setting after whose training all nodes point
            one way.
    """

    rows: tuple[Row, ...]
    troubles: tuple[str, ...]
    notes: tuple[str, ...]

    def plain(self) -> str:
        """Aligned text without colours, for files and pipes."""
        if not self.rows:
            return "".join(f"{line}\n" for line in self._below())
        table = [HEADINGS, *(row.cells() for row in self.rows)]
        widths = [max(len(cells[place]) for cells in table) for place in range(len(HEADINGS))]
        lines = []
        for cells in table:
            aligned = (
                text.rjust(width) if heading in RIGHT else text.ljust(width)
                for heading, text, width in zip(HEADINGS, cells, widths, strict=True)
            )
            lines.append("  ".join(aligned).rstrip())
        return "".join(f"{line}\n" for line in [*lines, *self._below()])

    def show(self, console: Console) -> None:
        """Prints it with rich, a grid per dataset, method and task, so that it fits 80 columns."""
        for head, rows in itertools.groupby(
            self.rows, key=lambda row: (row.dataset, row.method, row.task)
        ):
            grid = Table(
                title=Text(" · ".join(head), style="bold"),
                title_justify="left",
                box=box.SIMPLE_HEAD,
            )
            for heading in HEADINGS[3:]:
                grid.add_column(heading, justify="right" if heading in RIGHT else "left")
            for row in rows:
                grid.add_row(*(Text(text) for text in row.cells()[3:]))
            console.print(grid)
        for line in self.troubles:
            console.print(Text(line, style="red"))
        for line in self._said():
            console.print(Text(line, style="dim"))

    def _below(self) -> tuple[str, ...]:
        return (*self.troubles, *self._said())

    def _said(self) -> tuple[str, ...]:
        """What the numbers are, and the notes."""
        if not self.rows:
            return self.notes
        plain = sorted({row.metric for row in self.rows if not find_metric(row.metric).is_fraction})
        units = "in percent, mean ± standard deviation over n seeds" + (
            f"; {', '.join(plain)}: no percentages" if plain else ""
        )
        return (units, *self.notes)


def closing_table(records: Iterable[Record]) -> ClosingTable:
    """Records of any runs as a closing table: a row per dataset, method, task and metric.

    Runs at different settings are never averaged: their method is named with what differs.
    """
    rows: list[Row] = []
    troubles: list[str] = []
    one_way: dict[tuple[str, tuple[tuple[int, float], ...]], list[str]] = {}
    remarked: dict[tuple[str, str], set[int]] = {}
    notes: list[str] = []
    for label, group in _labelled(group_records(records)):
        task, dataset = group.name("task"), group.name("dataset")
        recorded = group.metrics()
        departures: list[str] = []
        values: list[PrintedValue | None] = []
        for metric in OF_TASK.get(task, recorded) if recorded else ():
            if metric in recorded:
                value, departs = printed_beside(group.settings, metric)
                departures = departs or departures
                values.append(value)
                rows.append(Row(dataset, label, task, metric, group.cell(metric), value))
        troubles += _troubles(f"{label} · {dataset} · {task}", group)
        if cosines := _one_way(group):
            # Tasks that share an embedding have the same figures, and one line.
            one_way.setdefault((f"{label} · {dataset}", cosines), []).append(task)
        for text, seed in _remarks(group):
            # Tasks that share an embedding have the same remarks, and one line.
            remarked.setdefault((f"{label} · {dataset}", text), set()).add(seed)
        if departures:
            notes.append(f"{label} · {dataset}: not the paper's settings: {', '.join(departures)}")
        elif values and not any(values):
            notes += _elsewhere(f"{label} · {dataset} · {task}", group)
    for (name, text), seeds in remarked.items():
        notes.append(
            f"{name} · seed{'s' * (len(seeds) > 1)} {', '.join(map(str, sorted(seeds)))}: {text}"
        )
    notes += [_warning(name, tasks, dict(cosines)) for (name, cosines), tasks in one_way.items()]
    return ClosingTable(tuple(rows), tuple(troubles), tuple(dict.fromkeys(notes)))


def print_closing_table(records: Iterable[Record], file: TextIO | None = None) -> None:
    """Prints the closing table: rich on a terminal, plain aligned text elsewhere.

    Args:
        file: where to; None is standard output.
    """
    target = sys.stdout if file is None else file
    table = closing_table(records)
    if target.isatty():
        table.show(Console(file=target))
    else:
        target.write(table.plain())


def _labelled(groups: list[Group]) -> list[tuple[str, Group]]:
    """Every group with its method's name, and what differs where a method ran at several settings."""
    alike: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        alike.setdefault(
            (group.name("task"), group.name("dataset"), group.name("method")), []
        ).append(group)
    labelled = []
    for (_, _, method), members in alike.items():
        for what, group in zip(differences(members), members, strict=True):
            labelled.append((f"{method} [{what}]" if what else method, group))
    return labelled


def _troubles(name: str, group: Group) -> list[str]:
    """One line per status and reason of the runs that are not ok, and where the traceback is."""
    alike: dict[tuple[str, str], list[Record]] = {}
    for record in group.records:
        if not record.ok:
            alike.setdefault((record.status, record.reason), []).append(record)
    return [
        f"{status} ×{len(runs)}: {name} · seed{'s' * (len(runs) > 1)}"
        f" {', '.join(str(run.seed) for run in runs)}{': ' * bool(reason)}{reason}"
        + (f" (the traceback: gclbench show {runs[0].id})" if runs[0].traceback else "")
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
    """(seed, mean cosine) of the trainings that ended with all nodes pointing one way; no label is
    read for it."""
    cosines = {
        record.seed: float(record.fit.get("mean_cosine", 0.0))
        for record in group.records
        if record.ok and record.fit.get("iterations")
    }
    return tuple(sorted((seed, cosine) for seed, cosine in cosines.items() if cosine > ONE_WAY))


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
    return (
        f"{name} · {', '.join(tasks)} · seed{'s' * (len(cosines) > 1)}"
        f" {', '.join(map(str, cosines))}: after training, what the loss compares points one way"
        f" for all nodes (mean cosine {min(cosines.values()):.4f}): trained too little, or"
        " collapsed"
    )
