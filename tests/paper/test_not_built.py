"""Printed rows without a column: which they are, and how they are told."""

from __future__ import annotations

import pytest

from gclbench.paper.comparison import compare
from gclbench.paper.discovery import papers
from gclbench.paper.reference import row_name, rows_of
from gclbench.paper.render import markdown
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, find_table


def test_rows_that_are_not_built_are_printed_rows_without_a_column() -> None:
    for table in TABLES.values():
        cells = [(dataset, metric) for dataset in table.datasets for metric in table.metrics]
        shown = [
            table.printed(dataset, column, metric)
            for dataset, metric in cells
            for column in table.columns
        ]
        for name in table.not_built:
            found = [value for cell in cells if (value := table.printed_row(name, *cell))]
            assert found, f"{table.id} prints no row '{name}'"
            assert not any(value in shown for value in found), f"{name} has a column in {table.id}"


@pytest.mark.parametrize("name", ["mmix/2", "mmix/5"])
def test_every_printed_row_of_these_tables_has_a_column_or_a_reason(name: str) -> None:
    table = TABLES[name]
    paper = papers()[table.paper]
    rows = {row["method"] for row in rows_of(paper) if row["table"] == table.number}
    built = {(column.method, column.variant) for column in table.columns}
    # Two quoted rows stand in a remark.
    quoted = {"MVGRL (as published)", "GraphCL"} if name == "mmix/2" else set()
    assert {row for row in rows if row_name(row, paper) not in built} == {*table.not_built, *quoted}


def test_rows_that_are_not_built_are_told_with_their_numbers() -> None:
    table = compare(find_table("mmix/2"), Collection(()))
    (line,) = [line for line in markdown(table).splitlines() if line.startswith("- MoNet")]
    assert line.startswith(
        "- MoNet (sup.) is not built (printed: cora 81.7 ± 0.5, citeseer –, pubmed 78.8 ± 0.3):"
        " torch_geometric has its layer"
    )
    shown = compare(find_table("mmix/5"), Collection(())).restrict(["cora"])
    assert "GALA is not built (printed: cora nmi 57.67, cora ari 53.15):" in markdown(
        shown, only="paper"
    )
