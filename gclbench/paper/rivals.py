"""Columns that a user added to a table, against its other columns: fairly, or saying what is not.

Two runs are paired where seed, graph, split and version of the task's protocol are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gclbench.paper import run_words
from gclbench.paper.aggregate import Cell
from gclbench.paper.paired_verdict import Settled, settled
from gclbench.paper.table_definition import Definition
from gclbench.records import Record

if TYPE_CHECKING:
    from gclbench.paper.filled_table import Entry


@dataclass(frozen=True)
class Rival:
    """An added column's cell against that of another column.

    Attributes:
        own, column: headings of the two. settled: the added one minus the other, and the verdict.
    """

    dataset: str
    metric: str
    own: str
    column: str
    settled: Settled

    def show(self, factor: float) -> str:
        """`+1.20 (10) ▲`, or why there is nothing."""
        return self.settled.show(factor)


def against_rivals(
    definition: Definition, entries: Sequence[Entry]
) -> tuple[list[Entry], list[Rival], int, list[str]]:
    """The entries; what the added columns' cells are against all others; the number of tests, over
    which Holm's correction is; and sentences on what is missing or not alike.

    Two added columns are compared once, the first minus the second. Only cells at the asked or the
    paper's settings are compared, in metrics of which one direction is better. A cell that is of
    other graphs or splits than the table's takes no part in ranks.
    """
    added = {column.label for column in definition.columns if column.added}
    found: list[tuple[Entry, Entry, Mapping[int, list[str]]]] = []
    notes: list[str] = []
    unlike: set[tuple[str, str]] = set()
    rows: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        rows.setdefault((entry.dataset, entry.metric), []).append(entry)
    for row in rows.values():
        done: set[tuple[str, str]] = set()
        for own in row:
            if own.heading not in added:
                continue
            if not own.records:
                notes.append(_not_run(definition, own))
                continue
            others = [
                other
                for other in row
                if other.heading != own.heading and other.records and other.faithful
            ]
            differ = [(other, _differing(own.records, other.records)) for other in others]
            notes += _said(own, differ)
            # Added columns say nothing of the table's, unless there is nothing else.
            deciding = [pair for pair in differ if pair[0].heading not in added] or differ
            if any(kinds for _, seeds in deciding for kinds in seeds.values()):
                unlike.add((own.dataset, own.column))
            if own.faithful and own.ours.values and own.shown.better != "neither":
                found += [
                    (own, other, seeds)
                    for other, seeds in differ
                    if other.ours.values and (other.heading, own.heading) not in done
                ]
                done |= {(own.heading, other.heading) for other, _ in differ}
    settlements, tests = settled(
        [(_alike(own.ours, seeds), other.ours) for own, other, seeds in found],
        [own.shown.is_fraction for own, _, _ in found],
        [own.shown.lower_is_better for own, _, _ in found],
    )
    rivals = [
        Rival(own.dataset, own.metric, own.column, other.column, settlement)
        for (own, other, _), settlement in zip(found, settlements, strict=True)
    ]
    marked = [
        replace(entry, faithful=False) if (entry.dataset, entry.column) in unlike else entry
        for entry in entries
    ]
    return marked, rivals, tests, list(dict.fromkeys(notes))


def _basis(record: Record) -> dict[str, object]:
    """What two runs of one seed must have in common."""
    return {
        "graph": record.spec.get("dataset_hash"),
        "version of the protocol": record.spec.get("versions", {}).get("protocol"),
        "split": record.split.get("hash"),
    }


def _differing(ours: Iterable[Record], others: Iterable[Record]) -> dict[int, list[str]]:
    """Every common seed, and what its two runs do not have in common."""
    theirs = {record.seed: _basis(record) for record in others}
    return {
        record.seed: [
            kind
            for kind, value in _basis(record).items()
            if None not in (value, theirs[record.seed][kind]) and value != theirs[record.seed][kind]
        ]
        for record in ours
        if record.seed in theirs
    }


def _alike(cell: Cell, seeds: Mapping[int, list[str]]) -> Cell:
    """The cell without the seeds whose runs cannot be paired."""
    values = {seed: value for seed, value in cell.values.items() if not seeds.get(seed)}
    return Cell(values, cell.absent)


def _said(own: Entry, differ: Sequence[tuple[Entry, Mapping[int, list[str]]]]) -> list[str]:
    """What is not alike: splits and graphs, then seeds."""
    unlike: dict[tuple[str, str], list[str]] = {}
    seeds: dict[str, list[str]] = {}
    mine = run_words.of_seeds(record.seed for record in own.records)
    for other, common in differ:
        kinds = ", ".join(dict.fromkeys(kind for found in common.values() for kind in found))
        if kinds:
            where = run_words.of_seeds(seed for seed, found in common.items() if found)
            unlike.setdefault((kinds, where), []).append(other.column)
        theirs = run_words.of_seeds(record.seed for record in other.records)
        if theirs != mine:
            seeds.setdefault(theirs, []).append(other.column)
    said = [
        f"{own.dataset}: {own.column} has another {kinds} than {', '.join(names)} at {where}: these"
        " runs are not paired."
        for (kinds, where), names in unlike.items()
    ]
    if seeds:
        have = "; ".join(f"{', '.join(names)}: {theirs}" for theirs, names in seeds.items())
        said.append(
            f"{own.dataset}: {own.column} has {mine}, and others have other seeds ({have}): a pair"
            " is compared over the seeds that both have."
        )
    return said


def _not_run(definition: Definition, own: Entry) -> str:
    command = run_words.command(["table", definition.id, "--with", own.heading, "--missing"])
    return f"{own.dataset}: {own.column} has no runs; `{command}` prints what makes them."
