"""HTML: tables without a page around them."""

from __future__ import annotations

from html import escape

from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.render.layout import Row, grids, printed_with_difference, text_grids
from gclbench.paper.render.legend import footer


def html(comparison: Comparison, only: str = "") -> str:
    """A `<section>` with a `<table>` per grid and the footer as a list; no styles, scripts or ids.

    Args:
        only: `ours` or `paper`; "" for both, with the difference.
    """
    definition = comparison.definition
    lines = [
        '<section class="gclbench-table">',
        f"<h2>{escape(f'{definition.id}: {definition.title}')}</h2>",
    ]
    for grid in grids(comparison):
        caption = f"{definition.id}, {grid.title}" if grid.title else definition.id
        lines += ["<table>", f"<caption>{escape(caption)}</caption>", "<thead><tr>"]
        lines += [
            f'<th scope="col">{escape(heading)}</th>' for heading in (*grid.corner, *grid.columns)
        ]
        lines += [
            "</tr></thead>",
            "<tbody>",
            *(_row(row, only) for row in grid.rows),
            "</tbody>",
            "</table>",
        ]
    for texts in text_grids(comparison, only):
        lines += ["<table>", f"<caption>{escape(texts.title)}</caption>", "<thead><tr>"]
        lines += [f'<th scope="col">{escape(heading)}</th>' for heading in texts.columns]
        lines += ["</tr></thead>", "<tbody>"]
        lines += [
            f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in texts.rows
        ]
        lines += ["</tbody>", "</table>"]
    lines += [
        "<ul>",
        *(f"<li>{escape(sentence)}</li>" for sentence in footer(comparison, only)),
        "</ul>",
        "</section>",
    ]
    return "\n".join(lines) + "\n"


def _row(row: Row, only: str) -> str:
    heads = "".join(f'<th scope="row">{escape(text)}</th>' for text in row.head)
    return f"<tr>{heads}{''.join(f'<td>{_cell(entry, only)}</td>' for entry in row.entries)}</tr>"


def _cell(entry: Entry | None, only: str) -> str:
    if entry is None:
        return ""
    ours = escape(entry.show_ours())
    ours = (
        f"<strong>{ours}</strong>"
        if entry.rank == 1
        else f"<u>{ours}</u>"
        if entry.rank == 2
        else ours
    )
    if only == "ours":
        return ours
    if only == "paper":
        return escape(entry.show_printed())
    return ours if entry.printed is None else f"{ours}<br>{escape(printed_with_difference(entry))}"
