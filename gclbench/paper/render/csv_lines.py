"""CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from gclbench.paper.filled_table import Comparison

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
    "difference",
    "p_holm",
    "mark",
    "paper_settings",
    "command",
]
OF_THE_PAPER = (
    "paper",
    "paper_mean",
    "paper_std",
    "paper_runs",
    "paper_note",
    "difference",
    "p_holm",
    "mark",
)
OF_OURS = (
    "ours",
    "ours_mean",
    "ours_std",
    "n",
    "without_value",
    "rank",
    "paper_settings",
    "command",
    "difference",
    "p_holm",
    "mark",
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
)
"""Of a table of bases × strategies: a line per recorded setting, to six digits."""


def as_csv(comparison: Comparison, only: str = "") -> str:
    """One line per cell; results are fractions, `ours` and `paper` are as shown.

    Args:
        only: `ours` or `paper`; "" for both.
    """
    if comparison.definition.crossed:
        return _crossed(comparison)
    left_out = OF_THE_PAPER if only == "ours" else OF_OURS if only == "paper" else ()
    fields = [name for name in FIELDS if name not in left_out]
    file = io.StringIO()
    writer = csv.DictWriter(file, fields, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for entry in comparison.entries:
        ours, theirs = entry.ours, entry.printed
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
            "p_holm": "" if entry.p_value is None else f"{entry.p_value:.4g}",
            "mark": entry.mark,
            "paper_settings": "yes" if entry.faithful else "no",
            "command": entry.command,
        }
        if theirs is not None:
            values["paper"] = theirs.show()
            values |= {"paper_mean": _number(theirs.mean), "paper_std": _number(theirs.std)}
            values |= {"paper_runs": theirs.runs or "", "paper_note": theirs.note}
        writer.writerow(values)
    return file.getvalue()


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
            writer.writerow([*head, *spread, cell.n, cell.show_absent()])
    return file.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
