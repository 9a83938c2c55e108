"""Misses that no note tells of: rows of the papers' tables that are below print in some metric, and
rows that a list of every miss lacks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison
from gclbench.paper.prose import references
from gclbench.paper.summary import printed_cells
from gclbench.paper.verdict import ABOVE, BELOW

Row = tuple[str, str, str]
"""Id of the table, dataset and the column's heading."""


@dataclass(frozen=True)
class MissList:
    """A section of a page that says that it names every miss.

    Attributes:
        page: its path in the repository. heading: as it stands there. tables, verdicts: of the rows
            that it has to quote.
    """

    page: Path
    heading: str
    tables: tuple[str, ...]
    verdicts: tuple[str, ...]


LISTS = (
    MissList(Path("results/notes/nml.md"), "## Every miss", ("nml/1", "nml/2"), (BELOW, ABOVE)),
    MissList(
        Path("results/notes/mmix.md"),
        "### Misses on collections, one by one",
        ("mmix/3", "mmix/4", "mmix/9-graphs"),
        (BELOW,),
    ),
)


def unlisted(comparisons: Iterable[Comparison], pages: Mapping[Path, str]) -> list[str]:
    """A sentence for each row that a list of `LISTS` lacks."""
    filled = list(comparisons)
    found = []
    for one in LISTS:
        start, heading, rest = pages[one.page].partition(f"\n{one.heading}\n")
        if not heading:
            found.append(f"{one.page} has no '{one.heading}', which lists the misses")
            continue
        section = rest.partition("\n#")[0]
        tables = [each for each in filled if each.definition.id in one.tables]
        found += [
            f"{one.page}: '{one.heading.lstrip('# ')}' lacks {row}"
            for row in _unquoted(tables, references(section), one.verdicts)
        ]
    return found


def untold(comparisons: Iterable[Comparison], references: Iterable[str]) -> list[str]:
    """A sentence for each row that is below print and that no reference quotes.

    Args:
        references: of the notes, as `mmix/2; cora; jknet; accuracy`.
    """
    return [
        f"no note tells of {row}: say what was tried, with a reference to the cell"
        for row in _unquoted(comparisons, references, (BELOW,))
    ]


def _unquoted(
    comparisons: Iterable[Comparison], references: Iterable[str], verdicts: Container[str]
) -> list[str]:
    """The rows that have one of the verdicts in some metric and that no reference quotes:
    `mmix/2; cora; jknet, which is below print in accuracy`.

    A row is told of where a number of it is quoted, whatever its metric; a gain over another column
    is none. A paper may print a number twice: rows of the same runs beside the same number are told
    of together. A paper that prints another one's numbers again is left out.
    """
    missed: dict[Row, dict[str, list[str]]] = {}
    numbers: dict[Row, set[object]] = {}
    metrics: dict[str, set[str]] = {}
    for definition, entry in printed_cells(comparisons):
        if papers()[definition.paper].repeats:
            continue
        row = (definition.id, entry.dataset, entry.heading)
        metrics.setdefault(definition.id, set()).add(entry.metric)
        ours = frozenset(record.id for record in entry.records)
        numbers.setdefault(row, set()).add((ours, entry.metric, entry.show_printed()))
        if entry.verdict in verdicts:
            missed.setdefault(row, {}).setdefault(entry.verdict, []).append(entry.metric)
    told = {
        (fields[0], fields[1], fields[2])
        for reference in references
        if len(fields := [" ".join(field.split()) for field in reference.split(";")]) > 3
        and fields[3] in metrics.get(fields[0], ())
    }
    quoted = {number for row in told for number in numbers.get(row, ())}
    return [
        f"{table}; {dataset}; {column}, which is {_and(found)}"
        for (table, dataset, column), found in missed.items()
        if quoted.isdisjoint(numbers[table, dataset, column])
    ]


def _and(found: Mapping[str, list[str]]) -> str:
    """What a row is: `below print in ari, macro_f1 and above print in acc`."""
    return " and ".join(
        f"{verdict} print in {', '.join(metrics)}" for verdict, metrics in found.items()
    )
