"""Misses that no note tells of: rows of the papers' tables that are below print in some metric."""

from __future__ import annotations

from collections.abc import Iterable

from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison
from gclbench.paper.summary import printed_cells
from gclbench.paper.verdict import BELOW

Row = tuple[str, str, str]
"""Id of the table, dataset and the column's heading."""


def untold(comparisons: Iterable[Comparison], references: Iterable[str]) -> list[str]:
    """A sentence for each row that is below print and that no reference quotes.

    A row is told of where a number of it is quoted, whatever its metric; a gain over another column
    is none. A paper may print a number twice: rows of the same runs beside the same number are told
    of together. A paper that prints another one's numbers again is left out.

    Args:
        references: of the notes, as `mmix/2; cora; jknet; accuracy`.
    """
    below: dict[Row, list[str]] = {}
    numbers: dict[Row, set[object]] = {}
    metrics: dict[str, set[str]] = {}
    for definition, entry in printed_cells(comparisons):
        if papers()[definition.paper].repeats:
            continue
        row = (definition.id, entry.dataset, entry.heading)
        metrics.setdefault(definition.id, set()).add(entry.metric)
        ours = frozenset(record.id for record in entry.records)
        numbers.setdefault(row, set()).add((ours, entry.metric, entry.show_printed()))
        if entry.verdict == BELOW:
            below.setdefault(row, []).append(entry.metric)
    told = {
        (fields[0], fields[1], fields[2])
        for reference in references
        if len(fields := [" ".join(field.split()) for field in reference.split(";")]) > 3
        and fields[3] in metrics.get(fields[0], ())
    }
    quoted = {number for row in told for number in numbers.get(row, ())}
    return [
        f"no note tells of {table}; {dataset}; {column}, which is below print in"
        f" {', '.join(found)}: say what was tried, with a reference to the cell"
        for (table, dataset, column), found in below.items()
        if quoted.isdisjoint(numbers[table, dataset, column])
    ]
