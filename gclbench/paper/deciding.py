"""The seeds that would decide a table's undetermined cells, as commands that run them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.missing import REDONE, buildable, sweep_command
from gclbench.paper.significance import MOST_SEEDS
from gclbench.paper.verdict import NOT_RUN, UNDETERMINED
from gclbench.run.estimate import spoken

CAVEAT = (
    "# With so many seeds a cell is decided with a chance of 80 %, if the difference and the spread"
    " so far are the true ones. Seeds that are added because a cell is undetermined are not"
    " corrected for: of many such cells some are decided by chance (docs/tables.md)."
)


@dataclass(frozen=True)
class Offer:
    """More seeds of one column on one dataset.

    Attributes:
        dataset, column: its place in the table. command: runs them. seeds: how many there are.
        cells: the undetermined cells that they would decide, or make testable; undetermined: all of
            the column there.
        untested: the cells have a single run so far, which no test can use.
        seconds: of all of them, by the recorded runs of the cell; None where these have no times.
    """

    dataset: str
    column: str
    command: str
    seeds: int
    cells: int
    undetermined: int
    untested: bool
    seconds: float | None

    @property
    def remark(self) -> str:
        """`citeseer, gca: 2 of 5 undetermined cells, 3 more runs, about 5 min`."""
        of = f" of {self.undetermined}" if self.cells < self.undetermined else ""
        cells = f"{self.cells}{of} undetermined cell{'s' if self.undetermined > 1 else ''}"
        runs = f"{self.seeds} more run{'s' if self.seeds > 1 else ''}"
        why = " for a first test" if self.untested else ""
        time = "time unknown" if self.seconds is None else f"about {spoken(self.seconds)}"
        return f"{self.dataset}, {self.column}: {cells}, {runs}{why}, {time}"


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
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in comparison.entries:
        if entry.verdict == UNDETERMINED:
            groups.setdefault((entry.dataset, entry.column), []).append(entry)
    offers = [offer for found in groups.values() if (offer := _offer(comparison, found))]
    offers.sort(key=lambda offer: (offer.seconds is None, (offer.seconds or 0.0) / offer.cells))
    lines = [line for offer in offers for line in (f"# {offer.remark}", offer.command)]
    if offers:
        lines.append(CAVEAT)
    cells = sum(map(len, groups.values()))
    beyond = sum(_beyond(entry) for found in groups.values() for entry in found)
    if beyond:
        lines.append(
            f"# Of {cells} undetermined cell{'s' if cells > 1 else ''} no number of seeds up to"
            f" {MOST_SEEDS:,} would decide {beyond}, as they stand."
        )
    return lines or ["# no cell is undetermined"]


def _beyond(entry: Entry) -> bool:
    """Whether no number of seeds would decide an undetermined cell."""
    return entry.outcome is not None and entry.needed is None


def _offer(comparison: Comparison, entries: list[Entry]) -> Offer | None:
    """Of the undetermined cells of one column and dataset; None where seeds decide none of them."""
    definition, first = comparison.definition, entries[0]
    columns = {column.label: column for column in definition.columns}
    if not buildable(definition, first.dataset, columns[first.heading]):
        return None
    more = [max(1, entry.needed - entry.ours.n) for entry in entries if entry.needed is not None]
    untested = not more
    if untested:
        more = [max(1, 2 - entry.ours.n) for entry in entries if not _beyond(entry)]
    if not more:
        return None

    def decided(seeds: int) -> int:
        return sum(each <= seeds for each in more)

    count = min(more, key=lambda seeds: (seeds / decided(seeds), seeds))
    there = {record.seed for record in first.records if record.status != REDONE}
    free = (seed for seed in itertools.count() if seed not in there)
    times = [sum(record.seconds.values()) for record in first.records if record.ok]
    return Offer(
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
