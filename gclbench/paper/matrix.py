"""Base method × strategy for negatives: accuracy, clustering, seconds and memory.

No paper prints one.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gclbench.component.registry import NEGATIVES
from gclbench.paper.aggregate import Cell, Group, differences
from gclbench.paper.columns import GNNBP, RAW, TRAINED, Column, is_
from gclbench.paper.measure import Measure, fit_seconds, peak_memory
from gclbench.paper.sources import Collection
from gclbench.records import Record

ID = "matrix"
TITLE = (
    "base method × strategy for negatives: accuracy, NMI, seconds, memory; no paper prints these"
)

BASES = (
    Column("grace", (is_("method.name", "grace"), RAW, TRAINED)),
    Column("gca", (is_("method.name", "gca"), RAW, TRAINED)),
    # A fixed number of steps, GRACE's on Cora: a strategy whose loss changes its meaning on the way
    # knows no lowest loss to stop at, and without augmentation this objective overtrains long
    # before 3,000 (results/NOTES.md).
    Column(
        "mvgrl (nodes, 200 steps)",
        (
            is_("method.name", "mvgrl"),
            is_("method.objective", "nodes"),
            is_("method.epochs", 200),
            is_("method.patience", 0),
            RAW,
        ),
    ),
    Column(
        "mvgrl (summary)",
        (is_("method.name", "mvgrl"), is_("method.objective", "summary"), RAW, TRAINED),
    ),
    Column("dmat_i", (is_("method.name", "dmat_i"), GNNBP, TRAINED)),
    Column("dgi", (is_("method.name", "dgi"), RAW, TRAINED)),
    Column("bgrl", (is_("method.name", "bgrl"), RAW, TRAINED)),
    Column("cca_ssg", (is_("method.name", "cca_ssg"), RAW, TRAINED)),
)


@dataclass(frozen=True)
class Grid(Measure):
    """One grid of the table.

    Attributes:
        name: heading. task: whose records.
    """

    name: str = ""
    task: str = ""


MEASURES = (
    Grid("accuracy", name="accuracy (10/10/80), %", task="classification"),
    Grid("nmi", name="NMI of k-means, %", task="clustering"),
    Grid("seconds", fit_seconds, name="seconds of training", task="classification"),
    Grid(
        "memory",
        peak_memory,
        name="peak memory of the process (on a GPU: allocated there), GiB",
        task="classification",
    ),
)


@dataclass(frozen=True)
class Field:
    """A base and a strategy on one dataset: a cell per setting that was recorded, with what tells
    the settings apart.

    Attributes:
        shipped: runs at the shipped settings of the base and the dataset are recorded; else those
            at others are shown.
    """

    dataset: str
    measure: Grid
    base: str
    strategy: str
    cells: tuple[tuple[str, Cell], ...]
    shipped: bool

    def show(self) -> str:
        """Settings that differ stand side by side, never averaged."""
        if not self.cells:
            return Cell().show()
        return "; ".join(
            f"{cell.show(self.measure.shown.factor)}{f' [{what}]' if what else ''}"
            for what, cell in self.cells
        )


def strategies() -> list[str]:
    """Every strategy, the plain one first."""
    return sorted(NEGATIVES.names(), key=lambda name: (name != "uniform", name))


def fields(collection: Collection, datasets: Sequence[str]) -> tuple[list[Field], list[Record]]:
    """The matrix of each dataset by measure, base and strategy, and the records that are in it."""
    groups = collection.groups
    found: list[Field] = []
    used: dict[str, Record] = {}
    for dataset in datasets:
        for measure in MEASURES:
            here = [
                group
                for group in groups
                if (group.name("task"), group.name("dataset")) == (measure.task, dataset)
            ]
            if measure.task == "classification":
                here = [
                    group
                    for group in here
                    if group.settings["task"].get("protocol") == "random_10_10_80"
                ]
            for base in BASES:
                for strategy in strategies():
                    chosen, shipped = _shown(
                        base, [group for group in here if group.name("negatives") == strategy]
                    )
                    told_apart = sorted(
                        zip(differences(chosen), chosen, strict=True), key=lambda pair: pair[0]
                    )
                    cells = tuple((what, measure.cell(group)) for what, group in told_apart)
                    found.append(Field(dataset, measure, base.label, strategy, cells, shipped))
                    used.update({record.id: record for group in chosen for record in group.records})
    return found, list(used.values())


def _shown(base: Column, groups: Sequence[Group]) -> tuple[list[Group], bool]:
    """A base method's groups at its shipped settings (the strategy's are not looked at), and True;
    where there are none, all of them."""
    held = [group for group in groups if base.matches(group.flat)]
    shipped = [
        group
        for group in held
        if all(text.startswith("negatives.") for text in base.departures(group.flat))
    ]
    return shipped or held, bool(shipped)


def command(base: str, negatives: Sequence[str], datasets: Sequence[str], seeds: int) -> str:
    """What runs a base method with strategies on datasets."""
    column = next(item for item in BASES if item.label == base)
    settings = [
        f"{item.key}={item.values[0]}"
        for item in column.where
        if item.key.startswith("method.") and not item.excluded
    ]
    words = [text.replace("method.name=", "method=") for text in settings]
    words += [
        f"negatives={','.join(negatives)}",
        f"dataset={','.join(datasets)}",
        "task=[classification,clustering]",
        f"seeds={seeds}",
    ]
    return " ".join(map(shlex.quote, ["gclbench", "-m", *words]))


def commands(
    collection: Collection, datasets: Sequence[str], seeds: int, all_cells: bool
) -> list[str]:
    """One line per base method, dataset and set of strategies: of every cell, or of those with
    fewer runs than seeds, whatever
    their end, that no method refused to run.

    Runs at other settings than the shipped ones do not count.
    """
    lacking: dict[tuple[str, str], set[str]] = {}
    found = fields(collection, datasets)[0]
    # What a method refuses to run it refuses for every seed and task.
    refused = {
        (item.base, item.dataset, item.strategy)
        for item in found
        for _, cell in item.cells
        if "unsupported" in cell.statuses
    }
    for item in found:
        recorded = max((cell.n + sum(cell.statuses.values()) for _, cell in item.cells), default=0)
        wanted = (item.base, item.dataset, item.strategy) not in refused and (
            not item.shipped or recorded < seeds
        )
        if all_cells or wanted:
            lacking.setdefault((item.base, item.dataset), set()).add(item.strategy)
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (base, dataset), names in lacking.items():
        merged.setdefault((base, tuple(name for name in strategies() if name in names)), []).append(
            dataset
        )
    return [command(base, names, where, seeds) for (base, names), where in merged.items()]


def markdown(collection: Collection, datasets: Sequence[str]) -> str:
    """A grid per dataset and measure: a row per base method, a column per strategy."""
    found, used = fields(collection, datasets)
    lines = [f"# {ID}: {TITLE}", ""]
    for dataset in datasets:
        lines += [f"## {dataset}", ""]
        for measure in MEASURES:
            lines += [
                f"### {measure.name}",
                "",
                _row(["base", *strategies()]),
                _row(["---"] * (len(strategies()) + 1)),
            ]
            for base in BASES:
                shown = [
                    item
                    for item in found
                    if (item.dataset, item.measure, item.base) == (dataset, measure, base.label)
                ]
                lines.append(_row([base.label, *(item.show() for item in shown)]))
            lines.append("")
    commits = sorted({record.environment.get("commit", "unknown") for record in used})
    where = ", ".join(collection.stores) or "no folder; there is neither results/ nor runs/ here"
    lines += [
        (
            "- mean ± standard deviation (ddof=1) over runs (number of runs; runs without a value"
            " by status)."
        ),
        (
            "- Where runs at a base method's shipped settings are recorded, those at others are not"
            " shown; several settings of a strategy stand side by side."
        ),
        (
            "- mvgrl (nodes, 200 steps): GRACE's number of steps on Cora, no early stop"
            " (docs/choices.md)."
        ),
        (
            "- unsupported: the method contrasts no pairs of nodes that a strategy could weight;"
            " the record says why."
        ),
        (
            "- Seconds and memory are of the machine in the records; compare them within a row or"
            " column only."
        ),
        f"- Records: {len(used)} (read: {where})."
        + (f" Commits: {', '.join(commits)}." if commits else ""),
    ]
    return "\n".join(lines) + "\n"


def as_csv(collection: Collection, datasets: Sequence[str]) -> str:
    """One line per base, strategy, measure and recorded setting."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["dataset", "measure", "base", "negatives", "setting", "mean", "std", "n", "without_value"]
    )
    for item in fields(collection, datasets)[0]:
        for what, cell in item.cells or (("", Cell()),):
            mean, std = ("" if value is None else f"{value:.6g}" for value in (cell.mean, cell.std))
            writer.writerow(
                [
                    item.dataset,
                    item.measure.name,
                    item.base,
                    item.strategy,
                    what,
                    mean,
                    std,
                    cell.n,
                    cell.show_absent(),
                ]
            )
    return file.getvalue()


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"
