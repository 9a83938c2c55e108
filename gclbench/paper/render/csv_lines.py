"""CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from gclbench.paper.filled_table import Comparison
from gclbench.paper.gains import CONTROLS
from gclbench.paper.rivals import Rival

GAINS = tuple(
    f"{what}{control.replace(' ', '_')}"
    for control in CONTROLS
    for what in ("gain_over_", "gain_seeds_", "gain_verdict_")
)
"""Ours minus the control's over the seeds that both have; fractions."""

OF_BOTH = (
    "difference",
    "verdict",
    "tested_against",
    "margin",
    "p_holm",
    "p_equivalence",
    "p_equivalence_holm",
    "detectable",
    "seeds_needed",
)
FIELDS = [
    "table",
    "dataset",
    "metric",
    "column",
    "ours",
    "ours_mean",
    "ours_std",
    "n",
    "without_value",
    "rank",
    "paper",
    "paper_mean",
    "paper_std",
    "paper_runs",
    "paper_note",
    *OF_BOTH,
    "paper_settings",
    "fitted",
    *GAINS,
    "command",
]
OF_THE_PAPER = (
    "paper",
    "paper_mean",
    "paper_std",
    "paper_runs",
    "paper_note",
    *OF_BOTH,
)
OF_OURS = (
    "ours",
    "ours_mean",
    "ours_std",
    "n",
    "without_value",
    "rank",
    "paper_settings",
    "fitted",
    *GAINS,
    "command",
    *OF_BOTH,
)
CROSSED = (
    "dataset",
    "measure",
    "base",
    "negatives",
    "setting",
    "mean",
    "std",
    "n",
    "without_value",
    "fitted",
)
"""Of a table of bases × strategies: a line per recorded setting, to six digits."""


def csv_of(comparisons: Sequence[Comparison], only: str = "") -> str:
    """Tables without added columns one after the other, under one line of headings."""
    texts = [as_csv(comparison, only) for comparison in comparisons]
    return "".join([*texts[:1], *(text.partition("\n")[2] for text in texts[1:])])


def as_csv(comparison: Comparison, only: str = "") -> str:
    """One line per cell; results are fractions, `ours` and `paper` are as shown.

    Args:
        only: `ours` or `paper`; "" for both.
    """
    if comparison.definition.crossed:
        return _crossed(comparison)
    fields_of = {
        own: _fields_of(own) for own in dict.fromkeys(each.own for each in comparison.rivals)
    }
    rivals: dict[tuple[str, str, str], list[Rival]] = {}
    for each in comparison.rivals:
        rivals.setdefault((each.dataset, each.metric, each.column), []).append(each)
    left_out = OF_THE_PAPER if only == "ours" else OF_OURS if only == "paper" else ()
    fields = [name for name in FIELDS if name not in left_out]
    if only != "paper":
        fields += [name for names in fields_of.values() for name in names]
    file = io.StringIO()
    writer = csv.DictWriter(file, fields, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for entry in comparison.entries:
        ours, theirs, outcome = entry.ours, entry.printed, entry.outcome
        values: dict[str, Any] = {
            "table": comparison.definition.id,
            "dataset": entry.dataset,
            "metric": entry.metric,
            "column": entry.column,
            "ours": ours.show(entry.factor),
            "ours_mean": _number(ours.mean),
            "ours_std": _number(ours.std),
            "n": ours.n,
            "without_value": ours.show_absent(),
            "rank": entry.rank or "",
            "difference": _number(entry.difference),
            "verdict": entry.verdict,
            "p_holm": _p_value(entry.p_value),
            "p_equivalence_holm": _p_value(entry.p_equivalence),
            "seeds_needed": entry.needed or "",
            "paper_settings": "yes" if entry.faithful else "no",
            "fitted": "; ".join(entry.fitted),
            "command": entry.command,
        }
        if outcome is not None:
            values["tested_against"] = "runs" if outcome.others else "printed mean"
            values["p_equivalence"] = _p_value(outcome.p_equivalence)
            values |= {"margin": _number(outcome.margin)}
            values |= {"detectable": _number(outcome.detectable)}
        if theirs is not None:
            values["paper"] = theirs.show()
            values |= {"paper_mean": _number(theirs.mean), "paper_std": _number(theirs.std)}
            values |= {"paper_runs": theirs.runs or "", "paper_note": theirs.note}
        for gain in entry.gains:
            name, found = gain.control.replace(" ", "_"), gain.settled
            values[f"gain_over_{name}"] = _number(found.difference)
            values |= {f"gain_seeds_{name}": found.n, f"gain_verdict_{name}": found.verdict}
        for each in rivals.get((entry.dataset, entry.metric, entry.column), ()):
            found = each.settled
            told = (_number(found.difference), found.n, _p_value(found.p_value), found.verdict)
            values |= zip(fields_of[each.own], told, strict=True)
        writer.writerow(values)
    return file.getvalue()


def _fields_of(own: str) -> tuple[str, ...]:
    """In the line of another column: the added one minus it, over which seeds, and the verdict."""
    return tuple(f"{what} of {own}" for what in ("difference", "seeds", "p_holm", "verdict"))


def _crossed(comparison: Comparison) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CROSSED)
    for entry in comparison.entries:
        measure = comparison.definition.measure(entry.metric)
        base = measure.base.label if measure.base is not None else ""
        for what, cell in entry.ours.apart():
            spread = ["" if value is None else f"{value:.6g}" for value in (cell.mean, cell.std)]
            head = (entry.dataset, measure.heading, base, entry.column, what)
            fitted = "; ".join(entry.fitted)
            writer.writerow([*head, *spread, cell.n, cell.show_absent(), fitted])
    return file.getvalue()


def _p_value(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
