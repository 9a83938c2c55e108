"""What a solver did, for the record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a solver did.

    Attributes:
        solver: its name. sweeps: products with the whole matrix, the largest over slices of
            columns.
        error_bound: bound on the relative Frobenius error of D^(½−r) X, the norm in which S is
            symmetric (`weighted`), or on the largest absolute error of the push (`absolute`). It
            covers rounding.
        error_norm: which of the two.
        touched: matrix entries actually read ÷ (entries × sweeps × columns).
        path: which code ran. slices: of columns. slice_width: columns of one.
        verified: columns whose bound was computed in float64, because the one that comes free did
            not show what was asked.
        unpushed: share of the degree-weighted mass of the features that the push left where it was;
            0 for other solvers.
        memory: bytes of everything the filter held at once: matrix, buffers, result. On a GPU,
            those allocated there.
    """

    solver: str
    sweeps: int
    error_bound: float
    error_norm: str
    touched: float
    path: str
    slices: int
    slice_width: int
    verified: int = 0
    unpushed: float = 0.0
    memory: int = 0
