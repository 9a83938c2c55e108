"""The sentences under a table."""

from __future__ import annotations

from collections.abc import Iterator

from gclbench.paper.filled_table import DAGGER, Comparison
from gclbench.paper.significance import BETTER, LEVEL, WITHIN, WORSE

AS_PRINTED = (
    "– printed as missing (out of GPU memory unless the paper says otherwise); ? not legible; * not"
    " converged, says the paper; (?) doubtful."
)


def footer(comparison: Comparison, only: str = "") -> list[str]:
    """Sentences under a table: units, legend, tests, which records; of the printed numbers alone
    with `only="paper"`."""
    if only == "paper":
        return [AS_PRINTED, *comparison.definition.remarks, *_footnotes(comparison)]
    return [*_legend(comparison), *_rest(comparison)]


def _footnotes(comparison: Comparison) -> Iterator[str]:
    shown = {entry.heading for entry in comparison.entries}
    yield from (
        column.footnote
        for column in comparison.definition.columns
        if column.footnote and column.label in shown
    )


def _legend(comparison: Comparison) -> Iterator[str]:
    definition = comparison.definition
    if definition.source != "runs":
        yield f"ours / paper (ours minus the paper's, where they differ). {WITHIN} the same."
        yield "(?) doubtful; not counted: the files have not been seen here."
        return
    if definition.crossed:
        yield (
            "mean ± standard deviation (ddof=1) over runs (number of runs;"
            " runs without a value by status)."
        )
        if any(not entry.faithful for entry in comparison.entries):
            yield f"{DAGGER} not at the shipped settings; the notes below say what differs."
        return
    percent = all(definition.measure(metric).shown.is_fraction for metric in comparison.metrics)
    yield (
        "ours: mean ± standard deviation (ddof=1) over runs (number of runs; runs without a value"
        f" by status){', in percent' if percent else ''}. paper: as printed (in parentheses: ours"
        " minus the paper's)."
    )
    if definition.compared:
        yield (
            f"{WITHIN} within the larger of the paper's std and one point, or better; {BETTER}"
            f" significantly better; {WORSE} significantly worse and not within; no mark: not"
            " within, but not significantly so or not testable. No mark without a printed value."
        )
        yield (
            "Test against the paper: two-sided Welch t-test, Holm-corrected over the"
            f" {comparison.tests} tested cells of the whole table, level {LEVEL:g}."
            if comparison.tests
            else (
                "Test against the paper: none; Welch's t-test takes two runs or more of ours, and a"
                " printed spread with its number of runs."
            )
        ) + (
            " The paper does not state its number of runs; ten are assumed."
            if definition.runs_assumed
            else ""
        )
    if comparison.pairs:
        yield (
            "Between our columns: two-sided paired t-tests over equal seeds, Holm-corrected over"
            f" the {comparison.pairs} tested pairs of the whole table. Bold: rank 1; underlined:"
            " rank 2 (docs/tables.md, Tests)."
        )
    if any(not entry.faithful for entry in comparison.entries):
        yield f"{DAGGER} not at the paper's settings; the notes below say what differs."
    yield AS_PRINTED


def _rest(comparison: Comparison) -> Iterator[str]:
    definition = comparison.definition
    yield from definition.remarks
    yield from _footnotes(comparison)
    yield from comparison.notes
    if definition.source == "catalog":
        yield (
            "Counts: gclbench/data/pages/, checked by the tests where the files are there;"
            " `gclbench show dataset=NAME` counts anew."
        )
        return
    if not comparison.records:
        where = (
            ", ".join(comparison.collection.stores)
            or "no folder; there is neither results/ nor runs/ here"
        )
        yield f"Records: none for this table (read: {where})."
        return
    if (
        any(definition.measure(metric).value for metric in comparison.metrics)
        and comparison.devices
    ):
        yield f"Devices: {'; '.join(comparison.devices)}."
    stores = ", ".join(
        f"{count} of {store}"
        for store, count in sorted(comparison.collection.per_store(comparison.records).items())
    )
    yield (
        f"Records: {len(comparison.records)} ({stores}). Commits: {', '.join(comparison.commits)}."
    )
