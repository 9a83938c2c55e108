"""The statistics against formulas written down anew, and against simulated runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from gclbench.paper.significance import (
    LEVEL,
    MOST_SEEDS,
    POWER,
    Outcome,
    against_runs,
    against_value,
    holm,
    paired,
    seeds_needed,
)

THREE = [0.70, 0.72, 0.74]
"""Mean 0.72, standard deviation 0.02, standard error 0.02/√3."""


def two_of_freedom(t: float) -> float:
    """P(T > t) of a t with two degrees of freedom, which has a closed form."""
    return (1 - t / math.sqrt(2 + t**2)) / 2


def of(gap: float, spread: float, n: int = 10, margin: float = 0.01, **other: float) -> Outcome:
    """What some runs gave, whatever their p-values."""
    return Outcome(gap, margin, 1.0, 1.0, spread, n, **other)


def test_a_printed_mean_by_hand() -> None:
    found = against_value(THREE, 0.70, 0.05)
    assert found is not None and found.n == 3 and found.error == 0 and found.others == 0
    assert (found.difference, found.spread) == (pytest.approx(0.02), pytest.approx(0.02))
    # √3 standard errors above; 7 and 3 thirds of them within the margin on either side.
    root = math.sqrt(3)
    assert found.p_difference == pytest.approx(2 * two_of_freedom(root))
    assert found.p_equivalence == pytest.approx(two_of_freedom(0.03 / 0.02 * root), rel=1e-6)


@pytest.mark.parametrize("shift", [-0.03, -0.004, 0.0, 0.007, 0.05])
def test_a_printed_mean_by_scipy(shift: float) -> None:
    values = [0.7 + shift + step for step in np.random.default_rng(1).normal(0, 0.02, 8)]
    found, margin = against_value(values, 0.7, 0.015), 0.015
    assert found is not None
    assert found.p_difference == pytest.approx(stats.ttest_1samp(values, 0.7).pvalue)
    above = stats.ttest_1samp(values, 0.7 - margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, 0.7 + margin, alternative="less").pvalue
    assert found.p_equivalence == pytest.approx(max(above, below), rel=1e-6)
    # The interval of 90 % lies within the margin where both tests at 5 % reject.
    half = stats.t.ppf(0.95, 7) * np.std(values, ddof=1) / math.sqrt(8)
    assert found.interval == pytest.approx((found.difference - half, found.difference + half))
    within = all(abs(end) < margin for end in found.interval or ())
    assert within == (found.p_equivalence < LEVEL)


def welch(gap: float, std: float, n: int, other_std: float, other_n: int) -> tuple[float, float]:
    """(standard errors, degrees of freedom) of Welch's test."""
    one, two = std**2 / n, other_std**2 / other_n
    degrees = (one + two) ** 2 / (one**2 / (n - 1) + two**2 / (other_n - 1))
    return gap / math.sqrt(one + two), degrees


@pytest.mark.parametrize("mean", [0.66, 0.70, 0.719, 0.72, 0.74])
def test_other_runs_by_hand(mean: float) -> None:
    found = against_runs(THREE, mean, 0.05, 10, 0.06)
    assert found is not None and (found.n, found.others) == (3, 10)
    assert found.error == pytest.approx(0.05 / math.sqrt(10))
    t, degrees = welch(0.72 - mean, 0.02, 3, 0.05, 10)
    assert found.p_difference == pytest.approx(2 * stats.t.sf(abs(t), degrees))
    upper, _ = welch(0.06 - (0.72 - mean), 0.02, 3, 0.05, 10)
    lower, _ = welch(0.06 + (0.72 - mean), 0.02, 3, 0.05, 10)
    assert found.p_equivalence == pytest.approx(stats.t.sf(min(upper, lower), degrees), rel=1e-6)


def test_other_runs_by_scipy() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.7, 0.02, 7), rng.normal(0.72, 0.05, 10)
    found = against_runs([*ours], theirs.mean(), theirs.std(ddof=1), 10, 0.01)
    assert found is not None
    assert found.p_difference == pytest.approx(stats.ttest_ind(ours, theirs, equal_var=False)[1])


def test_other_runs_without_a_spread_are_a_number() -> None:
    found, alone = against_runs(THREE, 0.70, 0.0, 10, 0.01), against_value(THREE, 0.70, 0.01)
    assert found is not None and alone is not None
    assert found.p_difference == pytest.approx(alone.p_difference)
    assert found.p_equivalence == pytest.approx(alone.p_equivalence)


def test_pairs_are_tested_over_the_common_seeds() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.7, 0.02, 8), rng.normal(0.69, 0.02, 8)
    left = dict(enumerate(ours)) | {20: 0.1}
    right = dict(reversed([*enumerate(theirs)])) | {30: 0.9}
    found, turned = paired(left, right, 0.01), paired(right, left, 0.01)
    assert found is not None and turned is not None and found.n == 8
    assert found.difference == pytest.approx(np.mean(ours - theirs))
    assert found.p_difference == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert turned.p_difference == pytest.approx(found.p_difference)
    assert turned.difference == pytest.approx(-found.difference)


@pytest.mark.parametrize(
    ("target", "p_difference", "p_equivalence"),
    [
        (0.70, 1.0, 0.0),
        (0.1 + 0.6, 1.0, 0.0),  # differs in the last bit
        (0.705, 0.0, 0.0),
        (0.71, 0.0, 0.0),  # exactly the margin
        (0.7101, 0.0, 1.0),
    ],
)
def test_numbers_without_spread_are_compared_exactly(
    target: float, p_difference: float, p_equivalence: float
) -> None:
    for found in (
        against_value([0.70] * 5, target, 0.01),
        against_runs([0.70] * 5, target, 0.0, 10, 0.01),
        paired(
            {seed: 0.7 + seed / 10 for seed in range(5)},
            {seed: target + seed / 10 for seed in range(5)},
            0.01,
        ),
    ):
        assert found is not None and found.spread == 0 and found.detectable == 0
        assert (found.p_difference, found.p_equivalence) == (p_difference, p_equivalence)


def test_few_equal_numbers_may_agree_by_chance() -> None:
    assert against_value([0.70] * 4, 0.72, 0.01) is None
    assert against_runs([0.70] * 4, 0.72, 0.0, 10, 0.01) is None
    assert paired(dict.fromkeys(range(4), 0.7), dict.fromkeys(range(4), 0.6), 0.01) is None


def test_nothing_to_test_with() -> None:
    assert against_value([], 0.7, 0.01) is None and against_value([0.7], 0.7, 0.01) is None
    assert against_runs([0.7], 0.7, 0.01, 10, 0.01) is None
    assert against_runs(THREE, 0.7, 0.01, 1, 0.01) is None
    assert paired({0: 0.5, 1: 0.6}, {1: 0.6, 2: 0.7}, 0.01) is None


def test_holm_by_hand() -> None:
    # Sorted: 0.01·4, max(0.04, 0.02·3), max(0.06, 0.03·2), max(0.06, 0.5·1).
    assert holm([0.02, None, 0.5, 0.01, 0.03]) == pytest.approx([0.06, None, 0.5, 0.04, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None]) == [None] and holm([]) == []


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_the_detectable_difference_by_statsmodels(n: int) -> None:
    expected = TTestPower().solve_power(nobs=n, alpha=LEVEL, power=POWER)
    assert of(0.3, 0.02, n).detectable == pytest.approx(0.02 * expected, rel=1e-4)


@pytest.mark.parametrize(("gap", "tests"), [(0.02, 1), (0.02, 48), (0.006, 1), (0.1, 3)])
def test_the_seeds_that_find_a_difference_by_statsmodels(gap: float, tests: int) -> None:
    """The margin is so small that equivalence is out of reach."""
    expected = TTestPower().solve_power(effect_size=gap / 0.03, alpha=LEVEL / tests, power=POWER)
    assert seeds_needed(of(gap, 0.03, margin=1e-9), tests) == math.ceil(expected)


def simulated(
    gap: float, spread: float, seeds: int, margin: float, tests: int, other: tuple[float, int]
) -> float:
    """How often so many seeds decide: the larger share of those that find the difference and of
    those that show equivalence. The other mean is 0 in each experiment, as printed."""
    rng = np.random.default_rng(seeds)
    ours = rng.normal(gap, spread, (4000, seeds))
    mean, std = ours.mean(axis=1), ours.std(axis=1, ddof=1)
    error, other_error = std**2 / seeds, other[0] ** 2 / other[1] if other[1] else 0.0
    degrees = (error + other_error) ** 2 / (
        error**2 / (seeds - 1) + (other_error**2 / (other[1] - 1) if other[1] else 0.0)
    )

    def above(shift: float, level: float) -> np.ndarray:
        return np.asarray(stats.t.sf(shift, degrees) < level)

    whole = np.sqrt(error + other_error)
    differs = above(mean / whole, LEVEL / tests / 2)
    within = above((mean + margin) / whole, LEVEL) & above((margin - mean) / whole, LEVEL)
    return float(max(differs.mean(), within.mean()))


@pytest.mark.parametrize(
    ("gap", "spread", "margin", "tests", "other"),
    [
        (0.02, 0.02, 0.01, 1, (0.0, 0)),  # a difference
        (0.02, 0.02, 0.01, 40, (0.0, 0)),
        (0.0, 0.02, 0.01, 40, (0.0, 0)),  # equivalence, from the middle of the margin
        (0.005, 0.02, 0.012, 40, (0.0, 0)),  # and from beside it
        (0.03, 0.02, 0.005, 1, (0.02, 10)),  # against other runs
        (0.05, 0.02, 0.005, 40, (0.02, 10)),
        (0.002, 0.02, 0.02, 40, (0.02, 10)),
        (0.025, 0.02, 0.01, 1, (0.015, 5)),
    ],
)
def test_the_seeds_needed_decide_four_times_in_five(
    gap: float, spread: float, margin: float, tests: int, other: tuple[float, int]
) -> None:
    std, runs = other
    error = {"error": std / math.sqrt(runs), "others": runs} if runs else {}
    seeds = seeds_needed(of(gap, spread, margin=margin, **error), tests)
    assert seeds is not None and seeds > 3
    assert simulated(gap, spread, seeds, margin, tests, other) > POWER - 0.025
    assert simulated(gap, spread, seeds - 1, margin, tests, other) < POWER + 0.025


def test_more_seeds_for_less_difference_and_more_spread() -> None:
    def needed(gap: float, spread: float, tests: int = 1) -> int:
        found = seeds_needed(of(gap, spread, margin=1e-9), tests)
        assert found is not None
        return found

    gaps = [needed(gap, 0.02) for gap in (0.003, 0.005, 0.01, 0.02, 0.04)]
    assert gaps == sorted(gaps, reverse=True) and len(set(gaps)) == 5
    assert [needed(-gap, 0.02) for gap in (0.003, 0.005, 0.01, 0.02, 0.04)] == gaps
    spreads = [needed(0.02, spread) for spread in (0.01, 0.02, 0.04, 0.1)]
    assert spreads == sorted(spreads) and len(set(spreads)) == 4
    families = [needed(0.02, 0.02, tests) for tests in (1, 10, 100)]
    assert families == sorted(families) and len(set(families)) == 3


def test_a_stricter_level_needs_more_seeds() -> None:
    """About (z(1−α/2) + z(power))² σ²/δ², and of two one-sided tests from the middle of the margin
    (z(1−α) + z((1+power)/2))² σ²/m²."""
    for gap, margin, tail in ((0.01, 1e-9, 0.5), (0.0, 0.01, 1.0)):
        power = POWER if gap else (1 + POWER) / 2
        for level in (0.05, 0.025, 0.01):
            found = seeds_needed(of(gap, 0.03, margin=margin), 1, level)
            normal = stats.norm.isf(tail * level) + stats.norm.ppf(power)
            assert found == pytest.approx((normal * 3) ** 2, rel=0.05)


def test_the_last_number_of_seeds_that_is_computed() -> None:
    """About (1.96 + 0.84)² σ²/δ²: 1,000 at a difference of 0.0886 σ."""
    near = seeds_needed(of(0.0888, 1.0, margin=1e-9), 1)
    assert near is not None and 990 <= near <= MOST_SEEDS
    assert seeds_needed(of(0.0880, 1.0, margin=1e-9), 1) is None
    assert seeds_needed(of(0.0, 1.0, margin=1e-9), 1) is None
    assert seeds_needed(of(0.0, 1.0, margin=100.0), 1) == 2


def test_no_number_of_ours_overcomes_the_error_of_few_other_runs() -> None:
    """Five runs of a spread of 0.02 are known to 0.009, whatever we run."""
    floor = of(0.02, 0.01, error=0.02 / math.sqrt(5), others=5)
    assert seeds_needed(floor, 1) is None
    assert seeds_needed(replace(floor, error=0.0, others=0), 1) == 5
    # As many other runs would do.
    many = replace(floor, error=0.02 / math.sqrt(50), others=50)
    assert seeds_needed(many, 1) is not None
    # Nor do equal runs of ours.
    assert seeds_needed(replace(floor, spread=0.0), 1) is None
    assert floor.detectable > 0.02


def test_few_other_runs_have_few_degrees_of_freedom() -> None:
    """With very many runs of ours the test has those of the others: of five, its critical value is
    8.6 standard errors rather than the 3.2 of a normal distribution."""
    assert stats.norm.isf(LEVEL / 80) < 3.3 and 8 < stats.t.isf(LEVEL / 80, 4) < 9
    assert seeds_needed(of(0.07, 0.01, error=0.01, others=5), 40) is None
    assert seeds_needed(of(0.07, 0.01, error=0.01, others=50), 40) is not None
    assert of(0.0, 1e-6, error=0.01, others=5).detectable == pytest.approx(
        0.01 * math.sqrt(5) * TTestPower().solve_power(nobs=5, alpha=LEVEL, power=POWER), rel=1e-4
    )


def test_the_seeds_that_are_needed_are_found_as_if_every_number_were_tried() -> None:
    """Only some numbers of runs are tried: the answer is that of the definition all the same."""
    rng = np.random.default_rng(0)
    runs = np.arange(2, MOST_SEEDS + 1)
    answers = set()
    for gap, margin, spread in rng.uniform([-0.03, 0.0, 0.002], [0.03, 0.03, 0.05], (12, 3)):
        outcome, tests = of(gap, spread, margin=margin), int(rng.integers(1, 50))

        def power(shift: float, level: float, scale: float = spread) -> np.ndarray:
            critical = stats.t.isf(level, runs - 1)
            return stats.nct.sf(critical, runs - 1, shift * np.sqrt(runs) / scale)

        shown = power(margin - abs(gap), LEVEL) + power(margin + abs(gap), LEVEL) - 1
        enough = (power(abs(gap), LEVEL / tests / 2) >= POWER) | (shown >= POWER)
        wanted = int(runs[enough][0]) if enough.any() else None
        assert seeds_needed(outcome, tests) == wanted
        answers.add(wanted)
    assert len(answers) > 6


def test_no_more_of_ours_help_where_few_others_are_what_is_uncertain() -> None:
    """Against five printed runs 2 of ours would do by luck; 20 did not, and no number will."""
    outcome = of(0.04, 0.00256, n=20, error=0.0128 / 5**0.5, others=5)
    assert seeds_needed(outcome, 24) == 2
    assert seeds_needed(outcome, 24, beyond=20) is None
    plain = of(0.02, 0.01)
    least = seeds_needed(plain, 1)
    assert least is not None
    assert seeds_needed(plain, 1, beyond=least + 5) == least + 6
