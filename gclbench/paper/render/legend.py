"""The sentences under a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gclbench.machine.environment import CHANGED
from gclbench.machine.messages import counted
from gclbench.paper.component_versions import sentence as sentence_of_versions
from gclbench.paper.component_versions import told
from gclbench.paper.filled_table import DAGGER, DEGENERATE, Comparison
from gclbench.paper.fitted import FITTED
from gclbench.paper.gains import (
    FILTER_ALONE,
    FILTERED_UNIT_ROWS,
    RAW_FEATURES,
    UNIT_ROWS,
    UNTRAINED,
    commands,
)
from gclbench.paper.machine_differences import sentence
from gclbench.paper.significance import LEVEL
from gclbench.paper.verdict import ABOVE, AS_PRINTED, BELOW, EQUIVALENT, MARKS, UNDETERMINED
from gclbench.records import Record, flatten

SHOWN_COMMANDS = 3
"""Of those for controls."""

PRINTED_SIGNS = (
    "– printed as missing (out of GPU memory unless the paper says otherwise); ? not legible; * not"
    " converged, says the paper; (?) doubtful."
)


CONTROLS_IN_WORDS = {
    UNTRAINED: "the same settings without training",
    RAW_FEATURES: "the raw features",
    FILTER_ALONE: "the features after GnnBP (filter alone)",
}


def footer(comparison: Comparison, only: str = "") -> list[str]:
    """Sentences under a table: units, legend, tests, which records; of the printed numbers alone
    with `only="paper"`."""
    if only == "paper":
        return [
            PRINTED_SIGNS,
            *comparison.definition.remarks,
            *_not_built(comparison),
            *_footnotes(comparison),
        ]
    return [*_legend(comparison), *_rest(comparison)]


def _footnotes(comparison: Comparison) -> Iterator[str]:
    shown = {entry.heading for entry in comparison.entries}
    yield from (
        column.footnote
        for column in comparison.definition.columns
        if column.footnote and column.label in shown
    )


def _not_built(comparison: Comparison) -> Iterator[str]:
    """A sentence on each printed row without a column: why, and its numbers."""
    definition = comparison.definition
    several = len(comparison.metrics) > 1
    for name, why in definition.not_built.items():
        numbers = [
            f"{block.dataset}{f' {metric}' * several} {value.show()}"
            for block in comparison.blocks
            for metric in comparison.metrics
            if (value := definition.printed_row(name, block.dataset, metric)) is not None
        ]
        printed = f" (printed: {', '.join(numbers)})" if numbers else ""
        yield f"{name} is not built{printed}: {why}."


def _legend(comparison: Comparison) -> Iterator[str]:
    definition = comparison.definition
    if definition.source != "runs":
        same = MARKS[AS_PRINTED]
        yield f"ours / paper (ours minus the paper's, where they differ). {same} the same."
        yield "(?) doubtful; not counted: the files have not been seen here."
        return
    if definition.crossed:
        yield (
            "mean ± standard deviation (ddof=1) over runs (number of runs;"
            " runs without a value by status)."
        )
        if any(not entry.faithful for entry in comparison.entries):
            yield f"{DAGGER} not at the shipped settings; the notes below say what differs."
        yield from _fitted(comparison)
        yield from _collapsed(comparison)
        return
    percent = all(definition.measure(metric).shown.is_fraction for metric in comparison.metrics)
    printed = any(entry.printed is not None for entry in comparison.entries)
    paper = " paper: as printed (in parentheses: ours minus the paper's)." if printed else ""
    yield (
        "ours: mean ± standard deviation (ddof=1) over runs (number of runs; runs without a value"
        f" by status){', in percent' if percent else ''}.{paper}"
    )
    if definition.compared and not definition.own and not printed:
        yield "Test against the paper: none; none of these numbers is printed."
    elif definition.compared and not definition.own:
        yield (
            f"{MARKS[EQUIVALENT]} equivalent: two one-sided tests reject a difference of one point"
            f" or of the printed std, whichever is larger; {MARKS[ABOVE]} significantly better;"
            f" {MARKS[BELOW]} significantly worse; {MARKS[UNDETERMINED]} undetermined, with the"
            " number of seeds that would decide it. No mark without a printed mean, at other"
            " settings than the paper's, and where a seed failed."
        )
        yield _test(comparison)
    if comparison.pairs:
        yield (
            "Between our columns: two-sided paired t-tests over equal seeds, Holm-corrected over"
            f" the {counted(comparison.pairs, 'tested pair')} of the whole table. Bold: rank 1;"
            " underlined: rank 2 (docs/tables.md, Tests)."
        )
    yield from _rivals(comparison)
    yield from _gains(comparison)
    if any(not entry.faithful for entry in comparison.entries):
        yield f"{DAGGER} not at the paper's settings; the notes below say what differs."
    yield from _fitted(comparison)
    yield from _collapsed(comparison)
    if printed:
        yield PRINTED_SIGNS


def _test(comparison: Comparison) -> str:
    """How ours was held against the printed numbers."""
    tested = [entry.outcome for entry in comparison.entries if entry.outcome is not None]
    if not tested:
        beside = [entry for entry in comparison.entries if entry.printed is not None]
        if beside and not any(entry.comparable for entry in beside):
            return "Test against the paper: none; its numbers are of another quantity than ours."
        which = " of the cells shown" if comparison.tests else ""
        return f"Test against the paper: none{which}; a test takes two runs or more of ours."
    spread = comparison.definition.spread
    # `others`: runs behind the printed number.
    alone = [not outcome.others for outcome in tested]
    kind = "Welch's, from the printed mean, spread and number of runs"
    if all(alone):
        kind = "against the printed mean alone, as if it were exact"
    elif any(alone):
        kind += "; against the mean alone where no spread over runs is printed"
    return (
        f"Test against the paper: t-tests {kind}; level {LEVEL:g}. A difference is"
        f" Holm-corrected over the {counted(comparison.tests, 'tested cell')} of the whole table;"
        f" equivalence is not (the CSV has both).{' ' * bool(spread)}{spread}"
        + "".join(f" {sentence}" for sentence in _of_printed(comparison))
    )


def _of_printed(comparison: Comparison) -> Iterator[str]:
    """Of which columns the printed spread, or the printed number, takes no part in the test."""
    beside = [
        (entry.column, entry.printed) for entry in comparison.entries if entry.printed is not None
    ]
    alone = "tested against the mean alone, with a margin of one point"
    folds = dict.fromkeys(column for column, value in beside if value.over_folds)
    if folds:
        yield (
            f"The printed spreads of {', '.join(folds)} are over the folds of one"
            f" cross-validation: these are {alone}."
        )
    quoted = dict.fromkeys(column for column, value in beside if value.quoted)
    if quoted:
        yield (
            f"The rows of {', '.join(quoted)} are quoted, and nothing says what their spreads are"
            f" over: these are {alone}."
        )
    unsettled: dict[str, dict[str, list[str]]] = {}
    for entry in comparison.entries:
        if entry.printed is not None and entry.printed.unsettled and entry.printed.mean is not None:
            cells = unsettled.setdefault(entry.printed.unsettled, {})
            cells.setdefault(f"{entry.column} on {entry.dataset}", []).append(entry.metric)
    for why, cells in unsettled.items():
        told = "; ".join(f"{', '.join(metrics)} of {cell}" for cell, metrics in cells.items())
        yield f"Not tested, since the printed number {why}: {told}."


def _gains(comparison: Comparison) -> Iterator[str]:
    """What the gains are, and what runs the controls that are not there."""
    if not any(entry.gains for entry in comparison.entries):
        return
    controls = {gain.control for entry in comparison.entries for gain in entry.gains}
    if any(gain.settled.n for entry in comparison.entries for gain in entry.gains):
        yield (
            f"Gain over controls: ours minus {_named(controls)}, over the seeds that both have"
            " (their number)."
            f" {MARKS[ABOVE]} gains, {MARKS[BELOW]} loses (paired t-tests, Holm-corrected over the"
            f" {counted(comparison.gain_tests, 'gain')} of the whole table), {MARKS[EQUIVALENT]}"
            f" equivalent within one point, {MARKS[UNDETERMINED]} undetermined, with the number of"
            " seeds that would decide it."
        )
    lines = commands(comparison.entries, comparison.definition.typed_dataset)
    if lines:
        more = len(lines) - SHOWN_COMMANDS
        rest = f" and {more} more" if more > 0 else ""
        yield (
            f"Controls that are not run: {'; '.join(lines[:SHOWN_COMMANDS])}{rest}"
            f" (gclbench table {comparison.definition.id} --missing)."
        )


def _named(controls: Collection[str]) -> str:
    """What the gains of a table are over; a collection has no features to compare with."""
    named = [text for control, text in CONTROLS_IN_WORDS.items() if control in controls]
    if {UNIT_ROWS, FILTERED_UNIT_ROWS} & set(controls):
        named.append("such features with rows of length 1 (unit rows)")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _rivals(comparison: Comparison) -> Iterator[str]:
    """How added columns are held against the others."""
    if not comparison.rivals:
        return
    names = ", ".join(dict.fromkeys(rival.own for rival in comparison.rivals))
    yield (
        f"{names} minus the other columns: over the runs that both have of a seed (their number),"
        " on the same graph, split and version of the protocol."
        f" {MARKS[ABOVE]} significantly better, {MARKS[BELOW]} significantly worse (paired t-tests,"
        f" Holm-corrected over the {counted(comparison.rival_tests, 'difference')} of the whole"
        f" table), {MARKS[EQUIVALENT]} equivalent within one point, {MARKS[UNDETERMINED]}"
        " undetermined, with the number of seeds that would decide it. The CSV has every metric."
    )


def _fitted(comparison: Comparison) -> Iterator[str]:
    """The choices behind the fitted cells."""
    names = dict.fromkeys(name for entry in comparison.entries for name in entry.fitted)
    if names:
        yield (
            f"{FITTED} settings chosen after the cell's own labels had been seen (docs/choices.md):"
            f" {'; '.join(names)}."
        )


def _collapsed(comparison: Comparison) -> Iterator[str]:
    """What the sign of degenerate cells means, and how their runs collapsed."""
    found = (record for entry in comparison.entries for record in entry.records)
    names = dict.fromkeys(text for record in found for text in record.degenerate)
    if names:
        yield f"{DEGENERATE} degenerate: a run or more collapsed ({'; '.join(names)})."


def _ranked_rows(comparison: Comparison) -> list[tuple[str, list[Record]]]:
    """The records of each dataset with ranks: of the cells that have one, and of those that they
    were held against."""
    ranked = {entry.dataset for entry in comparison.entries if entry.rank is not None}
    found: dict[str, dict[str, Record]] = {}
    for entry in comparison.entries:
        if entry.dataset in ranked and entry.ours.values and entry.faithful:
            found.setdefault(entry.dataset, {}).update({one.id: one for one in entry.records})
    return [(dataset, [*records.values()]) for dataset, records in found.items()]


def _rest(comparison: Comparison) -> Iterator[str]:
    definition = comparison.definition
    yield from definition.remarks
    yield from _not_built(comparison)
    yield from _footnotes(comparison)
    yield from comparison.notes
    if definition.source == "catalog":
        yield (
            "Counts: gclbench/data/pages/, checked by the tests where the files are there;"
            " `gclbench show dataset=NAME` counts anew."
        )
        return
    if not comparison.runs:
        if comparison.records:
            return
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
    mixed = sentence(
        [(f"{entry.heading} on {entry.dataset}", entry.records) for entry in comparison.entries]
    )
    if mixed:
        yield mixed
    if unlike := sentence(
        _ranked_rows(comparison), "Columns that are ranked together", ("precision",)
    ):
        yield unlike
    if there := [
        f"{entry.heading} on {entry.dataset}"
        for entry in comparison.entries
        if any(record.on_gpu for record in entry.records)
    ]:
        yield f"Computed on a GPU, in whole or in part: {', '.join(dict.fromkeys(there))}."
    if older := sentence_of_versions(
        (f"{entry.heading} on {entry.dataset}", flatten(entry.records[0].spec))
        for entry in comparison.entries
        if entry.ours.values and entry.records
    ):
        yield older
    if controls := told(
        "Controls",
        (
            (f"{gain.control} of {entry.heading} on {entry.dataset}", gain.older)
            for entry in comparison.entries
            for gain in entry.gains
        ),
    ):
        yield controls
    if changed := [
        f"{entry.heading} on {entry.dataset}"
        for entry in comparison.entries
        if any(record.environment.get("commit", "").endswith(CHANGED) for record in entry.records)
    ]:
        yield (
            f"Made with code that had changes which its commit ({CHANGED}) does not hold, in whole"
            f" or in part: {', '.join(dict.fromkeys(changed))}."
        )
    stores = ", ".join(
        f"{count} of {store}"
        for store, count in sorted(comparison.collection.per_store(comparison.runs).items())
    )
    yield f"Records: {len(comparison.runs)} ({stores}). Commits: {', '.join(comparison.commits)}."
