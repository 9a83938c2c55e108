"""Whether two means differ, whether they are equivalent, and what it takes to tell.

t-tests, two one-sided tests (TOST, Schuirmann 1987), Holm's correction, power. SciPy and
statsmodels do the statistics. Both take a second to import, so they are imported when needed and
what they found is kept. Nothing here knows of tables. Numbers are as recorded: fractions for
metrics that are shown in percent.
"""

from __future__ import annotations

import functools
import gc
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gclbench.paper.kept_results import Results

kept = Results(Path(__file__))

LEVEL = 0.05
"""Of every test."""

POWER = 0.8
"""With which an effect is said to be detectable, and a number of seeds to decide."""

POINT = 0.01
"""One percentage point: the least margin of equivalence, for metrics that are fractions."""

ALIKE = 5
"""So many runs with one value are taken for a method without randomness. Accuracies are quantised:
two or three may coincide by chance."""

TRIED_AT_ONCE = 12
"""Numbers of runs whose power is found together."""

MOST_SEEDS = 1000
"""No larger number of seeds is computed."""

ROUNDING = 1e-12
"""A spread below this is rounding. A difference of exactly the margin must not fail by its last
bit either."""


@dataclass(frozen=True)
class Outcome:
    """How one mean compares with another.

    Attributes:
        difference: the first minus the second. margin: differences within it do not matter.
        p_difference: two-sided p-value of no difference. p_equivalence: p-value of TOST, of a
            difference of at least the margin.
        spread: standard deviation of our runs' differences. n: runs of ours.
        error: standard error of the other mean, which more runs of ours do not make smaller.
            others: runs behind it; 0 for a mean that is taken as exact.
        interval: of the difference, at 1 − 2·LEVEL; equivalence is its lying within the margin.
            None where it was not asked for.
    """

    difference: float
    margin: float
    p_difference: float
    p_equivalence: float
    spread: float
    n: int
    error: float = 0.0
    others: int = 0
    interval: tuple[float, float] | None = None

    @property
    def detectable(self) -> float:
        """The least true difference that so many runs find with POWER; 0 without spread."""
        error = self.error_with(self.n)
        return error * _detectable_shift(self.degrees_with(self.n)) if error else 0.0

    def error_with(self, runs: Any) -> Any:
        """The standard error of the difference with so many runs of ours, a number or an array."""
        return (self.spread**2 / runs + self.error**2) ** 0.5

    def degrees_with(self, runs: Any) -> Any:
        """The degrees of freedom of its t-test: Welch's where the other mean has an error."""
        if not self.error:
            return runs - 1
        ours, theirs = self.spread**2 / runs, self.error**2
        return (ours + theirs) ** 2 / (ours**2 / (runs - 1) + theirs**2 / (self.others - 1))


def against_value(values: Sequence[float], target: float, margin: float) -> Outcome | None:
    """Runs against a number that is taken as exact, such as a printed mean.

    Returns:
        None with fewer than two runs. Runs that all give the same value are compared exactly; None
            where they are fewer than ALIKE, which may agree by chance.
    """
    if len(values) < 2:
        return None
    gap, spread = statistics.fmean(values) - target, statistics.stdev(values)
    if spread <= ROUNDING:
        return _exact(gap, margin, len(values)) if len(values) >= ALIKE else None
    low, high, p_difference, p_equivalence = _against_zero(
        [float(value - target) for value in values], float(margin + ROUNDING)
    )
    return Outcome(
        gap, margin, p_difference, p_equivalence, spread, len(values), interval=(low, high)
    )


@kept
def _against_zero(gaps: list[float], within: float) -> list[float]:
    """Interval, p-value of no difference, p-value of TOST."""
    from statsmodels.stats.weightstats import DescrStatsW

    found = DescrStatsW(gaps)
    low, high = found.tconfint_mean(alpha=2 * LEVEL)
    tests = found.ttest_mean(0)[1], found.ttost_mean(-within, within)[0]
    return [float(value) for value in (low, high, *tests)]


def against_runs(
    values: Sequence[float], mean: float, std: float, runs: int, margin: float
) -> Outcome | None:
    """Runs against the mean, standard deviation (ddof=1) and number of other runs: Welch (1947).

    Returns:
        None with fewer than two runs on a side, or with fewer than ALIKE where neither side has a
            spread.
    """
    if min(len(values), runs) < 2:
        return None
    own, spread, n = statistics.fmean(values), statistics.stdev(values), len(values)
    if max(spread, std) <= ROUNDING:
        return replace(_exact(own - mean, margin, n), others=runs) if n >= ALIKE else None
    p_difference, p_equivalence = _welch(
        [own, spread, n], [float(mean), float(std), int(runs)], float(margin + ROUNDING)
    )
    error = std / math.sqrt(runs)
    return Outcome(own - mean, margin, p_difference, p_equivalence, spread, n, error, runs)


@kept
def _welch(ours: list[float], others: list[float], within: float) -> list[float]:
    """P-value of no difference, p-value of TOST, of two (mean, standard deviation, number)."""
    from scipy.stats import ttest_ind_from_stats

    own, *spread = ours

    def p_value(shift: float, alternative: str) -> float:
        found = ttest_ind_from_stats(
            own + shift, *spread, *others, equal_var=False, alternative=alternative
        )
        return float(found.pvalue)

    return [p_value(0, "two-sided"), max(p_value(within, "greater"), p_value(-within, "less"))]


def paired(ours: Mapping[int, float], others: Mapping[int, float], margin: float) -> Outcome | None:
    """Two settings over the seeds that both have (Student 1908).

    Returns:
        None as `against_value` gives it: with fewer than two common seeds, or with two to four that
        all have the same difference.
    """
    gaps = [ours[seed] - others[seed] for seed in sorted(set(ours) & set(others))]
    return against_value(gaps, 0.0, margin)


def paired_p_values(
    pairs: Sequence[tuple[Mapping[int, float], Mapping[int, float]]],
) -> list[float | None]:
    """Two-sided p-values of the paired t-test of many pairs over their common seeds.

    Returns:
        None with fewer than two common seeds. None, too, where the difference is the same in all of
            them but not zero: without a spread there is nothing to test with. 1 where it is zero in
            all of them.
    """
    found: list[float | None] = [None] * len(pairs)
    alike: dict[int, list[tuple[int, list[float]]]] = {}
    for place, (ours, others) in enumerate(pairs):
        gaps = [ours[seed] - others[seed] for seed in sorted(set(ours) & set(others))]
        if len(gaps) < 2:
            continue
        if max(gaps) - min(gaps) > ROUNDING:
            alike.setdefault(len(gaps), []).append((place, gaps))
        elif abs(gaps[0]) <= ROUNDING:
            found[place] = 1.0
    # A table has thousands of pairs: those with as many seeds are tested together.
    for members in alike.values():
        p_values = _t_tests([gaps for _, gaps in members])
        for (place, _), p_value in zip(members, p_values, strict=True):
            found[place] = p_value
    return found


@kept
def _t_tests(gaps: list[list[float]]) -> list[float]:
    from scipy.stats import ttest_1samp

    return [float(p_value) for p_value in ttest_1samp(gaps, 0.0, axis=1).pvalue]


def _exact(gap: float, margin: float, n: int) -> Outcome:
    """Of numbers without spread: what differs by more than rounding differs."""
    differs, within = abs(gap) > ROUNDING, abs(gap) <= margin + ROUNDING
    return Outcome(
        gap, margin, 0.0 if differs else 1.0, 0.0 if within else 1.0, 0.0, n, interval=(gap, gap)
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values (Holm 1979) of one family; None stays None and does not
    count."""
    tested = [value for value in p_values if value is not None]
    if not tested:
        return [None] * len(p_values)
    adjusted = iter(_holm([float(value) for value in tested]))
    return [None if value is None else next(adjusted) for value in p_values]


@kept
def _holm(p_values: list[float]) -> list[float]:
    from statsmodels.stats.multitest import multipletests

    # It collects garbage, which takes half a second beside thousands of records.
    gc.freeze()
    try:
        return [float(value) for value in multipletests(p_values, method="holm")[1]]
    finally:
        gc.unfreeze()


def seeds_needed(outcome: Outcome, tests: int, level: float = LEVEL, beyond: int = 0) -> int | None:
    """The least number of seeds that would decide, were the difference and the spread the true
    ones: find the difference, or show equivalence, with POWER. The other mean stays as it is.
    Where it is of few runs, the power may fall with more of ours: Welch's degrees of freedom go
    down to those of the other mean.

    Args:
        tests: of the family; a difference must be found at `level` / tests, as Holm's first step
            asks. level: of each test; equivalence is tested at it as it is. beyond: the number is
            larger than this, as that of the seeds that did not decide.

    Returns:
        None where no number up to MOST_SEEDS would, nor one beyond.
    """
    if not (outcome.spread or outcome.error):
        return max(2, beyond + 1)
    plain = {key: value for key, value in asdict(outcome).items() if key != "interval"}
    return _least_seeds(plain, tests, level, beyond)


@kept
def _least_seeds(values: dict[str, Any], tests: int, level: float, beyond: int) -> int | None:
    import numpy as np

    outcome = Outcome(**values)
    runs, gap = np.arange(2, MOST_SEEDS + 1), abs(outcome.difference)
    first_step = level / max(tests, 1) / 2

    def found(runs: Any) -> Any:
        return _power(outcome, gap, runs, first_step)

    def shown(runs: Any) -> Any:
        # Both one-sided tests must reject, which they do at least as often as this.
        sides = [_power(outcome, outcome.margin + side * gap, runs, level) for side in (-1, 1)]
        return sides[0] + sides[1] - 1

    # A difference beyond the margin is never shown to be equivalent.
    powers = [found, shown] if gap < outcome.margin else [found]
    if outcome.error:
        enough = np.any([power(runs) >= POWER for power in powers], axis=0) & (runs > beyond)
        return int(runs[enough][0]) if enough.any() else None
    least = [first for power in powers if (first := _first(power, runs)) is not None]
    return max(min(least), beyond + 1) if least else None


def _first(power: Callable[[Any], Any], runs: Any) -> int | None:
    """The first number of runs with POWER, None where no number has; the power grows with them.

    Only some of them are tried: the noncentral t-distribution takes a second for ten thousand.
    """
    import numpy as np

    low, high = 0, len(runs) - 1
    if not power(runs[high:])[0] >= POWER:
        return None
    while low < high:
        tried = np.unique(np.linspace(low, high, TRIED_AT_ONCE).astype(int))
        place = int((power(runs[tried]) >= POWER).argmax())
        low, high = (tried[place - 1] + 1 if place else tried[0]), tried[place]
    return int(runs[high])


def _power(outcome: Outcome, shift: float, runs: Any, level: float) -> Any:
    """Of a one-sided test of a true difference, by numbers of runs of ours.

    A two-sided test has half the level on each side; to find a difference of the wrong sign is not
    to find it. Against an exact mean this is the noncentral t-distribution: SciPy's, since
    statsmodels' two-sided power is nan for one number of seeds in eight. Against other runs, whose
    mean does not change when we run more, it is the normal approximation with the variance of our
    standard deviation (Johnson and Welch 1940).
    """
    import numpy as np
    from scipy.stats import nct, norm, t

    error, degrees = outcome.error_with(runs), outcome.degrees_with(runs)
    critical = t.isf(level, degrees)
    if not outcome.error:
        return nct.sf(critical, degrees, shift / error)
    own = outcome.spread**2 / runs
    spread = np.sqrt(own + (critical * own / error) ** 2 / (2 * (runs - 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return norm.sf((critical * error - shift) / spread)


@functools.cache
@kept
def _detectable_shift(degrees: float) -> float:
    """The least difference, in standard errors, that a two-sided test at LEVEL finds with POWER."""
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = t.isf(LEVEL / 2, degrees)
    return float(brentq(lambda shift: nct.sf(critical, degrees, shift) - POWER, 0, 100))
