"""The rows of a paper's printed values as they are filed: a CSV file, or mappings with its
columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gclbench.paper.publication import Rows

NEEDED = ("table", "task", "dataset", "method", "metric", "mean")
HEADER = ",".join((*NEEDED, "std", "note"))


class UnreadableFile(ValueError):
    """Printed values that cannot be read; the text begins with their place, and says what to do."""


@dataclass(frozen=True)
class Filed:
    """A row as it is filed.

    Attributes:
        row: column to text; without the columns that a short line lacks. place: where it stands:
            `/my/printed.csv, line 3`. fault: why it cannot be read, and the cure; "" where it can.
    """

    row: Mapping[str, str]
    place: str
    fault: str = ""


def filed(values: Path | Rows) -> tuple[Filed, ...]:
    """The rows of a file or of mappings, in order; lines without text are left out.

    Raises:
        UnreadableFile: there is no such file, it is no UTF-8 or no CSV, it lacks a column, or the
            values are neither a file nor mappings.
    """
    if isinstance(values, Path):
        return tuple(_of_file(values))
    if isinstance(values, str) or not all(isinstance(row, Mapping) for row in values):
        raise UnreadableFile(
            "its values are neither a file nor mappings;"
            ' write values=Path(__file__).with_name("printed.csv") (docs/papers.md)'
        )
    return tuple(_of_mapping(row, f"its values, row {n}") for n, row in enumerate(values, 1))


def _of_mapping(row: Mapping[str, str], place: str) -> Filed:
    absent = [name for name in NEEDED if name not in row]
    wrong = [name for name, text in row.items() if not isinstance(text, str)]
    if absent:
        return Filed(row, place, f"there is no {' and no '.join(absent)}; a row has {HEADER}")
    if wrong:
        return Filed(row, place, f"{' and '.join(map(str, wrong))} must be text, such as '97.5'")
    return Filed(row, place)


def _of_file(path: Path) -> Iterator[Filed]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror}; correct `values` of the paper, or install"
            " the file with its package (package-data in pyproject.toml)"
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(f"{path}, line {line}: it is no UTF-8; save it as UTF-8") from error
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip() for name in next(lines, [])]
        absent = [name for name in NEEDED if name not in header]
        if absent:
            raise UnreadableFile(_of_header(path, header, absent))
        for cells in lines:
            if any(cell.strip() for cell in cells):
                yield _of_line(header, cells, f"{path}, line {lines.line_num}")
    except csv.Error as error:
        raise UnreadableFile(
            f"{path}, line {lines.line_num}: it is no CSV: {error}; mend the line, or save the file"
            " anew"
        ) from error


def _of_header(path: Path, header: list[str], absent: list[str]) -> str:
    there = ", ".join(header) or "nothing"
    commas = " Its cells must be separated by commas." if len(header) == 1 and header[0] else ""
    return (
        f"{path}, line 1: there is no column {', '.join(absent)}; there is {there}.{commas}"
        f" The first line is {HEADER}"
    )


def _of_line(header: list[str], cells: list[str], place: str) -> Filed:
    row = dict(zip(header, cells, strict=False))
    if len(cells) == len(header):
        return Filed(row, place)
    return Filed(
        row,
        place,
        f"it has {len(cells)} cell{'s' * (len(cells) != 1)}, and the first line {len(header)};"
        ' quote a cell that holds a comma: "a, b"',
    )
