"""The two exact solvers: Chebyshev iteration and the power series, one recurrence over the fused
pull.

With w = D^(−r) X and c = 1−α the system is w = c P w + α D^(−r) x₀. Both solvers repeat w ← ω (c P
w + b) + (1−ω) w₋₁: the series with ω = 1, Chebyshev with the ω that are best for eigenvalues
anywhere in [−c, c], which takes about √(1/α) sweeps where the series takes 1/α. What the filter
leaves as it is, the degree-weighted mean of each connected component, is taken off first and added
last (gclbench.filters.operator.Components).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.filters.bound import SCALING, Norms, free_bound, weighted
from gclbench.filters.kernels.backend import Path
from gclbench.filters.slices import put, taken

ROOM = 0.9
"""Part of the tolerance that the iteration may use; the rest is for rounding."""

STALLED, EXPECTED = 0.7, 0.1
"""An error that falls by no more than to the first part where theory promises the second has come
down to rounding."""


@dataclass(frozen=True)
class Problem:
    """What is solved: α, r, the asked relative error, how numbers are stored, and whether the
    iteration is accelerated."""

    alpha: float
    r: float
    tol: float
    accelerated: bool
    storage: torch.dtype = torch.float32

    @property
    def rate(self) -> float:
        """Natural logarithm by which the error falls in a sweep, at least; ∞ at α = 1."""
        c = 1.0 - self.alpha
        if c == 0.0:
            return math.inf
        return math.acosh(1.0 / c) if self.accelerated else -math.log(c)

    @property
    def sweeps(self) -> int:
        """Sweeps that theory asks for, at most."""
        start = 2.0 / self.tol if self.accelerated else 1.0 / self.tol
        return max(1, math.ceil(math.log(start) / self.rate)) if self.alpha < 1.0 else 0


@dataclass(frozen=True)
class Solved:
    """One slice: columns, sweeps, bound on the error and size of the solution (both ‖·‖_D), whether
    float64 was asked."""

    columns: int
    sweeps: int
    error: float
    size: float
    verified: bool


class Solver:
    """Filters slices of columns of one graph.

    Args:
        name: of the graph, for messages.
    """

    def __init__(self, problem: Problem, path: Path, name: str):
        self.problem, self.path, self.name = problem, path, name
        self._degree = path.safe_degree
        self._into = self._degree.pow(-problem.r).mul_(problem.alpha)[:, None]
        self._out_of = self._degree.pow(problem.r)[:, None]
        least, most = (float(end) for end in self._out_of.aminmax())
        # Without weights degrees are 1 to 2³¹.
        self._stretch = max(1.0, most / 2.0**31) / min(1.0, least)
        # Made before threads share them.
        self._components, self._summing_error = path.components, path.summing_error

    def __call__(self, x: Tensor, columns: slice, result: Tensor) -> Solved:
        """Filters some columns.

        Args:
            x: N×F float32, on the CPU. result: N×F float32, on the CPU: its columns are written.

        Raises:
            ValueError: when x is not finite, or the result would not be.
        """
        raw = taken(x, columns, self.path.order)
        largest = float(raw.abs().amax())
        if not math.isfinite(largest):
            raise ValueError(not_finite(x, columns, self.name))
        if largest == 0.0:
            result[:, columns] = 0.0
            return Solved(raw.shape[1], 0, 0.0, 0.0, False)
        # A power of two: exact, and the squares of what is left stay within float32.
        scale = 2.0 ** math.floor(math.log2(largest))
        base = _scaled(raw, self._into / scale, scale)
        spread = self._components.means(base).index_select(0, self._components.label)
        base.sub_(spread)
        spread.div_(self.problem.alpha)
        z, sweeps, norms = self._iterate(base, weighted(spread, self.path.degree))
        z = z.float().add_(spread)
        size = weighted(z, self._degree)
        error = free_bound(norms, self.problem.alpha, self.problem.storage)
        verified = error > self.problem.tol * size
        if verified:
            error = min(error, self._exact_bound(z, raw, scale) + SCALING * size)
        filtered = _scaled(z, self._out_of * scale, scale)
        # Smaller features cannot leave float32: |w| is at most theirs, and Dʳ at most 2³¹, or what
        # edge weights make of it.
        if scale * self._stretch >= 2.0**60 and not math.isfinite(float(filtered.abs().amax())):
            raise ValueError(beyond_float32(self.name, largest))
        put(result, columns, filtered, self.path.rank)
        return Solved(raw.shape[1], sweeps, error * scale, size * scale, verified)

    def _iterate(self, base: Tensor, means: float) -> tuple[Tensor, int, Norms]:
        """y near the solution of y = c P y + base, the sweeps, and what the bound needs to know.

        Args:
            base: N×K float32. means: size of what will be added to y.
        """
        problem, path = self.problem, self.path
        c, alpha = 1.0 - problem.alpha, problem.alpha
        base_size = weighted(base, self._degree)
        if c == 0.0 or base_size == 0.0:
            return base, 0, Norms(0.0, base_size, base_size, base_size, 0.0, means)
        base = base.to(problem.storage)
        now, other, fresh = base.clone(), torch.empty_like(base), torch.empty_like(base)
        residual = torch.empty(len(base), dtype=torch.float32, device=base.device)
        omega, sweeps, next_check, marked = 1.0, 0, 0, (0, math.inf)
        limit = 4 + 2 * math.ceil(math.log(2.0 / (problem.tol * alpha)) / problem.rate)
        while True:
            if sweeps < next_check:
                path.sweep(now, base, other, c, omega)
            else:
                path.sweep(now, base, fresh, c, 1.0, residual)
                seen = math.sqrt(float(torch.dot(residual.double(), self._degree)))
                error, wanted = (
                    c * seen / alpha,
                    ROOM * problem.tol * math.hypot(base_size / (2.0 - alpha), means),
                )
                if wanted < error <= ROOM * problem.tol * math.hypot(base_size / alpha, means):
                    # Between the least and the most that the solution can be: only now is its size
                    # worth a pass.
                    wanted = ROOM * problem.tol * math.hypot(weighted(fresh, self._degree), means)
                stalled = False
                if math.exp(-problem.rate * (sweeps - marked[0])) < EXPECTED:
                    stalled, marked = error > STALLED * marked[1], (sweeps, error)
                if error <= wanted or sweeps >= limit or stalled:
                    rows = now.float().square().sum(dim=1).double()
                    product, given = (
                        math.sqrt(float(torch.dot(rows, weight)))
                        for weight in (self._summing_error, self._degree)
                    )
                    return (
                        fresh,
                        sweeps + 1,
                        Norms(
                            seen, weighted(fresh, self._degree), base_size, given, product, means
                        ),
                    )
                # The rate is a promise and the truth often quicker: look again a little before.
                next_check = sweeps + max(
                    1, math.floor(0.8 * math.log(error / wanted) / problem.rate)
                )
                if omega == 1.0:
                    other, fresh = fresh, other
                else:
                    other.lerp_(fresh, omega)
            now, other = other, now
            sweeps += 1
            if problem.accelerated:
                omega = 2.0 / (2.0 - c * c) if sweeps == 1 else 1.0 / (1.0 - 0.25 * c * c * omega)

    def _exact_bound(self, z: Tensor, raw: Tensor, scale: float) -> float:
        """‖b + c P z − z‖_D / α in float64, with the right-hand side straight from the features."""
        wide = z.double()
        residual = self.path.exact_product(wide).mul_(1.0 - self.problem.alpha).sub_(wide)
        del wide  # A block of float64 less at the peak.
        residual.add_(raw.double().mul_(self._into / scale))
        return (
            math.sqrt(float(torch.dot(residual.square_().sum(dim=1), self._degree)))
            / self.problem.alpha
        )


def _scaled(block: Tensor, factor: Tensor, scale: float) -> Tensor:
    """block · factor, a new float32 block; in float64 where the factor would leave float32."""
    if 2.0**-60 < scale < 2.0**60:
        return block * factor.float()
    return block.double().mul_(factor).float()


def beyond_float32(name: str, largest: float) -> str:
    """What is wrong with features whose filtered values have no place in float32."""
    return (
        f"the filtered features of '{name}' leave float32 (3.4e38): the features are as large as"
        f" {largest:.0e}, and degrees multiply them; divide the features by a constant before"
        " making the graph"
    )


def not_finite(x: Tensor, columns: slice, name: str) -> str:
    """Which of these features is the first that is no number."""
    bad = ~torch.isfinite(x[:, columns])
    row, column = bad.nonzero()[0].tolist()
    return (
        f"the features of '{name}' hold NaN or infinite values, the first of them in row {row},"
        f" column {columns.start + column}; repair them before filtering"
    )
