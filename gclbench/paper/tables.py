"""The papers' tables by id: a table is data; `comparison` fills it, `render` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gclbench.config.suggestion import unknown_id
from gclbench.paper.columns import Column
from gclbench.paper.matrix import ID as MATRIX
from gclbench.paper.papers.contrast import STRATEGY_TABLES
from gclbench.paper.papers.contrastive_columns import FAMILY_TABLES
from gclbench.paper.papers.dmat import DMAT_TABLES
from gclbench.paper.papers.mmix import ICLR_TABLES, KDD_TABLES
from gclbench.paper.papers.nml import NML_TABLES
from gclbench.paper.table_definition import Definition

__all__ = ["NOT_BUILT", "TABLES", "Column", "Definition", "UnknownTable", "column_of", "find_table"]

TABLES: dict[str, Definition] = {
    table.id: table
    for table in (
        *DMAT_TABLES,
        *KDD_TABLES,
        *ICLR_TABLES,
        *NML_TABLES,
        *FAMILY_TABLES,
        *STRATEGY_TABLES,
    )
}

NOT_BUILT: dict[str, str] = {
    "dmat/6": "complexities: no numbers that runs could give",
    "dmat/9": "addresses of code: no numbers",
    "mmix/3": "graph classification: there is no such task, and none of its datasets",
    "mmix/4": "objectives on graph classification: there is no such task",
    "mmix/10": (
        "similarity under graph edit distance on COIL-DEL: there is no such task, nor the dataset"
    ),
    "mmix_iclr/2": "graph classification: there is no such task (mmix/3)",
    "mmix_iclr/6": "similarity under graph edit distance: there is no such task (mmix/10)",
    "mmix_iclr/7": "datasets: mmix/1 shows them",
    "mmix_iclr/9": "objectives on graph classification: there is no such task (mmix/4)",
}
"""Tables of papers 000 to 003 that are not there: id to why. Image columns of mmix/7 and PPI's of
mmix/8 are left out where they stand."""


class UnknownTable(LookupError):
    """No table has this id; the text says why not, or lists those that exist."""


def find_table(name: str) -> Definition:
    """The definition with an id.

    Raises:
        UnknownTable: with why it is not built, or with the nearest id and all that exist.
    """
    if name in TABLES:
        return TABLES[name]
    if name in NOT_BUILT:
        raise UnknownTable(f"table {name} is not built: {NOT_BUILT[name]}")
    raise UnknownTable(unknown_id("table", name, [*TABLES, MATRIX]))


def column_of(settings: Mapping[str, Any], definition: Definition) -> Column | None:
    """The column of a table that a spec belongs in, None if it is not the table's."""
    if not definition.holds(settings):
        return None
    return next((column for column in definition.columns if column.holds(settings)), None)
