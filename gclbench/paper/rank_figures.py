"""Average ranks of our columns over datasets, with the critical difference (Demšar 2006).

A figure for every table of results with five datasets or more: `ranks/dmat-1` of `dmat/1`. SciPy
and scikit-posthocs do the statistics; both are imported when needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gclbench.paper.aggregate import NOT_RUN
from gclbench.paper.comparison import compare
from gclbench.paper.drawing.panels import FigureContent, PlotPanel, Ranks
from gclbench.paper.figure_definition import Build, Figure
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.significance import LEVEL
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition
from gclbench.paper.tables import TABLES
from gclbench.records import Record

PANELS = 2
"""Metrics at most: the table's first ones."""
DATASETS = 5
COLUMNS = 3
"""With fewer datasets or columns there is nothing to rank."""

Cells = Mapping[str, Mapping[str, Entry]]
"""Column to dataset to cell."""


def figures() -> dict[str, Figure]:
    """The figures of all tables that have one, by id."""
    found = [
        _figure(table)
        for table in TABLES.values()
        if table.compared and table.source == "runs" and len(table.datasets) >= DATASETS
    ]
    return {figure.id: figure for figure in found}


def _figure(table: Definition) -> Figure:
    return Figure(
        id=f"ranks/{table.id.replace('/', '-')}",
        title=f"average ranks: {table.title}",
        says=(
            "Average rank of each column over datasets, 1 the best, from its means over runs; bars"
            " join columns that Nemenyi's test cannot tell apart (CD: critical difference)."
            f" Columns at the paper's settings with values on at least {DATASETS} datasets, none"
            " of them with failed seeds; datasets that all of these have; where those are fewer,"
            " the column that lacks most is left out."
        ),
        datasets=table.datasets,
        of_a_table=True,
        build=_build(table),
        commands=lambda datasets: [
            f"gclbench sweep table={table.id}"
            + (f" dataset={','.join(datasets)}" if tuple(datasets) != table.datasets else "")
        ],
    )


def _build(table: Definition) -> Build:
    def content(collection: Collection, datasets: Sequence[str]) -> FigureContent:
        # Its cells alone: the table's own tests take seconds.
        comparison = compare(replace(table, compared=False), collection)
        known = tuple(name for name in datasets if name in table.datasets)
        if known:
            comparison = comparison.restrict(known)
        ranked = [name for name in table.metrics if table.measure(name).shown.better != "neither"]
        panels: list[PlotPanel] = []
        remarks: list[str] = []
        used: dict[str, Record] = {}
        for metric in ranked[:PANELS]:
            found = _cells(comparison, metric)
            cells, said = blocks(found, comparison)
            panel, told = _panel(metric, table, cells, bool(found))
            panels.append(panel)
            remarks += [f"{metric}: {'; '.join([*told, *said])}."] if told or said else []
            used |= {
                record.id: record
                for row in cells.values()
                for entry in row.values()
                for record in entry.records
            }
        return FigureContent(tuple(panels), tuple(used.values()), remarks=tuple(remarks))

    return content


def _cells(comparison: Comparison, metric: str) -> dict[str, dict[str, Entry]]:
    """The cells that can be ranked: at the paper's settings, no seed failed."""
    found: dict[str, dict[str, Entry]] = {}
    for entry in comparison.entries:
        whole = entry.ours.mean is not None and not entry.ours.absent
        if entry.metric == metric and entry.faithful and whole:
            found.setdefault(entry.column, {})[entry.dataset] = entry
    return found


def blocks(cells: Cells, comparison: Comparison) -> tuple[Cells, list[str]]:
    """Complete blocks, columns that have a value on every dataset left, and what was left out."""
    names = [block.dataset for block in comparison.blocks]
    kept = {column: row for column, row in cells.items() if len(row) >= DATASETS}
    said = [f"{column} ({len(row)})" for column, row in cells.items() if column not in kept]

    def shared() -> list[str]:
        return [name for name in names if all(name in row for row in kept.values())]

    while len(shared()) < DATASETS and len(kept) >= COLUMNS:
        least = min(reversed(kept), key=lambda column: len(kept[column]))
        said.append(f"{least} ({len(kept.pop(least))})")
    there = shared() if kept else []
    missing = [
        name for name in names if name not in there and any(name in row for row in kept.values())
    ]
    remarks = [f"left out for their number of datasets are {', '.join(said)}"] if said else []
    remarks += [f"not all columns have {', '.join(missing)}"] if missing else []
    return {column: {name: row[name] for name in there} for column, row in kept.items()}, remarks


def _panel(metric: str, table: Definition, cells: Cells, ran: bool) -> tuple[PlotPanel, list[str]]:
    """The panel, and what the caption says of its test."""
    shown = table.measure(metric).shown
    count = len(next(iter(cells.values()), {}))
    if len(cells) < COLUMNS or count < DATASETS:
        why = f"fewer than {COLUMNS} columns have {DATASETS} datasets in common"
        return PlotPanel(shown.heading, missing=why if ran else NOT_RUN), []
    sign = 1 if shown.lower_is_better else -1
    losses = {
        column: [sign * (entry.ours.mean or 0.0) for entry in row.values()]
        for column, row in cells.items()
    }
    ranks, p_value = average_ranks(losses)
    told = f"{len(cells)} columns on {count} datasets, Friedman's p = {p_value:.2g}"
    return PlotPanel(f"{shown.heading}, {count} datasets", ranks=ranks), [
        f"{told}, critical difference {ranks.critical:.2f} (Nemenyi, level {LEVEL:g})"
    ]


def average_ranks(losses: Mapping[str, Sequence[float]]) -> tuple[Ranks, float]:
    """Average ranks with Nemenyi's test, and Friedman's p-value.

    Args:
        losses: column to its values over the same datasets, less is better; three columns or more.
    """
    import pandas
    from scikit_posthocs import posthoc_nemenyi_friedman
    from scipy.stats import friedmanchisquare, studentized_range

    table = pandas.DataFrame(losses)
    count, columns = table.shape
    p_values = posthoc_nemenyi_friedman(table.to_numpy()).to_numpy()
    quantile = studentized_range.ppf(1 - LEVEL, columns, math.inf) / math.sqrt(2)
    return (
        Ranks(
            tuple(losses),
            tuple(float(rank) for rank in table.rank(axis=1).mean()),
            tuple(tuple(float(value) for value in row) for row in p_values),
            float(quantile * math.sqrt(columns * (columns + 1) / (6 * count))),
        ),
        float(friedmanchisquare(*table.to_numpy().T).pvalue),
    )
