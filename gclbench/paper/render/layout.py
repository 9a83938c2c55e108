"""Where cells stand: the grids of a table, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.paper.filled_table import Block, Comparison, Entry
from gclbench.paper.gains import CONTROLS

NARROW_COLUMNS = 5
"""Up to so many columns, a table is one grid with a row per dataset and metric."""


@dataclass(frozen=True)
class TextGrid:
    """A grid of texts: headings, and rows of as many.

    Attributes:
        heads: so many columns, the first ones, are names.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    heads: int = 1


@dataclass(frozen=True)
class Row:
    """One line: the texts of its head, and its cells, None where there is none."""

    head: tuple[str, ...]
    entries: tuple[Entry | None, ...]


@dataclass(frozen=True)
class Grid:
    """One grid.

    Attributes:
        title: the dataset, where a table has several grids; else "". corner: headings of the rows'
            heads. columns: headings of the cells.
    """

    title: str
    corner: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def grids(comparison: Comparison) -> list[Grid]:
    """One grid for a table of one column (a row per dataset), of few columns (a row per dataset and
    metric) or of one metric (a row per column). Else one per dataset, with a row per column.

    A crossed table has one per dataset and measure, with a row per base.
    """
    blocks, metrics = comparison.blocks, comparison.metrics
    if comparison.definition.crossed:
        return [grid for block in blocks for grid in _crossed(comparison, block)]
    widest = max((len(block.columns) for block in blocks), default=0)
    alike = len({block.columns for block in blocks}) <= 1
    if widest == 1 and alike and len(metrics) > 1 and not comparison.definition.own:
        rows = [
            Row(
                (block.dataset,),
                tuple(block.entries[metric, block.columns[0]] for metric in metrics),
            )
            for block in blocks
        ]
        return [Grid("", ("dataset",), metrics, tuple(rows))]
    if widest <= NARROW_COLUMNS and alike:
        columns = blocks[0].columns if blocks else ()
        rows = [
            Row((block.dataset, metric), tuple(block.entries[metric, column] for column in columns))
            for block in blocks
            for metric in metrics
        ]
        return [Grid("", ("dataset", "metric"), columns, tuple(rows))]
    if len(metrics) == 1:
        rows = [
            Row((label,), tuple(block.entries.get((metrics[0], label)) for block in blocks))
            for label in _labels(comparison)
        ]
        return [Grid("", (metrics[0],), tuple(block.dataset for block in blocks), tuple(rows))]
    return [
        Grid(
            block.dataset,
            (block.dataset,),
            metrics,
            tuple(
                Row((label,), tuple(block.entries[metric, label] for metric in metrics))
                for label in block.columns
            ),
        )
        for block in blocks
    ]


def gain_grid(comparison: Comparison) -> TextGrid | None:
    """The gains of the first metric shown: a row per dataset and column that has one, as far as the
    controls were run; None without one."""
    rows = []
    for entry in comparison.entries:
        gains = {gain.control: gain.show(entry.factor) for gain in entry.gains}
        there = any(gain.settled.n for gain in entry.gains)
        if entry.metric == comparison.metrics[0] and there:
            shown = (gains.get(control, "") for control in CONTROLS)
            rows.append((entry.dataset, f"{entry.column}{entry.signs}", *shown))
    title = f"Gain over controls: {comparison.metrics[0]}" if comparison.metrics else ""
    return TextGrid(title, ("dataset", "column", *CONTROLS), tuple(rows), 2) if rows else None


def text_grids(comparison: Comparison, only: str = "") -> list[TextGrid]:
    """What stands below the cells: the gains, and what added columns are against the others."""
    if only == "paper":
        return []
    gains = gain_grid(comparison)
    return [*([gains] if gains is not None else []), *rival_grids(comparison)]


def rival_grids(comparison: Comparison) -> list[TextGrid]:
    """For each added column its differences to the others in the first metric shown: a row per
    column, and a column per dataset."""
    metric = comparison.metrics[0] if comparison.metrics else ""
    factor = comparison.definition.measure(metric).shown.factor
    shown = {
        (rival.own, rival.column, rival.dataset): rival.show(factor)
        for rival in comparison.rivals
        if rival.metric == metric
    }
    found = []
    for own in dict.fromkeys(own for own, _, _ in shown):
        others = dict.fromkeys(column for each, column, _ in shown if each == own)
        datasets = dict.fromkeys(dataset for each, _, dataset in shown if each == own)
        rows = [
            (column, *(shown.get((own, column, dataset), "") for dataset in datasets))
            for column in others
        ]
        title = f"{own} minus the other columns: {metric}"
        found.append(TextGrid(title, ("column", *datasets), tuple(rows)))
    return found


def _crossed(comparison: Comparison, block: Block) -> list[Grid]:
    """A grid per measure, with a row per base method."""
    rows: dict[str, list[Row]] = {}
    for metric in comparison.metrics:
        measure = comparison.definition.measure(metric)
        if measure.base is not None:
            cells = tuple(block.entries[metric, column] for column in block.columns)
            rows.setdefault(measure.heading, []).append(Row((measure.base.label,), cells))
    return [
        Grid(f"{block.dataset}: {heading}", ("base",), block.columns, tuple(found))
        for heading, found in rows.items()
    ]


def _labels(comparison: Comparison) -> list[str]:
    """All headings once, in order of the definition; settings that only some datasets have stand
    behind their column's own."""
    found = {(entry.heading, entry.column): None for entry in comparison.entries}
    order = {column.label: place for place, column in enumerate(comparison.definition.columns)}
    return [
        label
        for _, label in sorted(
            found, key=lambda pair: (order[pair[0]], pair[0] != pair[1], pair[1])
        )
    ]


def printed_with_difference(entry: Entry) -> str:
    """`70.57 ± 1.28 (−0.12)`."""
    difference = entry.show_difference()
    return f"{entry.show_printed()} ({difference})" if difference else entry.show_printed()
