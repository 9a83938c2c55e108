"""A text file of numbers with commas between them; where it is none, the line says why."""

from __future__ import annotations

import gzip
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TypeGuard

import numpy as np

from gclbench.data.damage import DAMAGED_GZIP
from gclbench.graph import GraphError

SHOWN = 30
"""Characters of a cell that an error shows."""


def read_table(source: Path | IO[bytes], file: str, dtype: type) -> np.ndarray:
    """The numbers of a file, a row for each line that has any; without columns where none has.

    Args:
        source: a path may end in `.gz`.
        file: its name, for errors.
        dtype: int64, or float64 for numbers that are finite as float32.

    Raises:
        GraphError: the file cannot be read, or a line has something else than as many numbers as
            the first one.
    """
    try:
        if _is_compressed(source) and not source.stat().st_size:
            raise EOFError("it has no bytes")
        return _parsed(source, file, dtype)
    except DAMAGED_GZIP as error:
        raise GraphError(
            f"{source} is a damaged .gz file ({error}); replace it with a whole copy, or with"
            f" {file} as it is"
        ) from error
    except OSError as error:
        raise GraphError(f"{file} cannot be read: {error}") from error


def line_of(source: Path | IO[bytes], row: int) -> int:
    """The number of a row's line, from 1; lines with nothing in them are no rows."""
    lines = itertools.islice(_lines(source), row, None)
    return next((number for number, _ in lines), row + 1)


def empty_line(source: Path | IO[bytes]) -> int | None:
    """The number of the first line with nothing in it before one that has; None without one."""
    rows = enumerate(_lines(source), start=1)
    return next((row for row, (number, _) in rows if number != row), None)


def _parsed(source: Path | IO[bytes], file: str, dtype: type) -> np.ndarray:
    import pandas as pd

    try:
        with np.errstate(invalid="ignore"):
            table: np.ndarray = pd.read_csv(
                source, sep=",", header=None, skipinitialspace=True, dtype=dtype, engine="c"
            ).to_numpy()
    except pd.errors.EmptyDataError:
        return np.empty((0, 0), dtype=dtype)
    except (ValueError, OverflowError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise GraphError(_refused(source, file, dtype, reason)) from error
    with np.errstate(over="ignore"):
        finite = dtype is np.int64 or bool(np.isfinite(table.astype(np.float32)).all())
    if not finite:
        raise GraphError(_refused(source, file, dtype, "not all are finite"))
    return table


def _refused(source: Path | IO[bytes], file: str, dtype: type, reason: str) -> str:
    """What is wrong with the first line that is wrong.

    Args:
        reason: said where no line is.
    """
    kind = "whole numbers" if dtype is np.int64 else "finite numbers"
    wrong, width = "", 0
    # To the last line: a damaged .gz may tell only there that it is damaged.
    for line, text in _lines(source):
        cells = [_bare(cell) for cell in text.split(",")]
        if not width:
            first, width = line, len(cells)
        fault = _fault(cells, first, width, dtype)
        if fault and not wrong:
            wrong = f"{file}, line {line}: {fault}"
    wrong = wrong or f"{file} is not a table of {kind}: {reason}"
    return f"{wrong}. Every line should have {kind}, as many as the first, with commas between them"


def _fault(cells: list[str], first: int, width: int, dtype: type) -> str:
    """What is wrong with the cells of a line; empty where nothing is.

    Args:
        first: the first line. width: how many cells it has.
    """
    if "" in cells:
        return f"number {cells.index('') + 1} of {len(cells)} is missing"
    for cell in cells:
        fault = _not_whole(cell) if dtype is np.int64 else _not_finite(cell)
        if fault:
            shown = cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}…"
            return f"{shown!r} {fault}"
    if len(cells) != width:
        return f"it has {_numbers(len(cells))}, and line {first} has {width}"
    return ""


def _not_whole(cell: str) -> str:
    if re.fullmatch(r"[+-]?[0-9]+", cell):
        digits = cell.lstrip("+-").lstrip("0")
        sign = -1 if cell.startswith("-") else 1
        inside = len(digits) < 20 and -(2**63) <= sign * int(digits or "0") < 2**63
        return "" if inside else "is beyond a whole number of 64 bits"
    number = _number(cell)
    whole = number is not None and number.is_integer() and abs(number) < 2.0**63
    return "" if whole else "is no whole number"


def _not_finite(cell: str) -> str:
    number = _number(cell)
    if number is None:
        return "is no number"
    with np.errstate(over="ignore"):
        return "" if np.isfinite(np.float32(number)) else "is not finite, or beyond float32"


def _number(cell: str) -> float | None:
    if not cell.isascii() or "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _numbers(count: int) -> str:
    return f"{count} number{'s' * (count > 1)}"


def _bare(cell: str) -> str:
    cell = cell.strip(" \t\n")
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _lines(source: Path | IO[bytes]) -> Iterator[tuple[int, str]]:
    """The lines that have something in them, with their numbers from 1."""
    with (
        _opened(source) as content,
        io.TextIOWrapper(content, encoding="utf-8-sig", errors="replace") as lines,
    ):
        for number, text in enumerate(lines, start=1):
            if text.strip(" \t\n"):
                yield number, text


def _opened(source: Path | IO[bytes]) -> gzip.GzipFile | io.BufferedReader | io.BytesIO:
    if not isinstance(source, Path):
        source.seek(0)
        return io.BytesIO(source.read())
    return gzip.open(source) if _is_compressed(source) else source.open("rb")


def _is_compressed(source: Path | IO[bytes]) -> TypeGuard[Path]:
    return isinstance(source, Path) and source.suffix == ".gz"
