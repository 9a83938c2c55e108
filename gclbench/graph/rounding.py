"""Features as float32, without losing what they say.

float32 holds seven digits and numbers from 1e-38. What a user computes in float64 may need more: a
column of times counted from 1970 varies in its last digits, and the squares of 1e-30 are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from torch import Tensor

from gclbench.graph.errors import GraphError

SMALLEST = 1e-12
"""Features whose largest value is below it are scaled: sums of their squares would vanish."""

LOSS = 0.01
"""A column loses its information where rounding moves a value by more than this share of the
column's range."""

_ROWS = 4096


def rounded(x: Any, name: str, notes: list[str]) -> Any:
    """The features, ready to be taken as float32 without a loss that matters.

    Features that are tiny as a whole are multiplied by a power of two. Columns that vary less than
    float32 can tell from their size lose their smallest value first. Both are added to `notes`.
    What is float32 already, no matrix of real numbers, or beyond float32 is handed on as it is.

    Args:
        x: tensor, array or scipy sparse matrix.

    Raises:
        GraphError: a column beside which its values are too small for float32.
    """
    if isinstance(x, Tensor):
        return rounded(x.detach().cpu().numpy(), name, notes) if _is_long(x.dtype) else x
    if scipy.sparse.issparse(x):
        return _rounded_sparse(x, name, notes)
    array = np.asarray(x)
    if array.ndim != 2 or not array.size or not _is_long(array.dtype):
        return x
    lowest, highest = array.min(axis=0), array.max(axis=0)
    largest = max(abs(float(lowest.min())), abs(float(highest.max())))
    if not largest <= float(np.finfo(np.float32).max):
        return x
    power = _power(largest, notes)
    if power:
        array = np.ldexp(array, power)
        lowest, highest = np.ldexp(lowest, power), np.ldexp(highest, power)
    spread = _offsets(highest, lowest).astype(np.float64)
    lost = _lost(array, spread)
    if not lost.any():
        return array
    shifted = array.astype(np.float64)
    # Before any of them is a float64: that holds whole numbers up to 2^53 only.
    shifted[:, lost] = _offsets(array[:, lost], lowest[lost])
    still = lost & _lost(shifted, spread)
    if still.any():
        _refuse(still, highest, name)
    column = int(lost.argmax())
    notes.append(
        f"{int(lost.sum())} feature column(s) vary by less than float32 can tell from their size"
        f" (the first is column {column}, {lowest[column]:g} to {highest[column]:g}); their"
        " smallest value was subtracted."
    )
    return shifted


def _offsets(array: np.ndarray, lowest: np.ndarray) -> np.ndarray:
    """The values above the lowest of their column; of whole numbers exactly, as uint64."""
    if array.dtype.kind == "f":
        return array - lowest
    # Modulo 2^64, which no distance between two of them reaches.
    return array.astype(np.uint64) - lowest.astype(np.uint64)


def _is_long(dtype: Any) -> bool:
    """Whether float32 may be too short for a type."""
    name = str(dtype).removeprefix("torch.")
    return name in ("float64", "float128", "longdouble", "int32", "int64", "uint32", "uint64")


def _power(largest: float, notes: list[str]) -> int:
    """The power of two that tiny features are multiplied by, 0 for others."""
    if not 0 < largest < SMALLEST:
        return 0
    power = -int(np.floor(np.log2(largest)))
    notes.append(
        f"All features multiplied by 2^{power}: the largest is {largest:.3g}, and the squares of"
        " such numbers vanish in float32."
    )
    return power


def _lost(array: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Which columns lose their information as float32 (F).

    Args:
        spread: of each column, its highest value less its lowest.
    """
    moved = np.zeros(array.shape[1])
    for start in range(0, len(array), _ROWS):
        rows = array[start : start + _ROWS]
        with np.errstate(over="ignore"):
            short = rows.astype(np.float32)
        np.maximum(moved, _moved(rows, short).max(axis=0), out=moved)
    return (moved > LOSS * spread) & (spread > 0)


def _moved(rows: np.ndarray, short: np.ndarray) -> np.ndarray:
    """By how much rounding moves each value, float64."""
    if rows.dtype.kind == "f":
        return np.abs(rows - short.astype(np.float64))
    # Modulo 2^64, in quarters: what rounds up to 2^63 or 2^64 is no int64 or uint64 itself.
    whole = short.astype(np.float64)
    quarter = np.floor(whole / 4)
    rounded = quarter.astype(np.int64).astype(np.uint64) * np.uint64(4)
    rounded += (whole - 4 * quarter).astype(np.uint64)
    return np.abs((rows.astype(np.uint64) - rounded).astype(np.int64).astype(np.float64))


def _rounded_sparse(x: Any, name: str, notes: list[str]) -> Any:
    """As `rounded`; a column that lies far from zero has no zeros, so only full ones are looked at,
    and refused."""
    if not x.nnz or not _is_long(x.dtype) or not np.isfinite(x.data).all():
        return x
    found = x.tocsc(copy=True)
    found.sum_duplicates()
    power = _power(float(np.abs(found.data).max()), notes)
    if power:
        found.data = np.ldexp(found.data, power)
    largest = abs(found).max(axis=0).toarray().ravel()
    lost = (largest > 0) & (largest < np.finfo(np.float32).tiny)
    full = np.diff(found.indptr) == found.shape[0]
    if full.any():
        array = found[:, full].toarray()
        spread = _offsets(array.max(axis=0), array.min(axis=0)).astype(np.float64)
        lost[full] |= _lost(array, spread)
    if lost.any():
        _refuse(lost, largest, name)
    return found


def _refuse(lost: np.ndarray, highest: np.ndarray, name: str) -> None:
    column = int(lost.argmax())
    raise GraphError(
        f"graph '{name}': {int(lost.sum())} feature column(s) lose their information in float32,"
        f" which is what methods compute in; the first is column {column}, with values up to"
        f" {highest[column]:.3g}. Scale the columns before making the graph"
    )
