"""Records as rows of one flat table, a row per run: CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gclbench.records.record import Record, finite, flatten
from gclbench.records.schema import KINDS

FIRST = ("id", *KINDS, "seed", "protocol", "status", "reason")
COMPUTED = ("precision", "fast_products", "threads", "instructions", "code")
"""How a run was computed, of its environment; empty where a record is older than the fact."""
LAST = ("device", *COMPUTED, "commit", "created", "command")


INT64 = range(-(2**63), 2**63)


class ParquetMissing(RuntimeError):
    """The library that writes Parquet is not installed; the text says what to install."""


def rows(records: Iterable[Record]) -> tuple[list[str], list[dict[str, Any]]]:
    """(columns, one dictionary per run); a run without a value for a column has no such key.

    Columns: `FIRST`; every metric as `metric.NAME`, in fractions; `seconds.PHASE`; `memory.KIND` in
    bytes; every setting as on the command line, `method.lr`; what else a spec holds,
    `versions.method` and `dataset_hash`; `split.hash`; `LAST`. Within each of these groups they are
    in alphabetical order, and the rows are in order of id.
    """
    found: list[dict[str, Any]] = []
    groups: tuple[dict[str, None], ...] = ({}, {}, {}, {})
    for record in sorted(records, key=lambda item: item.id):
        parts: tuple[dict[str, Any], ...] = (
            {f"metric.{name}": value for name, value in record.metrics.items()},
            {f"seconds.{phase}": value for phase, value in record.seconds.items()},
            {f"memory.{kind}": value for kind, value in record.memory.items()},
            _settings(record),
        )
        for group, part in zip(groups, parts, strict=True):
            group.update(dict.fromkeys(part))
        row = {"id": record.id, **{kind: record.name(kind) for kind in KINDS}, "seed": record.seed}
        row |= {
            "protocol": record.split.get("protocol") or record.spec["task"].get("protocol"),
            "status": record.status,
        }
        row["reason"] = record.reason
        for part in parts:
            row |= part
        row |= {
            "device": record.device,
            **{name: record.environment.get(name) for name in COMPUTED},
            "commit": record.environment.get("commit"),
            "created": record.created,
            "command": record.command,
        }
        found.append(
            {key: value for key, value in row.items() if value is not None and value != ""}
        )
    return [*FIRST, *(name for group in groups for name in sorted(group)), *LAST], found


def _settings(record: Record) -> dict[str, Any]:
    """The spec and the hash of the split, without names and seed, which have their own columns."""
    flat = flatten({key: value for key, value in record.spec.items() if key != "seed"})
    names = {f"{kind}.name" for kind in KINDS}
    # A spec of another version may hold what is called like a column.
    taken = ("metric.", "seconds.", "memory.")
    own = {
        f"spec.{key}" if key in (*FIRST, *LAST) or key.startswith(taken) else key: value
        for key, value in flat.items()
    }
    return {
        **{key: value for key, value in own.items() if key not in names},
        "split.hash": record.split.get("hash"),
    }


def as_csv(records: Iterable[Record]) -> str:
    """Numbers as Python writes them (`nan`, `inf` too), lists as JSON, true and false; empty where
    there is no value."""
    columns, found = rows(records)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in found)
    return file.getvalue()


def as_jsonl(records: Iterable[Record]) -> str:
    """An object per run with the columns that it has; numbers that are not finite as text, as in a
    record."""
    columns, found = rows(records)
    lines = (
        json.dumps(
            finite({key: row[key] for key in columns if key in row}),
            ensure_ascii=False,
            allow_nan=False,
        )
        for row in found
    )
    return "".join(f"{line}\n" for line in lines)


def as_parquet(records: Iterable[Record]) -> bytes:
    """Columns of 64-bit integers, doubles, booleans or text; a column of several kinds, or of
    lists, is text as in CSV.

    Raises:
        ParquetMissing: without pyarrow.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ParquetMissing(
            "Parquet needs pyarrow, which is not installed: pip install 'gclbench[parquet]'"
        ) from error
    columns, found = rows(records)
    types = {
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "text": pyarrow.string(),
    }
    arrays = []
    for column in columns:
        values = [row.get(column) for row in found]
        kind = _kind(column, values)
        arrays.append(pyarrow.array(_of_kind(values, kind), type=types[kind]))
    names = [_text(column) for column in columns]
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=names), file, compression="zstd")
    return file.getvalue()


def _kind(column: str, values: Sequence[Any]) -> str:
    """What a Parquet column holds."""
    present = [value for value in values if value is not None]
    if column.startswith(("metric.", "seconds.")):
        return "number"
    if present and all(isinstance(value, bool) for value in present):
        return "boolean"
    if present and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in present
    ):
        return (
            "integer"
            if all(isinstance(value, int) and value in INT64 for value in present)
            else "number"
        )
    return "text"


def _of_kind(values: Sequence[Any], kind: str) -> list[Any]:
    if kind == "text":
        return [None if value is None else _text(_cell(value)) for value in values]
    return [float(value) if kind == "number" and value is not None else value for value in values]


def _cell(value: Any) -> str:
    """A value as text."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, (bool, int, list, tuple, Mapping)):
        return json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _text(value: str) -> str:
    """Text that UTF-8 can hold; bytes of a path that are none become escapes."""
    return value.encode("utf-8", "backslashreplace").decode()
