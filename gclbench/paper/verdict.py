"""What a cell says of a printed number: equivalent, above, below, undetermined, or nothing.

equivalent: TOST rejects a difference of the margin, one point or the printed std, the larger.
above, below: not equivalent; the difference is significant after Holm's correction over the table.
undetermined: neither, so far.
failed seeds: a run ended without a value, and the others say nothing alone.
not comparable: other settings than the paper's, a number that carries over to no other machine, or
    a printed one that is doubted or did not converge.
not run: there is no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gclbench.paper.aggregate import FAILURES
from gclbench.paper.reference import PrintedValue
from gclbench.paper.significance import (
    LEVEL,
    POINT,
    Outcome,
    against_runs,
    against_value,
    holm,
    seeds_needed,
)

if TYPE_CHECKING:
    from gclbench.paper.filled_table import Entry

EQUIVALENT = "equivalent"
ABOVE = "above"
BELOW = "below"
UNDETERMINED = "undetermined"
FAILED = "failed seeds"
NOT_COMPARABLE = "not comparable"
NOT_RUN = "not run"
DECIDED = (EQUIVALENT, ABOVE, BELOW)
VERDICTS = (*DECIDED, UNDETERMINED, FAILED, NOT_COMPARABLE, NOT_RUN)
"""Of a cell with a printed mean, in the order of the summary."""

AS_PRINTED = "as printed"
OTHERWISE = "not as printed"
"""Of a setting or a count, which is no result of runs."""

MARKS = {EQUIVALENT: "✓", AS_PRINTED: "✓", ABOVE: "▲", BELOW: "▼", UNDETERMINED: "~"}


def margin_of(printed: PrintedValue, is_fraction: bool) -> float:
    """How far ours may be from a printed mean and still be called equivalent: one point or the
    printed spread, whichever is larger; one over folds, or of a quoted row, does not count."""
    spread = 0.0 if printed.over_folds or printed.quoted else printed.std or 0.0
    return max(spread, POINT if is_fraction else 0.0)


def judged(entries: Sequence[Entry]) -> tuple[list[Entry], int]:
    """The entries of a table of results with their verdicts, and the number of tests.

    A printed spread enters the test where it is over a known number of trainings (Welch). Else ours
    is tested against the printed mean alone, as if that were exact.
    """
    outcomes = [_outcome(entry) for entry in entries]
    of_difference = holm([None if each is None else each.p_difference for each in outcomes])
    of_equivalence = holm([None if each is None else each.p_equivalence for each in outcomes])
    tests = sum(each is not None for each in outcomes)
    found = []
    for place, (entry, outcome) in enumerate(zip(entries, outcomes, strict=True)):
        verdict = _verdict(entry, outcome, of_difference[place])
        found.append(
            replace(
                entry,
                verdict=verdict,
                outcome=outcome,
                p_value=of_difference[place],
                p_equivalence=of_equivalence[place],
                needed=seeds_needed(outcome, tests, beyond=outcome.n)
                if outcome is not None and verdict == UNDETERMINED
                else None,
            )
        )
    return found, tests


def not_judged(entry: Entry) -> Entry:
    """An entry of a table whose numbers carry over to no other machine or setting."""
    if entry.printed is None or entry.printed.mean is None:
        return entry
    return replace(entry, verdict=_without_test(entry) or NOT_COMPARABLE)


def _outcome(entry: Entry) -> Outcome | None:
    """The test of a cell, None where there is nothing to test."""
    printed = entry.printed
    if (
        printed is None
        or printed.mean is None
        or _without_test(entry)
        or entry.shown.better == "neither"
    ):
        return None
    margin, values = margin_of(printed, entry.shown.is_fraction), [*entry.ours.values.values()]
    if printed.runs is not None and printed.std is not None:
        return against_runs(values, printed.mean, printed.std, printed.runs, margin)
    return against_value(values, printed.mean, margin)


def _without_test(entry: Entry) -> str:
    """The verdict of a cell that no test can give one; "" for one that a test can."""
    if any(reason in entry.ours.absent for reason in FAILURES):
        return FAILED
    if entry.ours.mean is None:
        return NOT_COMPARABLE if entry.ours.absent else NOT_RUN
    unsettled = entry.printed is not None and entry.printed.unsettled
    return "" if entry.faithful and entry.comparable and not unsettled else NOT_COMPARABLE


def _verdict(entry: Entry, outcome: Outcome | None, p_value: float | None) -> str:
    """Of a cell with a printed mean; "" for others."""
    if entry.printed is None or entry.printed.mean is None:
        return ""
    without = _without_test(entry)
    if without:
        return without
    if entry.shown.better == "neither":
        return NOT_COMPARABLE
    if outcome is None or p_value is None:
        return UNDETERMINED
    if outcome.p_equivalence < LEVEL:
        return EQUIVALENT
    if p_value >= LEVEL:
        return UNDETERMINED
    return ABOVE if (outcome.difference > 0) != entry.shown.lower_is_better else BELOW
