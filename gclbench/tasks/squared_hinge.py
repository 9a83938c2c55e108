"""A linear machine with the squared hinge, brought to its minimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

MOST_STEPS = 1000
"""Of Newton's method. Standardised rows take about ten; rows of very unequal size take hundreds."""

GAP = 1e-10
"""The share of the objective by which a converged fit may be above its minimum."""


@dataclass(frozen=True)
class Machine:
    """One hyperplane per class against the rest, or one for two classes.

    Attributes:
        classes: the K classes, ascending.
        weights: float64, K×(d+1), or 1×(d+1) for two classes; the last column is the bias. Of one
            class, zeros.
        unconverged: how many of the hyperplanes stopped before they had converged.
    """

    classes: np.ndarray
    weights: np.ndarray
    unconverged: int

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The class of every row of `x` (m×d), (m,)."""
        scores = with_ones(x) @ self.weights.T
        if len(self.weights) == 1:
            return self.classes[(scores[:, 0] > 0).astype(int)]
        return self.classes[scores.argmax(axis=1)]


class Rows:
    """Training rows, with what all fits on them share.

    Attributes:
        x: n×(d+1), float64; the last column is ones, for the bias.
    """

    def __init__(self, x: np.ndarray):
        self.x = with_ones(x)

    @cached_property
    def products(self) -> np.ndarray:
        """XᵀX, (d+1)×(d+1)."""
        return self.x.T @ self.x

    @cached_property
    def similarities(self) -> np.ndarray:
        """XXᵀ, n×n."""
        return self.x @ self.x.T

    def products_of(self, inside: np.ndarray) -> np.ndarray:
        """XᵀX of the rows that `inside`, (n,), is true for; computed from whichever rows are fewer,
        these or the others."""
        if 2 * np.count_nonzero(inside) <= len(inside):
            near = self.x[inside]
            return near.T @ near
        far = self.x[~inside]
        return self.products - far.T @ far

    def similarities_of(self, inside: np.ndarray) -> np.ndarray:
        """XXᵀ of these rows; those of all rows are kept where they are few."""
        if len(self.x) <= 2 * self.x.shape[1]:
            chosen = np.flatnonzero(inside)
            return self.similarities[np.ix_(chosen, chosen)]
        near = self.x[inside]
        return near @ near.T


def fit(rows: Rows, y: np.ndarray, C: float, start: Machine | None = None) -> Machine:
    """The machine that liblinear defines (its solver 2), at its minimum.

    Each hyperplane w, bias included, minimises P(w) = ‖w‖²/2 + C Σ_i max(0, 1 − s_i x_i·w)², where
    s_i is 1 for the rows of its class and −1 for all others.

    Args:
        rows: n of them, finite. y: n classes. Where they are all one class, so are all predictions.
        C: the weight of the sum, positive.
        start: of another C on the same rows; it saves steps and changes no minimum.
    """
    classes = np.unique(y)
    columns = rows.x.shape[1]
    if len(classes) == 1:
        return Machine(classes, np.zeros((1, columns)), 0)
    against = classes[1:] if len(classes) == 2 else classes
    found = []
    for number, one in enumerate(against):
        begin = np.zeros(columns) if start is None else start.weights[number]
        found.append(_minimum(rows, np.where(y == one, 1.0, -1.0), C, begin))
    weights = np.stack([w for w, _ in found])
    return Machine(classes, weights, sum(not converged for _, converged in found))


def with_ones(x: np.ndarray) -> np.ndarray:
    """The rows with a last column of ones (n×(d+1))."""
    return np.hstack([x, np.ones((len(x), 1))])


def _minimum(rows: Rows, s: np.ndarray, C: float, w: np.ndarray) -> tuple[np.ndarray, bool]:
    """The minimum from `w` on, and whether it was reached.

    Newton's method (Keerthi and DeCoste, JMLR 6, 2005): the rows inside the margin make P a
    quadratic, its minimum gives the direction, and the step goes to the least P along it. It ends
    where P is close to the dual objective of α_i = 2C·max(0, 1 − s_i x_i·w). Their gap is half the
    gradient's squared length, so it needs no other product.
    """
    outputs = rows.x @ w
    for _ in range(MOST_STEPS):
        short = 1 - s * outputs
        missing = np.maximum(short, 0)
        gradient = w - 2 * C * ((s * missing) @ rows.x)
        objective = w @ w / 2 + C * (missing @ missing)
        if gradient @ gradient / 2 <= GAP * objective:
            return w, True
        step = _newton_step(rows, short > 0, s * missing, gradient, w, C)
        moved = rows.x @ step
        length = _least_along(w @ step, step @ step, short, -s * moved, C)
        if length == 0:  # as near as double precision comes
            return w, False
        w = w + length * step
        outputs = outputs + length * moved
    return w, False


def _newton_step(
    rows: Rows,
    inside: np.ndarray,
    residual: np.ndarray,
    gradient: np.ndarray,
    w: np.ndarray,
    C: float,
) -> np.ndarray:
    """From `w` to the minimum of the quadratic, −(I + 2C AᵀA)⁻¹ · gradient, where A are the rows
    that `inside`, (n,), is true for. Of the two systems the smaller one is solved.

    The step is solved for and not its end, so that its error shrinks with it.

    Args:
        residual: s_i − x_i·w of the rows inside, (n,).
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    columns = rows.x.shape[1]
    few = np.count_nonzero(inside) < columns
    system = rows.similarities_of(inside) if few else rows.products_of(inside)
    system.flat[:: len(system) + 1] += 1 / (2 * C)
    try:
        factor = cho_factor(system, overwrite_a=True, check_finite=False)
    except LinAlgError:  # columns so large that the added diagonal is lost in rounding
        root = np.sqrt(2 * C)
        stacked = np.vstack([rows.x[inside], np.eye(columns) / root])
        wanted = np.append(residual[inside], -w / root)
        return np.linalg.lstsq(stacked, wanted, rcond=None)[0]
    if not few:
        return -cho_solve(factor, gradient, check_finite=False) / (2 * C)
    near = rows.x[inside]
    return near.T @ cho_solve(factor, near @ gradient, check_finite=False) - gradient


def _least_along(
    first: float, second: float, short: np.ndarray, rate: np.ndarray, C: float
) -> float:
    """The t ≥ 0 with the least first·t + second·t²/2 + C Σ_i max(0, short_i + t·rate_i)².

    Its derivative is continuous, piecewise linear and rising. It bends where a row passes the
    margin.
    """
    if second == 0:
        return 0.0
    inside = (short > 0) | ((short == 0) & (rate > 0))
    constant = first + 2 * C * (rate[inside] @ short[inside])
    slope = second + 2 * C * (rate[inside] @ rate[inside])
    passing = np.flatnonzero(short * rate < 0)
    bends = -short[passing] / rate[passing]
    order = np.argsort(bends)
    bends, passing = bends[order], passing[order]
    # A row whose shortfall grows comes in, any other goes out.
    change = 2 * C * np.sign(rate[passing])
    constants = constant + np.append(0, np.cumsum(change * rate[passing] * short[passing]))
    slopes = slope + np.append(0, np.cumsum(change * rate[passing] ** 2))
    slopes = np.maximum(slopes, second)  # what it is at least, but for rounding
    ends = np.append(bends, np.inf)
    piece = int(np.argmax(constants + slopes * ends >= 0))
    begin = bends[piece - 1] if piece else 0.0
    return float(np.clip(-constants[piece] / slopes[piece], begin, ends[piece]))
