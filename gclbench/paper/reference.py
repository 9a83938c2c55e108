"""The numbers that papers print, under this project's names.

`reference.csv` holds those of the papers here, a row per printed cell. Each paper says how its
names are to be read (`publication.Paper`).
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gclbench.machine.messages import counted
from gclbench.paper.discovery import papers, readable
from gclbench.paper.metrics import find_metric
from gclbench.paper.printed_file import Filed, filed
from gclbench.paper.publication import Paper
from gclbench.paper.row_faults import fault as row_fault

log = logging.getLogger(__name__)

ONE, MANY = ("is", "it"), ("are", "them")

CSV = Path(__file__).with_name("reference.csv")

TASK_WORDS = {
    "node clustering": "clustering",
    "node classification": "classification",
    "node classification (ablation)": "classification_ablation",
    "link prediction": "link_prediction",
    "graph classification": "graph_classification",
    "graph classification (ablation)": "graph_classification_ablation",
    "graph edit distance similarity": "similarity",
}
"""What tasks are called in `reference.csv`, whatever the paper."""


@dataclass(frozen=True)
class PrintedValue:
    """One cell of a paper's table.

    Attributes:
        paper, table: name of the paper, and the table's number as printed.
        task, dataset, method, metric: this project's names. variant: which of several printed rows
            of the method.
        protocol: the split of a classification value; None for other tasks.
        mean, std: fractions where the paper prints percent or fractions, else as printed; None
            where nothing is printed or legible.
        scale: how it is printed: `percent`, `fraction`, `seconds` or `none` (a number without unit,
            or no number).
        runs: number of trainings behind the spread; None where the spread is of something else or
            the number is not said. note: a remark on the cell.
        doubtful: the note doubts the cell. text: the mean as printed.
        over_folds: the spread is over the folds of one cross-validation.
        quoted: the paper quotes the row, and does not say what the spread is over.
    """

    paper: str
    table: str
    task: str
    dataset: str
    method: str
    variant: str
    metric: str
    protocol: str | None
    mean: float | None
    std: float | None
    scale: str
    runs: int | None
    note: str
    doubtful: bool
    text: str
    over_folds: bool = False
    quoted: bool = False

    @property
    def unsettled(self) -> str:
        """Why the number is no result to be tested against; "" where it is one."""
        if self.doubtful:
            return "is doubted"
        return "did not converge" if self.note.startswith("asterisk") else ""

    @property
    def source(self) -> str:
        """`dmat Table 1`."""
        return f"{self.paper} Table {self.table}"

    def relative_to(self, base: PrintedValue | None) -> PrintedValue | None:
        """This number divided by another printed one of the same dataset, two decimals, without a
        spread; None where either is missing."""
        if self.mean is None or base is None or not base.mean:
            return None
        ratio = self.mean / base.mean
        return replace(
            self,
            mean=ratio,
            std=None,
            scale="none",
            runs=None,
            text=f"{ratio:.2f}",
            variant=f"per {base.method}",
        )

    def show(self) -> str:
        """As the paper prints it, fractions as percent: `70.57 ± 1.28`, `*` not converged, `(?)`
        doubtful.

        `–` is printed as missing, `?` is not legible in the text we have.
        """
        star, doubt = "*" * self.note.startswith("asterisk"), " (?)" * self.doubtful
        if self.scale == "none" and self.text and self.std is None:
            return f"{star}{self.text}{doubt}"
        if self.mean is None:
            missing = "–" if self.note.startswith("printed as missing") else "?"
            return "OOM" if self.note.startswith("out of memory") else missing
        digits = len(self.text.partition(".")[2])
        factor = 1.0
        if self.scale in ("percent", "fraction"):
            factor = 100.0
            digits = max(digits - 2, 0) if self.scale == "fraction" else digits
        spread = "" if self.std is None else f" ± {factor * self.std:.{digits}f}"
        return f"{star}{factor * self.mean:.{digits}f}{spread}{doubt}"


def printed_values() -> tuple[PrintedValue, ...]:
    """Every printed value, by paper; in the order of its file. Rows of other packages' papers that
    are odd are left out, as `row_faults` says."""
    _warn()
    return _read()[0]


def row_faults() -> Mapping[str, Sequence[str]]:
    """Name of another package's paper to why rows of its printed values are left out: a sentence
    for each, with the place, what exists and the cure."""
    return _read()[1]


@functools.cache
def _warn() -> None:
    """Once in a process; most commands are about something else, so it names no row."""
    for name, found in row_faults().items():
        rows, (are, them) = counted(len(found), "row"), MANY if len(found) > 1 else ONE
        told = f"{rows} of paper '{name}' {are} left out; `gclbench doctor` names {them}"
        log.warning("%s", told)


@functools.cache
def _read() -> tuple[tuple[PrintedValue, ...], Mapping[str, Sequence[str]]]:
    found: list[PrintedValue] = []
    faults: dict[str, list[str]] = {}
    for paper in readable().values():
        if paper.values is None:
            found += [_value(row, paper) for row in rows_of(paper)]
            continue
        places: dict[object, str] = {}
        for each in filed(paper.values):
            value, fault = _own_value(each, paper)
            if value is not None:
                cell = (value.table, value.task, value.dataset, value.metric)
                first = places.setdefault((*cell, value.method, value.variant), each.place)
                if first != each.place:
                    fault = f"it prints the cell of {first} again; take one of the two out"
            if fault or value is None:
                text = f"paper '{paper.name}': {each.place}: {fault.rstrip('.')}"
                faults.setdefault(paper.name, []).append(text)
            else:
                found.append(value)
    return tuple(found), faults


def _own_value(each: Filed, paper: Paper) -> tuple[PrintedValue | None, str]:
    """A row of another package's paper, and why it is left out; "" where it is not."""
    if each.fault:
        return None, each.fault
    try:
        value = _value(each.row, paper)
    except (AttributeError, TypeError, ValueError) as error:
        return None, f"the maps of the paper do not fit it: {error}; docs/papers.md says how"
    fault = row_fault(value, each.row, paper)
    return (None if fault else value), fault


def rows_of(paper: Paper) -> Iterator[Mapping[str, str]]:
    """The rows of a paper's printed values, as they are filed."""
    if paper.values is not None:
        yield from (each.row for each in filed(paper.values))
        return
    yield from (row for row in _rows() if row["paper"] == (paper.key or paper.name))


@functools.cache
def _rows() -> tuple[Mapping[str, str], ...]:
    return tuple(each.row for each in filed(CSV))


def printed(
    dataset: str,
    method: str,
    task: str,
    metric: str,
    protocol: str | None = None,
    *,
    paper: str | None = None,
    table: str | None = None,
) -> list[PrintedValue]:
    """The printed values of one number, the method's own paper first.

    Args:
        dataset, method, task, metric: this project's names.
        protocol: the split of a classification; values under another one are left out. None keeps
            all.
        paper, table: only values of that paper and table.

    Returns:
        Values sorted by: own paper, legible, not doubted, plain or reproduced before quoted; empty
            where nothing is printed.
    """
    found = [
        value
        for value in _by_name().get((dataset, method, task, metric), ())
        if (protocol is None or value.protocol in (None, protocol))
        and paper in (None, value.paper)
        and table in (None, value.table)
    ]
    return sorted(found, key=lambda value: preference(value, method))


def preference(value: PrintedValue, method: str) -> tuple[int, bool, bool, bool, bool, int]:
    """Sorts printed values for runs of a method.

    First those of papers that introduce the method (the version that repeats another one second),
    then the legible, the ones not doubted, those plain or reproduced before those quoted.
    """
    known = papers()
    paper = known[value.paper]
    again = bool(paper.repeats)
    return (
        int(again) if method in paper.introduces else 2,
        value.mean is None,
        value.doubtful,
        value.variant == "as published",
        again,
        -[*known].index(value.paper),
    )


@functools.cache
def printed_settings(paper: str, dataset: str) -> Mapping[str, Any]:
    """The hyper-parameters that a paper prints for a dataset as `{"method.epochs": 300, …}`; empty
    where it prints none."""
    page = papers()[paper]
    settings: dict[str, Any] = {}
    for value in printed_values():
        if (value.paper, value.table, value.dataset) == (paper, page.settings_table, dataset):
            widths = value.metric == "architecture"
            settings[page.settings[value.metric]] = (
                [int(width) for width in value.text.split("-")] if widths else value.mean
            )
    return settings


@functools.cache
def _by_name() -> dict[tuple[str, str, str, str], list[PrintedValue]]:
    found: dict[tuple[str, str, str, str], list[PrintedValue]] = {}
    for value in printed_values():
        found.setdefault((value.dataset, value.method, value.task, value.metric), []).append(value)
    return found


def _value(row: Mapping[str, str], paper: Paper) -> PrintedValue:
    words = {**TASK_WORDS, **paper.tasks}
    task = words.get(row["task"], slug(row["task"]))
    base, _, size = row["dataset"].partition(" n=")
    dataset = paper.datasets.get(slug(base), slug(base))
    method, variant = row_name(row["method"], paper)
    names = paper.metrics.get(row["metric"], {})
    metric = names.get(dataset) or names.get("") or slug(row["metric"])
    metric += f"_n{size}" if size else ""
    note = row.get("note", "")
    scale = _scale(metric, note)
    factor = 0.01 if scale == "percent" else 1.0
    split = paper.protocols.get(dataset, paper.protocol)
    over_folds = method in paper.over_folds.get(row["table"], ())
    quoted = method in paper.quoted.get(row["table"], ())
    runs = paper.runs.get(f"{row['table']} {dataset}", paper.runs.get(row["table"]))
    return PrintedValue(
        paper=paper.name,
        table=row["table"],
        task=task,
        dataset=dataset,
        method=method,
        variant=variant,
        metric=metric,
        protocol=split if task.startswith("classification") else None,
        mean=_number(row["mean"], factor),
        std=_number(row.get("std", ""), factor),
        scale=scale,
        runs=None if over_folds or quoted else runs,
        note=note,
        doubtful="doubtful" in note,
        text=row["mean"],
        over_folds=over_folds,
        quoted=quoted,
    )


def slug(text: str) -> str:
    """Lower case, everything that is no letter or digit one underscore: `IMDB-BINARY` ->
    `imdb_binary`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def row_name(name: str, paper: Paper) -> tuple[str, str]:
    """Our name and variant of a printed row."""
    if name in paper.methods:
        return paper.methods[name]
    base, opened, variant = name.partition(" (")
    plain = base.rstrip("†")
    if opened and variant.endswith(")") and plain in paper.variants:
        return slug(plain), variant[:-1]
    return slug(name), ""


def _scale(metric: str, note: str) -> str:
    """How a number is printed. Only what the catalogue knows to be a fraction is percent."""
    shown = find_metric(metric)
    if not shown.is_fraction or "not a percentage" in note:
        return "seconds" if shown.shown_as == "seconds" else "none"
    return "fraction" if "printed as a fraction" in note else "percent"


def _number(text: str, factor: float) -> float | None:
    try:
        return float(text) * factor
    except ValueError:
        return None
