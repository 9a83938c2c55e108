"""Markdown."""

from __future__ import annotations

import re

from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.render.layout import grids, printed_with_difference, text_grids
from gclbench.paper.render.legend import footer

SPECIAL = re.compile(r"([\\|*<>`])")


def markdown(comparison: Comparison, only: str = "") -> str:
    """A document: title, grids, footer.

    Args:
        only: `ours` or `paper`; "" for both, with the difference.
    """
    lines = [f"# {comparison.definition.id}: {comparison.definition.title}", ""]
    for grid in grids(comparison):
        lines += [f"## {grid.title}", ""] if grid.title else []
        lines += [
            _line([*map(_escaped, (*grid.corner, *grid.columns))]),
            _line(["---"] * (len(grid.corner) + len(grid.columns))),
        ]
        lines += [
            _line([*map(_escaped, row.head), *(_cell(entry, only) for entry in row.entries)])
            for row in grid.rows
        ]
        lines.append("")
    for texts in text_grids(comparison, only):
        lines += [f"## {texts.title}", "", _line([*map(_escaped, texts.columns)])]
        lines.append(_line(["---"] * len(texts.columns)))
        lines += [_line([*map(_escaped, row)]) for row in texts.rows]
        lines.append("")
    lines += [f"- {sentence.replace('*', chr(92) + '*')}" for sentence in footer(comparison, only)]
    return "\n".join(lines) + "\n"


def _cell(entry: Entry | None, only: str) -> str:
    if entry is None:
        return ""
    ours = _escaped(entry.show_ours())
    if entry.rank == 1:
        ours = f"**{ours}**"
    elif entry.rank == 2:
        ours = f"<u>{ours}</u>"
    if only == "ours":
        return ours
    if only == "paper":
        return _escaped(entry.show_printed())
    return ours if entry.printed is None else f"{ours} / {_escaped(printed_with_difference(entry))}"


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text.replace("\n", " "))


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
