"""The terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.render.layout import Grid, grids, printed_with_difference, text_grids
from gclbench.paper.render.legend import footer
from gclbench.paper.verdict import ABOVE, AS_PRINTED, BELOW, EQUIVALENT

COLOURS = {EQUIVALENT: "green", AS_PRINTED: "green", ABOVE: "cyan", BELOW: "red"}
RANKS = {1: "bold", 2: "underline"}
CELL = 27
"""Characters that a column of cells takes."""


def terminal(comparison: Comparison, console: Console, only: str = "") -> None:
    """Prints the grids, ours above the paper's; columns that do not fit the width go to a further
    grid.

    Args:
        only: `ours` or `paper`; "" for both.
    """
    console.print(Text(f"{comparison.definition.id}: {comparison.definition.title}", style="bold"))
    for grid in grids(comparison):
        heads = sum(
            max((len(row.head[place]) for row in grid.rows), default=0) + 3
            for place in range(len(grid.corner))
        )
        fitting = max(1, (console.width - heads) // CELL)
        for start in range(0, len(grid.columns), fitting):
            console.print(_table(grid, slice(start, start + fitting), only))
    for texts in text_grids(comparison, only):
        table = Table(title=Text(texts.title), title_justify="left", header_style="bold")
        for place, heading in enumerate(texts.columns):
            table.add_column(Text(heading), justify="left" if place < texts.heads else "right")
        for row in texts.rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for sentence in footer(comparison, only):
        console.print(Text(sentence, style="dim"))


def _table(grid: Grid, places: slice, only: str) -> Table:
    table = Table(
        title=Text(grid.title) if grid.title else None, title_justify="left", header_style="bold"
    )
    for heading in (*grid.corner, *grid.columns[places]):
        table.add_column(Text(heading))
    for row in grid.rows:
        table.add_row(
            *(Text(text) for text in row.head),
            *(_cell(entry, only) for entry in row.entries[places]),
        )
    return table


def _cell(entry: Entry | None, only: str) -> Text:
    if entry is None:
        return Text("")
    ours = Text(
        entry.show_ours(),
        style=f"{COLOURS.get(entry.verdict, '')} {RANKS.get(entry.rank or 0, '')}".strip(),
    )
    if only == "ours":
        return ours
    if only == "paper":
        return Text(entry.show_printed())
    beside = printed_with_difference(entry)
    return ours + Text(f"\n{beside}", style="dim") if beside else ours
