"""What two of our settings say of each other: the verdicts of `verdict`, on paired differences."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gclbench.paper.aggregate import Cell
from gclbench.paper.significance import LEVEL, POINT, Outcome, holm, paired, seeds_needed
from gclbench.paper.verdict import (
    ABOVE,
    BELOW,
    EQUIVALENT,
    FAILED,
    MARKS,
    NOT_RUN,
    UNDETERMINED,
)


@dataclass(frozen=True)
class Settled:
    """A paired difference and its verdict.

    Attributes:
        verdict: of the first against the second: equivalent (TOST, not corrected), above or below
            (after Holm's correction), undetermined, failed seeds, or not run.
        outcome: None with fewer than two common seeds, or with two to four that all have the same
            difference. n: common seeds.
        difference: of the means over the common seeds; None without one.
        p_value: of no difference, after Holm's correction.
        needed: of an undetermined one, how many seeds would decide; None where no number up to
            `significance.MOST_SEEDS` would, or one seed does not tell.
    """

    verdict: str
    n: int
    difference: float | None = None
    outcome: Outcome | None = None
    p_value: float | None = None
    needed: int | None = None

    @property
    def mark(self) -> str:
        """`▲`, `~24`; "" where nothing was tested."""
        seeds = self.needed if self.verdict == UNDETERMINED and self.needed else ""
        return f"{MARKS.get(self.verdict, '')}{seeds}"

    def show(self, factor: float) -> str:
        """`+5.12 (10) ▲`, or why there is nothing.

        Args:
            factor: what the difference is multiplied by: 100 for fractions in percent.
        """
        if self.difference is None or self.verdict == NOT_RUN:
            return self.verdict
        gap = f"{factor * self.difference:+.2f}".replace("-", "−")
        said = self.mark or ("" if self.outcome else self.verdict)
        return f"{gap} ({self.n}) {said}".rstrip()


def settled(
    pairs: Sequence[tuple[Cell, Cell]], fractions: Sequence[bool], lower: Sequence[bool]
) -> tuple[list[Settled], int]:
    """The verdict of every pair of cells, over the seeds that both have, and the number of tests.

    Differences are one family for Holm's correction. A cell with failed seeds is not tested: what
    is left of it says nothing alone.

    Args:
        fractions: whether a pair's numbers are fractions, with one point as margin; others have
            none. lower: whether the smaller of two is the better one.
    """
    outcomes = [
        None if one.absent or other.absent else paired(one.values, other.values, POINT * fraction)
        for (one, other), fraction in zip(pairs, fractions, strict=True)
    ]
    corrected = holm([None if each is None else each.p_difference for each in outcomes])
    tests = sum(each is not None for each in outcomes)
    found = []
    for pair, outcome, p_value, is_lower in zip(pairs, outcomes, corrected, lower, strict=True):
        verdict = _verdict(pair, outcome, p_value, is_lower)
        undecided = outcome is not None and verdict == UNDETERMINED
        needed = (
            seeds_needed(outcome, tests, beyond=outcome.n)
            if outcome is not None and undecided
            else None
        )
        difference = _difference(*pair)
        n = len(common(*pair))
        found.append(Settled(verdict, n, difference, outcome, p_value, needed))
    return found, tests


def common(one: Cell, other: Cell) -> list[int]:
    """The seeds that both have a value of, in order."""
    return sorted(set(one.values) & set(other.values))


def _difference(one: Cell, other: Cell) -> float | None:
    seeds = common(one, other)
    gaps = [one.values[seed] - other.values[seed] for seed in seeds]
    return statistics.fmean(gaps) if gaps else None


def _verdict(
    pair: tuple[Cell, Cell], outcome: Outcome | None, p_value: float | None, lower: bool
) -> str:
    if any(cell.absent for cell in pair):
        return FAILED
    if not common(*pair):
        return NOT_RUN
    if outcome is None or p_value is None:
        return UNDETERMINED
    if outcome.p_equivalence < LEVEL:
        return EQUIVALENT
    if p_value >= LEVEL:
        return UNDETERMINED
    return ABOVE if (outcome.difference > 0) != lower else BELOW
