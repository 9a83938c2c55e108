"""How many printed numbers are reached: counts over tables, per paper and per method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from gclbench.component.registry import METHODS
from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.fitted import FITTED
from gclbench.paper.significance import LEVEL, MOST_SEEDS
from gclbench.paper.table_definition import Definition
from gclbench.paper.verdict import (
    AS_PRINTED,
    DECIDED,
    EQUIVALENT,
    NOT_COMPARABLE,
    NOT_RUN,
    UNDETERMINED,
    VERDICTS,
)


@dataclass(frozen=True)
class Tally:
    """Cells that have a printed mean, by their verdict (`verdict.VERDICTS`).

    Attributes:
        equivalent_after_holm: of the equivalent ones, how many stay so with Holm's correction of
            the equivalence tests too.
        beyond_seeds: of the undetermined ones, how many no number of seeds up to
            `significance.MOST_SEEDS` would decide, if the difference and the spread so far are the
            true ones.
        within_so_far: of the undetermined ones, how many have a difference so far that is smaller
            than the margin: no more than these can become equivalent, if it is the true one.
        fitted: of the decided ones, how many have settings that were chosen after their own labels
            had been seen (`fitted.SEEN`).
        at_half_level: of the decided ones, how many have this verdict at half of the level, too.
        out_of_reach: of those not run or not comparable, how many no run here could decide: numbers
            that no test holds against print, printed ones that are no result, and datasets that are
            not at hand (`NOT_AT_HAND`).
    """

    equivalent: int = 0
    above: int = 0
    below: int = 0
    undetermined: int = 0
    failed_seeds: int = 0
    not_comparable: int = 0
    not_run: int = 0
    equivalent_after_holm: int = 0
    beyond_seeds: int = 0
    within_so_far: int = 0
    fitted: int = 0
    at_half_level: int = 0
    out_of_reach: int = 0

    @property
    def cells(self) -> int:
        """All of them."""
        return sum(self)

    @property
    def decided(self) -> int:
        """Equivalent, above or below."""
        return self.equivalent + self.above + self.below

    @property
    def decidable(self) -> int:
        """Those that runs here could decide, were there enough of them."""
        return self.cells - self.out_of_reach

    def __iter__(self) -> Iterator[int]:
        """The counts of the verdicts, in their order."""
        return iter([getattr(self, name) for name in KINDS])

    def __add__(self, other: Tally) -> Tally:
        names = [field.name for field in fields(self)]
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in names})


OF_DECIDABLE = "of decidable"
"""Heading of the share of `decided` in `decidable`."""

NOT_AT_HAND = ("wiki_cs",)
"""Datasets of the tables whose files were never at hand here; a test holds it against the
mirror."""

HALF = f"at {LEVEL / 2:g}"
"""Heading of `at_half_level`."""

KINDS = tuple(verdict.replace(" ", "_") for verdict in VERDICTS)
"""The counts of a tally that are of one verdict."""


@dataclass(frozen=True)
class Summary:
    """Tally of several tables.

    Attributes:
        total: of all, each printed number once. papers: per paper. methods: per method of ours,
            each printed number once.
        facts: of settings and counts of datasets, which are no results and not among the others:
            (the same as printed, not the same).
    """

    total: Tally
    papers: Mapping[str, Tally]
    methods: Mapping[str, Tally]
    facts: tuple[int, int]


def summary(comparisons: Iterable[Comparison]) -> Summary:
    """Counts over filled tables; cells without a legible printed number are left out."""
    total = Tally()
    by_paper: dict[str, Tally] = {}
    methods: dict[str, Tally] = {}
    same = different = 0
    for definition, entry in counted(comparisons):
        if definition.source != "runs":
            same += entry.verdict == AS_PRINTED
            different += entry.verdict != AS_PRINTED
            continue
        strict = entry.p_equivalence is not None and entry.p_equivalence < LEVEL
        one = Tally(
            **{entry.verdict.replace(" ", "_"): 1},
            equivalent_after_holm=int(entry.verdict == EQUIVALENT and strict),
            beyond_seeds=int(
                entry.verdict == UNDETERMINED and entry.outcome is not None and entry.needed is None
            ),
            within_so_far=int(
                entry.verdict == UNDETERMINED
                and entry.outcome is not None
                and abs(entry.outcome.difference) < entry.outcome.margin
            ),
            fitted=int(entry.verdict in DECIDED and bool(entry.fitted)),
            at_half_level=int(entry.verdict in DECIDED and _at_half(entry)),
            out_of_reach=int(out_of_reach(entry)),
        )
        by_paper[definition.paper] = by_paper.get(definition.paper, Tally()) + one
        if not papers()[definition.paper].repeats:
            total += one
            methods[entry.method] = methods.get(entry.method, Tally()) + one
    return Summary(total, by_paper, dict(sorted(methods.items())), (same, different))


def out_of_reach(entry: Entry) -> bool:
    """Whether no run here could decide a cell."""
    built = entry.method in METHODS.entries
    if entry.verdict == NOT_RUN and (entry.dataset in NOT_AT_HAND or not built):
        return True
    unsettled = entry.printed is not None and bool(entry.printed.unsettled)
    tested = entry.comparable and entry.shown.better != "neither"
    return entry.verdict in (NOT_RUN, NOT_COMPARABLE) and (unsettled or not tested)


def _at_half(entry: Entry) -> bool:
    """Whether the test that a decided cell's verdict rests on rejects at half of the level."""
    equivalent = entry.verdict == EQUIVALENT
    assert entry.outcome is not None and entry.p_value is not None
    return (entry.outcome.p_equivalence if equivalent else entry.p_value) < LEVEL / 2


def counted(comparisons: Iterable[Comparison]) -> Iterator[tuple[Definition, Entry]]:
    """The cells that have a legible printed number, each number once, and their table: where a
    paper prints one again and the same runs stand beside it, the first table has it. What was not
    run counts wherever it is printed."""
    found: set[object] = set()
    for definition, entry in printed_cells(comparisons):
        assert entry.printed is not None
        runs = frozenset(record.id for record in entry.records)
        number = (
            definition.paper,
            entry.dataset,
            entry.metric,
            entry.printed.text,
            entry.printed.std,
        )
        if definition.source == "runs" and runs:
            if (number, runs) in found:
                continue
            found.add((number, runs))
        yield definition, entry


def printed_cells(comparisons: Iterable[Comparison]) -> Iterator[tuple[Definition, Entry]]:
    """The cells that have a legible printed number, and their table; a number that a paper prints
    in several tables as often."""
    found: set[tuple[str, ...]] = set()
    for comparison in comparisons:
        definition = comparison.definition
        for entry in comparison.entries:
            # Several settings may stand beside one printed number.
            place = (definition.id, entry.dataset, entry.metric, entry.heading)
            if entry.printed is None or not entry.verdict or place in found:
                continue
            found.add(place)
            # A ratio of two printed numbers, which are counted themselves.
            if definition.source != "runs" or not entry.printed.variant.startswith("per "):
                yield definition, entry


def other_versions() -> dict[str, str]:
    """Papers that print another one's numbers again: counted for themselves, not in the total."""
    return {paper.name: paper.repeats for paper in papers().values() if paper.repeats}


def _of_facts() -> list[str]:
    """Tables whose cells are no results of runs."""
    tables = (table for paper in papers().values() for table in paper.tables)
    return [table.id for table in tables if table.source != "runs"]


def markdown(found: Summary) -> str:
    """A page: what the counts are, the total, a table per paper and one per method."""
    lines = [
        "# Summary",
        "",
        (
            "Cells of the papers' tables that have a printed mean, by verdict (docs/tables.md)."
            " What a paper prints again beside the same runs counts in the first table alone."
            " equivalent: two one-sided tests reject a difference of one point or of the printed"
            " standard deviation, whichever is larger; above, below: better or worse, significantly"
            " after Holm's correction over the table; undetermined: neither, so far; failed"
            " seeds: a run of the cell has no value; not comparable: not at the paper's"
            " settings, times and quantiles, which carry over to no other machine, or a printed"
            " number that is doubted or did not converge. decided: the first three."
            f" {OF_DECIDABLE}: their share without the cells that no run here could decide: times,"
            " quantiles and similarities of graphs, which no test holds against print; printed"
            " numbers that are doubted or did not converge; columns that are not built; and"
            f" {', '.join(NOT_AT_HAND)}, whose files are not at hand."
            " after Holm: of the equivalent ones, those that stay so when the equivalence tests of"
            " a table are corrected as well."
            f" {HALF}: of the decided ones, those that have their verdict at half of the"
            " level as well, as two tests of a cell would need, where seeds were added because it"
            " was undetermined."
            f" beyond seeds: of the undetermined ones, those that no number of seeds up to"
            f" {MOST_SEEDS:,} would decide, if the difference and the spread so far are the true"
            " ones. within so far: of the undetermined ones, those whose difference so far is"
            " smaller than the margin: only these become equivalent with more seeds, if that"
            f" difference is the true one. {FITTED}: of the decided ones, those whose settings were"
            " chosen after their own labels had been seen (docs/choices.md)."
        ),
        "",
        *_grid("paper", found.papers, found.total),
        "",
        *(
            line
            for name, other in other_versions().items()
            for line in (
                f"{name} is the other version of {other}:"
                " its cells are not in the total, nor below.",
                "",
            )
        ),
        *_grid("method", found.methods, found.total),
        "",
        (
            f"Settings and counts of datasets ({', '.join(_of_facts())}): {found.facts[0]} as"
            f" printed, {found.facts[1]} not; the tables say why."
        ),
    ]
    return "\n".join(lines) + "\n"


def _grid(heading: str, rows: Mapping[str, Tally], total: Tally) -> list[str]:
    names = [
        *(heading, "cells", "decided", OF_DECIDABLE, *VERDICTS),
        *("after Holm", HALF, "beyond seeds", "within so far", FITTED),
    ]
    lines = [f"| {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) - 1)]
    for name, counts in (*rows.items(), ("**total**", total)):
        share = f"{counts.decided} ({counts.decided / max(counts.cells, 1):.0%})"
        notes = (
            counts.equivalent_after_holm,
            counts.at_half_level,
            counts.beyond_seeds,
            counts.within_so_far,
            counts.fitted,
        )
        part = f"{counts.decided / counts.decidable:.0%}" if counts.decidable else "–"
        numbers = (counts.cells, share, part, *counts, *notes)
        lines.append(f"| {name} | {' | '.join(map(str, numbers))} |")
    return lines
