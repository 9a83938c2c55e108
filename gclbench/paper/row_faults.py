"""What is odd in a row of printed values: a number that can be none, a name that no table has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gclbench.component.registry import did_you_mean
from gclbench.paper.publication import Paper

if TYPE_CHECKING:
    from gclbench.paper.reference import PrintedValue
    from gclbench.paper.table_definition import Definition

MISSING = ("", "-", "–", "—")
"""What stands where a paper prints no number."""

NEVER_TINY = ("acc", "accuracy", "auc", "ap", "f1", "macro_f1", "micro_f1")
"""Metrics whose value by chance is above one percent, so that less is a fraction."""

UNITS = (
    "fractions are written in percent; 'printed as a fraction' or 'not a percentage' in the column"
    " note says otherwise"
)


def fault(value: PrintedValue, row: Mapping[str, str], paper: Paper) -> str:
    """Why a row is left out, what there is instead, and the cure; "" for one that stands in a
    table.

    Args:
        value: what the row was read as. row: as filed. paper: whose tables it is to stand in.
    """
    return _number_fault(value, row, paper) or _place_fault(value, row, paper)


def _number_fault(value: PrintedValue, row: Mapping[str, str], paper: Paper) -> str:
    settings = {table.number for table in paper.tables if table.source != "runs"}
    if paper.settings_table:
        settings.add(paper.settings_table)
    numbers = {"mean": value.mean, "std": value.std}
    for name, number in numbers.items():
        text = row.get(name, "").strip()
        if text in MISSING or (name == "mean" and row["table"] in settings):
            continue
        if number is None or not math.isfinite(number):
            return (
                f"{name} '{text}' is no number; write one, such as 40.0, or leave it empty and say"
                " why in the column note"
            )
        if name == "std" and number < 0:
            return f"std {text} is negative, and a deviation is not; correct it"
        if value.scale in ("percent", "fraction") and abs(number) > 1:
            whole = "100 %" if value.scale == "percent" else "1"
            return f"{name} {text} of {value.metric} is more than {whole}; correct it: {UNITS}"
    if value.scale == "percent" and value.metric in NEVER_TINY and 0 < (value.mean or 0) < 0.01:
        return f"mean {row['mean'].strip()} of {value.metric} is less than 1 %; correct it: {UNITS}"
    return ""


def _place_fault(value: PrintedValue, row: Mapping[str, str], paper: Paper) -> str:
    if paper.settings_table and row["table"] == paper.settings_table:
        known = [*paper.settings]
        return "" if value.metric in known else _no_setting(value.metric, known)
    if not paper.tables or f"{paper.name}/{row['table']}" in paper.not_built:
        return ""
    tables = [table for table in paper.tables if table.number == row["table"]]
    if not tables:
        known = [*dict.fromkeys(table.number for table in paper.tables)]
        return (
            f"there is no table '{row['table']}' of the paper; it has {', '.join(known)}"
            f"{_guess(row['table'], known)}"
        )
    tasks = [table.printed_task or table.task for table in tables]
    if value.task not in tasks:
        return _none("task", row["task"], value.task, tables, tasks)
    tables = [table for table, task in zip(tables, tasks, strict=True) if task == value.task]
    names = [name for table in tables for name in table.datasets]
    if value.dataset not in names:
        return _none("dataset", row["dataset"], value.dataset, tables, names)
    tables = [table for table in tables if value.dataset in table.datasets]
    names = [
        table.measure(metric).printed_as or metric for table in tables for metric in table.metrics
    ]
    if value.metric not in names:
        return _none("metric", row["metric"], value.metric, tables, names)
    columns = [column for table in tables for column in table.columns if column.method]
    if (value.method, value.variant) in [(column.method, column.variant) for column in columns]:
        return ""
    if any(row["method"] in table.not_built for table in tables):
        return ""
    read = f"{value.method} ({value.variant})" if value.variant else value.method
    known = [
        f"{column.method} ({column.variant})" if column.variant else str(column.method)
        for column in columns
    ]
    said = _none("method", row["method"], read, tables, known)
    return f"{said} A row that is not built goes into `not_built` of the table"


def _no_setting(name: str, known: Sequence[str]) -> str:
    return (
        f"'{name}' is no setting that the paper names in `settings`; it names {', '.join(known)}"
        f"{_guess(name, known)}"
    )


def _none(
    kind: str, text: str, read: str, tables: Sequence[Definition], known: Iterable[str]
) -> str:
    """`no dataset 'Digitz' (read as digitz) is in table mine/1; it has digits, sbm.`"""
    names = [*dict.fromkeys(known)]
    where = " and ".join(table.id for table in tables)
    as_read = "" if read == text else f" (read as {read})"
    return (
        f"no {kind} '{text}'{as_read} is in table {where}; it has {', '.join(names) or 'none'}."
        f"{_guess(read, names).removeprefix('.')}"
        f" A name of print that is another one here goes into `{kind}s` of the paper."
    )


def _guess(name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known=known)
    return f".{hint}" if hint else ""
