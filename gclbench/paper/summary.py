"""How many printed numbers are reached: counts over tables, per paper and per method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.significance import BETTER, WITHIN
from gclbench.paper.table_definition import Definition


@dataclass(frozen=True)
class Tally:
    """Cells that have a printed number, by what became of them.

    Attributes:
        reproduced: marked ✓. above: ▲. below: ▼, or no mark (not within, but not significantly so
            or not testable).
        not_comparable: with a value, but not at the paper's settings, or of a table whose numbers
            carry over to no other machine or setting.
        missing: without a value: not run, or every run ended without one.
    """

    reproduced: int = 0
    above: int = 0
    below: int = 0
    not_comparable: int = 0
    missing: int = 0

    @property
    def cells(self) -> int:
        """All of them."""
        return sum(self)

    def __iter__(self) -> Iterator[int]:
        return iter([getattr(self, field.name) for field in fields(self)])

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + another for one, another in zip(self, other, strict=True)))


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
    for comparison in comparisons:
        definition = comparison.definition
        for entry in comparison.entries:
            if entry.printed is None or (
                entry.printed.mean is None and definition.source == "runs"
            ):
                continue
            if definition.source != "runs":
                same += entry.mark == WITHIN
                different += entry.mark != WITHIN
                continue
            if entry.printed.variant.startswith("per "):
                continue  # a ratio of two printed numbers, which are counted themselves
            one = Tally(**{kind(entry, definition): 1})
            by_paper[definition.paper] = by_paper.get(definition.paper, Tally()) + one
            if not papers()[definition.paper].repeats:
                total += one
                methods[entry.method] = methods.get(entry.method, Tally()) + one
    return Summary(total, by_paper, dict(sorted(methods.items())), (same, different))


def other_versions() -> dict[str, str]:
    """Papers that print another one's numbers again: counted for themselves, not in the total."""
    return {paper.name: paper.repeats for paper in papers().values() if paper.repeats}


def _of_facts() -> list[str]:
    """Tables whose cells are no results of runs."""
    tables = (table for paper in papers().values() for table in paper.tables)
    return [table.id for table in tables if table.source != "runs"]


def kind(entry: Entry, definition: Definition) -> str:
    """The name of the count that a cell with a printed number is in."""
    if entry.ours.mean is None:
        return "missing"
    if not definition.compared or not entry.faithful:
        return "not_comparable"
    return {WITHIN: "reproduced", BETTER: "above"}.get(entry.mark, "below")


def markdown(found: Summary) -> str:
    """A page: what the counts are, the total, a table per paper and one per method."""
    lines = [
        "# Summary",
        "",
        (
            "Cells of the papers' tables that have a printed number. reproduced: ✓, within the"
            " larger of the paper's std and one point, or better; above: ▲, significantly better;"
            " below: ▼ or unmarked, not within; not comparable: not at the paper's settings, or"
            " times and quantiles that carry no mark; missing: not run, or no run with a value."
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
    names = [field.name.replace("_", " ") for field in fields(Tally)]
    lines = [
        f"| {heading} | cells | {' | '.join(names)} |",
        "| --- |" + " ---: |" * (len(names) + 1),
    ]
    for name, counts in (*rows.items(), ("**total**", total)):
        lines.append(f"| {name} | {counts.cells} | {' | '.join(map(str, counts))} |")
    return lines
