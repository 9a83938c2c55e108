"""Which printed number belongs beside a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gclbench.paper.reference import PrintedValue, preference, printed
from gclbench.paper.tables import TABLES, column_of
from gclbench.records import flatten


class Beside(NamedTuple):
    """What stands beside a run's metric.

    Attributes:
        value: the printed number; None where no table has one.
        departures: how the run's settings differ from the paper's.
        comparable: the table compares the two; if not, they are different quantities.
    """

    value: PrintedValue | None
    departures: list[str]
    comparable: bool = True


def printed_beside(settings: Mapping[str, Any], metric: str) -> Beside:
    """The printed value to compare a run's metric with, and how the run's settings differ.

    The method's own paper comes first. A value applies only to the settings of its table column,
    whatever the paper calls them: k-means on filtered features is not the paper's KMeans.
    """
    dataset, method = (str(settings[kind]["name"]) for kind in ("dataset", "method"))
    found = [
        (value, definition, column)
        for definition in TABLES.values()
        # Numbers that are relative to another column's are not those of a run.
        if metric in definition.metrics
        and definition.source == "runs"
        and not definition.measure(metric).relative_to
        if (column := column_of(settings, definition)) is not None
        if (value := definition.printed(dataset, column, metric)) is not None
        and value.mean is not None
    ]
    if not found:
        return Beside(None, [])
    value, definition, column = min(found, key=lambda each: preference(each[0], method))
    return Beside(
        value,
        definition.departures(column, flatten(settings)),
        definition.measure(metric).comparable,
    )


def printed_elsewhere(
    settings: Mapping[str, Any], metric: str
) -> tuple[PrintedValue, list[str]] | None:
    """A printed value of a run's method, dataset and task that stands beside other settings than
    its own, and what leads to those.

    Returns:
        The value, its method's own paper first, and overrides as typed; of several columns, those
        of the nearest. None where no table has one.
    """
    flat = flatten(settings)
    dataset, method, task = (str(settings[kind]["name"]) for kind in ("dataset", "method", "task"))
    for value in printed(dataset, method, task, metric, settings["task"].get("protocol")):
        definition = TABLES.get(f"{value.paper}/{value.table}")
        if definition is None or value.mean is None:
            continue
        nearest: list[str] = []
        for column in definition.columns:
            # A column of another method may hold the printed one: SSGC's links are a filter's.
            if (column.method, column.variant) != (value.method, value.variant):
                continue
            lacking = [
                condition
                for condition in (*column.conditions(dataset), *definition.conditions(dataset))
                if not condition.holds(flat)
            ]
            if any(condition.excluded for condition in lacking):
                continue
            if lacking and (not nearest or len(lacking) < len(nearest)):
                nearest = [condition.override(task) for condition in lacking]
        if nearest:
            return value, nearest
    return None
