"""Where training adds to the untrained encoder, and where it does not: a page over all tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.fitted import FITTED
from gclbench.paper.gains import UNTRAINED, Gain
from gclbench.paper.verdict import ABOVE, BELOW, EQUIVALENT, FAILED, NOT_RUN, UNDETERMINED

SHOWN = {
    ABOVE: "better",
    EQUIVALENT: "equivalent",
    BELOW: "worse",
    UNDETERMINED: UNDETERMINED,
    FAILED: FAILED,
    NOT_RUN: "no untrained run",
}
"""A gain's verdict and its heading."""


def page(comparisons: Iterable[Comparison]) -> str:
    """The page, as Markdown: counts by table, and each cell where training adds nothing."""
    lines = [
        "# What training adds",
        "",
        (
            "Each trained cell of the papers' tables, and of our own beside them, minus the same"
            " encoder untrained (`method.epochs=0`, all else equal), paired over the seeds that"
            " both have. The verdicts are those of the gains under each table: better and worse are"
            " significant after Holm's correction over the table's gains; equivalent is within one"
            " point (two one-sided tests). Methods that learn from labels are among them. The"
            " tables of mmix_iclr, which print mmix's numbers again, are not. A cell that several"
            " tables have counts in each, and in the total as often; its verdict may differ, since"
            " each table corrects for its own gains."
        ),
        "",
        f"| table | cells | {' | '.join(SHOWN.values())} |",
        "| --- |" + " ---: |" * (1 + len(SHOWN)),
    ]
    total: Counter[str] = Counter()
    found: list[str] = []
    for comparison in comparisons:
        definition = comparison.definition
        if definition.paper not in papers() or papers()[definition.paper].repeats:
            continue
        cells = list(_cells(comparison))
        if not cells:
            continue
        counts = Counter(gain.settled.verdict for _, gain in cells)
        total += counts
        lines.append(_row(definition.id, counts))
        found += _without_gain(definition.id, cells)
    lines += [
        _row("**total**", total),
        "",
        "## Where it adds nothing, or takes away",
        "",
        (
            "Cells where the trained encoder is shown to be equivalent to the untrained one, or"
            " worse: trained minus untrained in percent, the number of seeds, and the verdict."
            f" {FITTED}: settings chosen after these labels had been seen (docs/choices.md)."
        ),
        "",
        "| table | dataset | column | metric | gain |",
        "| --- | --- | --- | --- | --- |",
        *found,
    ]
    return "\n".join(lines) + "\n"


def _cells(comparison: Comparison) -> Iterator[tuple[Entry, Gain]]:
    """The entries that have an untrained control."""
    for entry in comparison.entries:
        for gain in entry.gains:
            if gain.control == UNTRAINED:
                yield entry, gain


def _row(name: str, counts: Counter[str]) -> str:
    numbers = (counts.total(), *(counts[verdict] for verdict in SHOWN))
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def _without_gain(table: str, cells: Sequence[tuple[Entry, Gain]]) -> Iterator[str]:
    for entry, gain in cells:
        if gain.settled.verdict in (EQUIVALENT, BELOW):
            factor = 100 if entry.shown.is_fraction else 1
            mark = FITTED if entry.fitted else ""
            yield (
                f"| {table} | {entry.dataset} | {entry.column}{mark} | {entry.metric}"
                f" | {gain.settled.show(factor)} |"
            )
