"""GnnBP, the filter of the DMAT paper: personalised PageRank smoothing of node features."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from torch import Tensor

from gclbench.component.registry import FILTERS
from gclbench.component.settings import Machine, OneOf, Positive, Range
from gclbench.filters.bound import ROUNDOFF
from gclbench.filters.chebyshev import Problem
from gclbench.filters.filtered import Filtered
from gclbench.filters.kernels.backend import STORAGE
from gclbench.filters.operator import Operator
from gclbench.filters.outcome import Outcome
from gclbench.filters.propagation import exact, pushed
from gclbench.graph.carrier import Data
from gclbench.machine import memory_map

log = logging.getLogger(__name__)

MOSTLY = 0.5
"""Share of unpushed mass from which a push is said to have left the features mostly unsmoothed."""


@FILTERS.register("gnnbp")
@dataclass(frozen=True)
class GnnBP:
    """GnnBP: X = α Dʳ (I − (1−α)P)⁻¹ D⁻ʳ X₀, personalised PageRank of the features

    Eq. 15 of the DMAT paper.

    Attributes:
        alpha: teleport probability α, in (0, 1]; 1 leaves the features as they are.
        rrz: convolution coefficient r, in [0, 1]; 0.5 is the symmetric operator, 0 averages over
            neighbours.
        r_max: threshold of `solver=push` per unit of column sum.
        self_loops: propagate over A + I (the paper's text) rather than A (GBP's shipped files).
        solver: `chebyshev` and `series` are exact to `tol`; `push` is GBP's thresholded push;
            `auto` is the cheaper of the exact ones (docs/filters.md), which is within the error
            that the push with r_max promises on every dataset of the paper.
        tol: relative error asked of an exact solver, Frobenius norm of D^(½−r) X.
        storage: how the iteration keeps its numbers: `float32`, or `bfloat16` in half the memory
            where `tol` allows it; sums are float32.
        out_of_core: the result in a memory-mapped file: `always`, `never`, or `auto`, when it is
            large for the free memory.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True

    alpha: Annotated[float, Range(above=0, most=1)] = 0.1
    rrz: Annotated[float, Range(least=0, most=1)] = 0.4
    r_max: Positive = 1e-5
    self_loops: bool = True
    solver: Annotated[str, OneOf("auto", "push", "series", "chebyshev")] = "auto"
    tol: Annotated[float, Range(least=1e-6, below=1)] = 1e-5
    storage: Annotated[str, OneOf(*STORAGE), Machine()] = "float32"
    out_of_core: Annotated[str, OneOf("auto", "never", "always"), Machine()] = "auto"

    def __post_init__(self) -> None:
        least = 4.0 * ROUNDOFF[STORAGE[self.storage]]
        if self.alpha <= least:
            raise ValueError(
                f"at alpha={self.alpha:g} rounding in {self.storage} may be as large as the result;"
                f" ask for filter.alpha above {least:.1e}"
            )
        reachable = self.reachable
        if self.storage != "float32" and (self.solver == "push" or self.tol < reachable):
            raise ValueError(
                f"storage={self.storage} holds a relative error of about {reachable:.0e} at"
                f" alpha={self.alpha:g}, not the asked tol={self.tol:g}; ask for"
                f" filter.tol={reachable:.0e} or more with an exact solver,"
                " or take filter.storage=float32"
            )

    @property
    def reachable(self) -> float:
        """The relative error that rounding in `storage` may come to: twice the unit roundoff, ÷ α,
        for the right-hand side and the iterate."""
        return min(0.99, 4.0 * ROUNDOFF[STORAGE[self.storage]] / self.alpha)

    def apply(self, graph: Data, device: str = "cpu", folder: Path | None = None) -> Filtered:
        """Filters x (N×F float32, on the CPU); the report names solver, sweeps, an a-posteriori
        error bound, path, seconds and memory.

        Args:
            device: where to compute; without the CUDA kernel it is the CPU, with the same result.
            folder: where a result that is large for the memory goes; without one it stays in
                memory.

        Raises:
            ValueError: when x is not finite; TooLarge, one of these, when not even one column fits
                into the memory.
            DiskTooSmall: when the result goes to disk and does not fit there.
        """
        started = time.perf_counter()
        operator = Operator(graph.edge_index, graph.num_nodes, self.self_loops, graph.edge_weight)
        x = graph.x.cpu()
        result, file = self._result(x, folder)
        try:
            filtered, outcome = self._solve(operator, x, device, result, graph.name)
        except BaseException:
            if file is not None:
                file.unlink(missing_ok=True)
            raise
        self._warn(outcome)
        report = {
            **asdict(outcome),
            "entries": operator.entries,
            "storage": self.storage,
            "out_of_core": file is not None,
        }
        return Filtered(
            filtered, {**report, "seconds": round(time.perf_counter() - started, 6)}, file
        )

    def _result(self, x: Tensor, folder: Path | None) -> tuple[Tensor | None, Path | None]:
        """Where the result goes: a mapped file, or (None) memory."""
        always = self.out_of_core == "always"
        if (
            folder is None
            or self.out_of_core == "never"
            or not (always or memory_map.is_large(x.shape[0], x.shape[1]))
        ):
            return None, None
        try:
            return memory_map.create(x.shape[0], x.shape[1], folder, "the filtered features")
        except OSError as error:
            if always or (
                isinstance(error, memory_map.DiskTooSmall)
                and not memory_map.fits(x.shape[0], x.shape[1])
            ):
                raise
            log.warning(
                "the filtered features stay in memory: %s;"
                " GCLBENCH_DATA sets the folder for larger ones",
                error,
            )
            return None, None

    def _solve(
        self, operator: Operator, x: Tensor, device: str, result: Tensor | None, name: str
    ) -> tuple[Tensor, Outcome]:
        storage = STORAGE[self.storage]
        if self.solver == "push":
            return pushed(
                operator,
                x,
                self.alpha,
                self.rrz,
                self.r_max,
                device=device,
                storage=storage,
                result=result,
                name=name,
            )
        problem = Problem(self.alpha, self.rrz, self.tol, self._accelerated, storage)
        return exact(operator, x, problem, device=device, result=result, name=name)

    @property
    def _accelerated(self) -> bool:
        """Whether the exact solver is Chebyshev; `auto`: where it needs fewer sweeps than the
        series, whose sweeps are the cheaper ones."""
        if self.solver != "auto":
            return self.solver == "chebyshev"
        chebyshev, series = (
            Problem(self.alpha, self.rrz, self.tol, accelerated).sweeps
            for accelerated in (True, False)
        )
        return chebyshev < series

    def _warn(self, outcome: Outcome) -> None:
        if outcome.unpushed > MOSTLY:
            log.warning(
                "filter gnnbp left %.0f %% of the features' mass unpushed at filter.r_max=%.0e, so"
                " they are mostly unsmoothed (largest absolute error at most %.1e); a smaller"
                " filter.r_max, or filter.solver=auto, smooths them",
                100 * outcome.unpushed,
                self.r_max,
                outcome.error_bound,
            )
        # The bound covers rounding too, about 2⁻²²/α, whatever the tolerance: only a clear excess
        # is worth a word.
        if outcome.error_norm == "weighted" and outcome.error_bound > 4 * self.tol:
            log.warning(
                "filter gnnbp reached a relative error of %.1e, not the asked %.1e (%s holds no"
                " more here); filter.tol=%.0e says so",
                outcome.error_bound,
                self.tol,
                self.storage,
                outcome.error_bound,
            )
