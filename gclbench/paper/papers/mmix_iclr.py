"""The earlier version of M-Mix, submitted to ICLR: the same cells under other numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gclbench.paper.papers.mmix import PAPER as KDD
from gclbench.paper.table_definition import Definition

NUMBERS = {
    "2": "1",
    "3": "2",
    "4": "9",
    "5": "8",
    "6": "10",
    "7": "3",
    "8": "4",
    "9": "5",
    "10": "6",
}
"""Numbers of the KDD version's tables to those of the submission."""

ADDED_LATER = {
    "2": ("i-mix", "cca_ssg", "InfoGCL"),
    "3": ("joao", "joaov2", "joao (RBF machine)", "joaov2 (RBF machine)", "InfoGCL"),
    "8": ("grace + i-mix",),
}
"""Columns and rows that are not built of the KDD version that the submission does not print, by
the former's numbers."""


def _tables() -> Iterator[Definition]:
    for table in KDD.tables:
        if table.number in NUMBERS:
            number, later = NUMBERS[table.number], ADDED_LATER.get(table.number, ())
            yield replace(
                table,
                paper="mmix_iclr",
                number=number,
                title=table.title.replace(
                    f"(KDD 2022), Table {table.number}", f"(ICLR submission), Table {number}"
                ),
                columns=tuple(column for column in table.columns if column.label not in later),
                not_built={name: why for name, why in table.not_built.items() if name not in later},
            )


def _renumbered(key: str) -> str:
    """A table's key of `Paper.runs` or `Paper.spread` with the submission's number."""
    number = re.match("[0-9]+", key)
    assert number is not None, key
    return NUMBERS[number.group()] + key[number.end() :]


PAPER = replace(
    KDD,
    name="mmix_iclr",
    title="m-Mix: Generating Hard Negatives via Multiple Samples Mixing (ICLR submission)",
    key="001",
    repeats="mmix",
    runs={_renumbered(key): runs for key, runs in KDD.runs.items()},
    over_folds={"2": KDD.over_folds["3"]},
    quoted={"2": KDD.quoted["3"]},
    spread={_renumbered(key): text for key, text in KDD.spread.items()},
    tables=tuple(sorted(_tables(), key=lambda table: int(table.number))),
    figures=(),
    not_built={
        "mmix_iclr/7": "datasets: mmix/1 shows them",
    },
)
