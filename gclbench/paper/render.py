"""A filled table as markdown, for the terminal, and as CSV. The same records give the same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gclbench.paper.comparison import Block, Comparison, Entry
from gclbench.paper.significance import BETTER, LEVEL, WITHIN, WORSE

NARROW_COLUMNS = 5
"""Up to so many columns, a table is one grid with ours and the paper's in one cell."""

CSV_FIELDS = "table,dataset,metric,column,ours_mean,ours_std,n,without_value,paper_mean,paper_std,paper_runs,paper_note,difference,p_holm,mark"


def markdown(comparison: Comparison) -> str:
    """A document: title, grids, footer. Wide tables have a grid per dataset with two lines, ours and the paper's, per metric."""
    lines = [f"# {comparison.definition.id}: {comparison.definition.title}", ""]
    widest = max((len(block.columns) for block in comparison.blocks), default=0)
    if widest <= NARROW_COLUMNS and len({block.columns for block in comparison.blocks}) <= 1:
        lines += _narrow(comparison)
    else:
        for block in comparison.blocks:
            lines += [f"## {block.dataset}", "", *_wide(comparison, block), ""]
    lines += ["", *(f"- {sentence}" for sentence in footer(comparison))]
    return "\n".join(_squeezed(lines)) + "\n"


def _narrow(comparison: Comparison) -> Iterator[str]:
    columns = comparison.blocks[0].columns if comparison.blocks else ()
    yield _row(["dataset", "metric", *columns])
    yield _row(["---"] * (len(columns) + 2))
    for block in comparison.blocks:
        for metric in comparison.metrics:
            entries = [block.entries[metric, column] for column in columns]
            yield _row([block.dataset, metric, *(_both(entry) for entry in entries)])
    yield ""


def _wide(comparison: Comparison, block: Block) -> Iterator[str]:
    yield _row(["metric", "", *block.columns])
    yield _row(["---"] * (len(block.columns) + 2))
    for metric in comparison.metrics:
        entries = [block.entries[metric, column] for column in block.columns]
        yield _row([metric, "ours", *(entry.show_ours() for entry in entries)])
        yield _row(["", "paper", *(entry.show_printed() for entry in entries)])


def _both(entry: Entry) -> str:
    return f"{entry.show_ours()} / {entry.show_printed()}" if entry.printed is not None else entry.show_ours()


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"


def _squeezed(lines: list[str]) -> Iterator[str]:
    """The lines without a second empty one in a row."""
    previous = ""
    for line in lines:
        if line or previous:
            yield line
        previous = line


def footer(comparison: Comparison) -> list[str]:
    """Sentences under a table: units, legend, test, which records."""
    definition = comparison.definition
    sentences = [
        "ours: mean ± standard deviation (ddof=1) over runs (number of runs; runs without a value by status), in percent. paper: as printed.",
        f"{WITHIN} within the larger of the paper's std and one point, or better; {BETTER} significantly better; {WORSE} significantly worse "
        "and not within; no mark: not within, but not significantly so or not testable. No mark without a printed value.",
        f"Test: two-sided Welch t-test, Holm-corrected over the {comparison.tests} tested cells of the whole table, level {LEVEL:g}."
        + (" The paper does not state its number of runs; ten are assumed." if definition.runs_assumed else ""),
        "– printed as missing (out of GPU memory unless the paper says otherwise); ? not legible; * not converged, says the paper; (?) doubtful.",
        *definition.remarks,
        *comparison.notes,
    ]
    if not comparison.records:
        where = ", ".join(comparison.collection.stores) or "no folder; there is neither results/ nor runs/ here"
        return [*sentences, f"Records: none for this table (read: {where})."]
    stores = ", ".join(
        f"{count} of {store}" for store, count in sorted(comparison.collection.per_store(comparison.records).items())
    )
    return [*sentences, f"Records: {len(comparison.records)} ({stores}). Commits: {', '.join(comparison.commits)}."]


def as_csv(comparison: Comparison) -> str:
    """One line per cell, numbers as fractions."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_FIELDS.split(","))
    for entry in comparison.entries:
        ours, theirs = entry.ours, entry.printed
        values: list[Any] = [comparison.definition.id, entry.dataset, entry.metric, entry.column]
        values += [_number(ours.mean), _number(ours.std), ours.n, ours.show_absent()]
        values += [_number(theirs.mean), _number(theirs.std), theirs.runs or "", theirs.note] if theirs else [""] * 4
        values += [_number(entry.difference), "" if entry.p_value is None else f"{entry.p_value:.4g}", entry.mark]
        writer.writerow(values)
    return file.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def terminal(comparison: Comparison, console: Console) -> None:
    """Prints one grid per dataset, a row per column of the table; metrics that do not fit the width go to a further grid."""
    fitting = max(1, (console.width - 28) // 25)
    console.print(Text(f"{comparison.definition.id}: {comparison.definition.title}", style="bold"))
    for block in comparison.blocks:
        for start in range(0, len(comparison.metrics), fitting):
            console.print(_grid(block, comparison.metrics[start : start + fitting]))
    for sentence in footer(comparison):
        console.print(Text(sentence, style="dim"))


COLOURS = {BETTER: "green", WITHIN: "green", WORSE: "red", "": ""}


def _grid(block: Block, metrics: tuple[str, ...]) -> Table:
    grid = Table(title=Text(block.dataset), title_justify="left", header_style="bold")
    grid.add_column("ours / paper")
    for metric in metrics:
        grid.add_column(metric)
    for column in block.columns:
        cells = []
        for metric in metrics:
            entry = block.entries[metric, column]
            cells.append(Text(entry.show_ours(), style=COLOURS[entry.mark]) + Text(f"\n{entry.show_printed()}", style="dim"))
        grid.add_row(Text(column), *cells)
    return grid
