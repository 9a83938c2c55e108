"""The seeds that would decide undetermined cells of a table, or of all, as commands that run
them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gclbench.paper.component_versions import of_other_versions, recorded_seeds
from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.missing import buildable, sweep_command
from gclbench.paper.significance import ALIKE, MOST_SEEDS
from gclbench.paper.summary import counted
from gclbench.paper.table_definition import Definition
from gclbench.paper.verdict import NOT_RUN, UNDETERMINED
from gclbench.run.estimate import spoken

CAVEAT = (
    "# With so many seeds a cell is decided with a chance of 80 %, if the difference and the spread"
    " so far are the true ones. Seeds that are added because a cell is undetermined are not"
    " corrected for: of many such cells some are decided by chance (docs/tables.md)."
)


Cell = tuple[Definition, Entry]
"""A table's cell, and the table."""


@dataclass(frozen=True)
class Offer:
    """More seeds of one column on one dataset.

    Attributes:
        tables: ids of those with cells of these runs. dataset, column: their place in the first
            one. command: runs them. seeds: how many there are.
        cells: the undetermined cells that they would decide, or make testable; undetermined: all
            undetermined cells of these runs.
        untested: the cells have a single run so far, or a few equal ones, which no test can use.
        seconds: of all of them, by the cell's recorded runs on processors; None where there are
            none, or they have no times.
    """

    tables: tuple[str, ...]
    dataset: str
    column: str
    command: str
    seeds: int
    cells: int
    undetermined: int
    untested: bool
    seconds: float | None

    def remark(self, of_several: bool = False) -> str:
        """`citeseer, gca: 2 of 5 undetermined cells, 3 more runs, about 5 min`; with the tables'
        ids where there are several tables."""
        of = f" of {self.undetermined}" if self.cells < self.undetermined else ""
        cells = f"{self.cells}{of} undetermined cell{'s' if self.undetermined > 1 else ''}"
        runs = f"{self.seeds} more run{'s' if self.seeds > 1 else ''}"
        why = " for a first test" if self.untested else ""
        time = "time unknown" if self.seconds is None else f"about {spoken(self.seconds)}"
        tables = f" ({', '.join(self.tables)})" if of_several else ""
        return f"{self.dataset}, {self.column}{tables}: {cells}, {runs}{why}, {time}"


def undecided(comparison: Comparison) -> list[str]:
    """For each column and dataset with undetermined cells a remark and a command whose seeds would
    decide some, those that take the least time per cell first; then what no seeds decide.

    Of a column's cells those are asked for that come at the fewest seeds per cell. A cell of one
    run is offered a second one, with which it can be tested.

    Raises:
        ValueError: when the table has no cell that could have a verdict, or no runs at all.
    """
    definition, name = comparison.definition, comparison.definition.id
    tested = definition.compared and definition.source == "runs"
    verdicts = {entry.verdict for entry in comparison.entries if entry.verdict and tested}
    if not verdicts:
        raise ValueError(
            f"--undecided asks for verdicts against printed numbers, and what is asked for of table"
            f" {name} has none"
        )
    if verdicts == {NOT_RUN}:
        raise ValueError(
            f"no cell is run of what is asked for of table {name}; --missing prints the commands"
            " that fill it"
        )
    cells = [(definition, entry) for entry in comparison.entries if entry.verdict == UNDETERMINED]
    return _lines(cells, of_several=False)


def undecided_anywhere(comparisons: Sequence[Comparison]) -> list[str]:
    """The same for several tables: cells of the same runs stand together, and each number counts
    once, as in the summary.

    Raises:
        ValueError: when no cell could have a verdict, or none is run.
    """
    cells = _of_results(comparisons)
    if not cells:
        raise ValueError(
            "--undecided asks for verdicts against printed numbers, and what is asked for has none"
            f" in any table{''.join(_left_out(comparisons)).replace('#', '.')}"
        )
    if all(entry.verdict == NOT_RUN for _, entry in cells):
        raise ValueError(
            "no cell is run of what is asked for; `gclbench table ID --missing` prints the commands"
            " that fill a table"
        )
    lines = _lines([cell for cell in cells if cell[1].verdict == UNDETERMINED], of_several=True)
    return [*lines, *_left_out(comparisons)]


def _left_out(comparisons: Sequence[Comparison]) -> list[str]:
    """Which papers' tables are not looked at, and how one is."""
    there = {comparison.definition.paper: comparison.definition.id for comparison in comparisons}
    return [
        f"# {name} prints {paper.repeats}'s numbers again: its tables are left out here; one of"
        f" them is asked for as in gclbench table {there[name]} --undecided."
        for name, paper in papers().items()
        if paper.repeats and name in there
    ]


@dataclass(frozen=True)
class Undecided:
    """What it would take to decide the undetermined cells of several tables, once.

    Attributes:
        cells: all of them. beyond: those that no number of seeds would decide. offered: those that
            some seeds would decide, and whose time is known. seconds: of these seeds, one after the
            other.
    """

    cells: int
    beyond: int
    offered: int
    seconds: float


def all_undecided(comparisons: Sequence[Comparison]) -> Undecided:
    """Of the cells that the summary counts."""
    cells = _of_results(comparisons, UNDETERMINED)
    timed = [offer for offer in _offers(cells) if offer.seconds is not None and not offer.untested]
    return Undecided(
        len(cells),
        sum(_beyond(entry) for _, entry in cells),
        sum(offer.cells for offer in timed),
        sum(offer.seconds or 0.0 for offer in timed),
    )


def _of_results(comparisons: Sequence[Comparison], verdict: str = "") -> list[Cell]:
    """Cells of results with a verdict, or this one; no paper's that prints another's again."""
    return [
        (definition, entry)
        for definition, entry in counted(comparisons)
        if definition.source == "runs"
        and not papers()[definition.paper].repeats
        and verdict in ("", entry.verdict)
    ]


def _offers(cells: Sequence[Cell]) -> list[Offer]:
    """The least time per cell first."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple(record.id for record in cell[1].records), []).append(cell)
    offers = [offer for found in groups.values() if (offer := _offer(found))]
    return sorted(
        offers, key=lambda offer: (offer.seconds is None, (offer.seconds or 0.0) / offer.cells)
    )


def _lines(cells: Sequence[Cell], of_several: bool) -> list[str]:
    offers = _offers(cells)
    lines = [line for offer in offers for line in (f"# {offer.remark(of_several)}", offer.command)]
    if offers:
        lines.append(CAVEAT)
    beyond = sum(_beyond(entry) for _, entry in cells)
    if beyond:
        lines.append(
            f"# Of {len(cells)} undetermined cell{'s' if len(cells) > 1 else ''} no number of seeds"
            f" up to {MOST_SEEDS:,} would decide {beyond}, as they stand."
        )
    older = sum(of_other_versions(entry.records) for _, entry in cells)
    if older:
        lines.append(
            f"# Undetermined cells of runs of another version than the code has: {older}; `gclbench"
            " table ID --missing` prints what runs them anew."
        )
    return lines or ["# no cell is undetermined"]


def _beyond(entry: Entry) -> bool:
    """Whether no number of seeds would decide an undetermined cell."""
    return entry.outcome is not None and entry.needed is None


def _offer(cells: Sequence[Cell]) -> Offer | None:
    """Of the undetermined cells of the same runs; None where seeds decide none of them."""
    definition, first = cells[0]
    entries = [entry for _, entry in cells]
    columns = {column.label: column for column in definition.columns}
    if not buildable(definition, first.dataset, columns[first.heading]):
        return None
    if of_other_versions(first.records):
        return None  # `table --missing` has the seeds of the version that the code has.
    more = [max(1, entry.needed - entry.ours.n) for entry in entries if entry.needed is not None]
    untested = not more
    if untested:
        more = [
            (ALIKE if entry.ours.n > 1 else 2) - entry.ours.n
            for entry in entries
            if not _beyond(entry)
        ]
    if not more:
        return None

    def decided(seeds: int) -> int:
        return sum(each <= seeds for each in more)

    count = min(more, key=lambda seeds: (seeds / decided(seeds), seeds))
    there = recorded_seeds(first.records)
    free = (seed for seed in itertools.count() if seed not in there)
    on_processors = [record for record in first.records if record.ok and not record.on_gpu]
    times = [sum(record.seconds.values()) for record in on_processors]
    return Offer(
        tuple(dict.fromkeys(definition.id for definition, _ in cells)),
        first.dataset,
        first.column,
        sweep_command(
            definition, [first.dataset], [first.heading], [*itertools.islice(free, count)]
        ),
        count,
        decided(count),
        len(entries),
        untested,
        count * sum(times) / len(times) if any(times) else None,
    )
