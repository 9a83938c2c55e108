"""The papers' tables by id: a table is data; `comparison` fills it, `render` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gclbench.config.suggestion import unknown_id
from gclbench.paper import matrix
from gclbench.paper.columns import Column
from gclbench.paper.discovery import papers
from gclbench.paper.table_definition import Definition

__all__ = ["NOT_BUILT", "TABLES", "Column", "Definition", "UnknownTable", "column_of", "find_table"]

TABLES: dict[str, Definition] = {
    table.id: table for paper in papers().values() for table in paper.tables
}

NOT_BUILT: dict[str, str] = {
    name: why for paper in papers().values() for name, why in paper.not_built.items()
}
"""Printed tables that are not there: id to why. Images (mmix/7) and PPI (mmix/8) are left out
where they stand."""


class UnknownTable(LookupError):
    """No table has this id; the text says why not, or lists those that exist."""


def find_table(name: str, besides: Sequence[str] = ()) -> Definition:
    """The definition with an id.

    Args:
        besides: ids that whoever asks takes, too, for the error.

    Raises:
        UnknownTable: with why it is not built, or with the nearest id and all that exist.
    """
    if name in TABLES:
        return TABLES[name]
    if name == matrix.ID:
        return matrix.table()
    if name in NOT_BUILT:
        raise UnknownTable(f"table {name} is not built: {NOT_BUILT[name]}")
    raise UnknownTable(unknown_id("table", name, [*TABLES, matrix.ID, *besides]))


def column_of(settings: Mapping[str, Any], definition: Definition) -> Column | None:
    """The column of a table that a spec belongs in, None if it is not the table's."""
    if not definition.holds(settings):
        return None
    return next((column for column in definition.columns if column.holds(settings)), None)
