"""The lines of a comparison of two sides as texts and as numbers."""

from __future__ import annotations

from gclbench.machine.messages import counted
from gclbench.paper.aggregate import Cell
from gclbench.paper.fitted import FITTED
from gclbench.paper.head_to_head import HeadToHead, Line
from gclbench.paper.metrics import Quantity
from gclbench.paper.paired_verdict import Settled
from gclbench.paper.significance import LEVEL, MOST_SEEDS
from gclbench.paper.verdict import ABOVE, BELOW, EQUIVALENT, UNDETERMINED

HEAD = ("dataset", "task", "metric", "A", "B", "A − B", "90 % interval", "seeds", "verdict")
FIELDS = (
    "a",
    "b",
    "dataset",
    "task",
    "metric",
    "a_mean",
    "a_std",
    "b_mean",
    "b_std",
    "difference",
    "low",
    "high",
    "n",
    "verdict",
    "margin",
    "p_holm",
    "p_equivalence",
    "seeds_needed",
    "fitted",
)
"""Of the CSV: fractions are fractions."""


def texts(found: HeadToHead) -> list[list[str]]:
    """A row per line, as shown; with the seeds that would decide an undetermined one."""
    return [_texts(line) for line in found.lines]


def _texts(line: Line) -> list[str]:
    shown, verdict = line.shown, line.settled
    sides = [_side(cell, shown) for cell in line.cells]
    outcome, interval = verdict.outcome, ""
    if outcome is not None and outcome.interval is not None:
        interval = " to ".join(f"{shown.factor * end:+.2f}" for end in outcome.interval)
    gap = "" if verdict.difference is None else _signed(shown.factor * verdict.difference)
    numbers = [text.replace("-", "−") for text in (*sides, gap, interval)]
    sign = f" {FITTED}" if line.fitted else ""
    names = [line.dataset, line.task, shown.name]
    return [*names, *numbers, str(verdict.n), f"{_verdict(line)}{sign}"]


def _signed(value: float) -> str:
    """`+0.00` of what rounds to nothing; an interval's ends keep their sign, which says whether it
    holds zero."""
    return f"{round(value, 2) + 0.0:+.2f}"


def _side(cell: Cell, shown: Quantity) -> str:
    if cell.mean is None:
        return cell.show()
    spread = "" if cell.std is None else f" ± {shown.factor * cell.std:.2f}"
    absent = f" ({cell.show_absent()})" if cell.absent else ""
    return f"{shown.factor * cell.mean:.2f}{spread}{absent}"


def _verdict(line: Line) -> str:
    better = "higher" if line.shown.better == "neither" else "better"
    words = {
        ABOVE: f"A {better}",
        BELOW: f"B {better}",
        EQUIVALENT: "equivalent within one point" if line.shown.is_fraction else "equal",
    }
    found = line.settled
    if found.verdict != UNDETERMINED:
        return words.get(found.verdict, found.verdict)
    if found.outcome is None:
        return _untested(found) or f"{UNDETERMINED} (one seed)"
    return f"{UNDETERMINED} ({found.needed or f'more than {MOST_SEEDS}'} seeds would decide)"


def _untested(found: Settled) -> str:
    """What is said of sides that differ by the same in every seed; "" of others."""
    if found.outcome is not None or found.n < 2:
        return ""
    return "the same in every seed, not tested" if found.difference else "a tie in every seed"


def numbers(found: HeadToHead) -> list[list[str]]:
    """A row of FIELDS per line."""
    rows = []
    for line in found.lines:
        outcome, one, other = line.settled.outcome, *line.cells
        low, high = (outcome and outcome.interval) or (None, None)
        values = [one.mean, one.std, other.mean, other.std, line.settled.difference, low, high]
        tested = [outcome.margin if outcome else None, line.settled.p_value]
        tested += [outcome.p_equivalence if outcome else None]
        rows.append(
            [
                *found.sides,
                line.dataset,
                line.task,
                line.shown.name,
                *("" if value is None else f"{value:.6f}" for value in values),
                str(line.settled.n),
                _untested(line.settled) or line.settled.verdict,
                *("" if value is None else f"{value:.4g}" for value in tested),
                str(line.settled.needed or ""),
                "; ".join(line.fitted),
            ]
        )
    return rows


def legend(found: HeadToHead) -> list[str]:
    """Sentences under the rows."""
    fitted = dict.fromkeys(name for line in found.lines for name in line.fitted)
    return [
        f"A: {found.sides[0]}. B: {found.sides[1]}. Over the seeds that both have; fractions in"
        " percent.",
        f"Paired t-tests, level {LEVEL:g}, Holm-corrected over"
        f" {counted(found.tests, 'line')}; equivalent: two one-sided tests, not corrected.",
        *(
            [f"{FITTED} chosen after these labels had been seen: {'; '.join(fitted)}."]
            * bool(fitted)
        ),
        *found.remarks,
    ]
