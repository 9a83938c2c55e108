"""Whether our mean differs from a printed one: Welch's t-test from summaries, Holm's correction,
and the marks of the tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gclbench.paper.metrics import Quantity

LEVEL = 0.05
POINT = 0.01
"""One percentage point: the least tolerance of WITHIN, for metrics that are fractions."""

WITHIN, BETTER, WORSE = "✓", "▲", "▼"


def welch(
    mean: float,
    std: float | None,
    n: int,
    other_mean: float,
    other_std: float | None,
    other_n: int | None,
) -> float | None:
    """Two-sided p-value of Welch's t-test (Welch 1947) from means, standard deviations (ddof=1) and
    numbers of runs.

    Returns:
        None: fewer than two runs on a side, a missing spread, or no spread on both sides. Without
        any spread every difference, rounding too, would be significant.
    """
    if (
        std is None
        or other_std is None
        or other_n is None
        or min(n, other_n) < 2
        or (std == 0 and other_std == 0)
    ):
        return None
    from scipy.special import stdtr  # scipy.stats takes half a second to import

    ours, theirs = std**2 / n, other_std**2 / other_n
    freedom = (ours + theirs) ** 2 / (ours**2 / (n - 1) + theirs**2 / (other_n - 1))
    p_value = float(2 * stdtr(freedom, -abs(mean - other_mean) / math.sqrt(ours + theirs)))
    return p_value if math.isfinite(p_value) else None


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values (Holm 1979) of one family; None stays None and does not
    count."""
    tested = sorted(
        (p_value, place) for place, p_value in enumerate(p_values) if p_value is not None
    )
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p_value, place) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p_value))
        adjusted[place] = largest
    return adjusted


def mark(
    metric: Quantity,
    mean: float,
    printed_mean: float,
    printed_std: float | None,
    p_value: float | None,
) -> str:
    """▲ significantly better; ✓ better, or worse by at most the printed std or one point; ▼
    significantly worse and beyond that.

    Args:
        metric: for its unit and direction. mean, printed_mean, printed_std: as recorded. p_value:
            adjusted, None without a test.

    Returns:
        "" for a mean that is worse beyond the tolerance without being significantly so, and for a
            metric of which no direction is better.
    """
    if metric.better == "neither":
        return ""
    gain = printed_mean - mean if metric.lower_is_better else mean - printed_mean
    tolerance = max(printed_std or 0.0, POINT if metric.is_fraction else 0.0)
    significant = p_value is not None and p_value < LEVEL
    if significant and gain > 0:
        return BETTER
    # The printed numbers are decimals: a difference of exactly one point must not fail by the last
    # bit.
    if gain >= -tolerance - 1e-12:
        return WITHIN
    return WORSE if significant else ""
