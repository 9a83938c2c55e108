"""How a number of a table is read from a record, and how it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gclbench.paper.aggregate import Cell, Group
from gclbench.paper.columns import Column, Condition
from gclbench.paper.metrics import Quantity, find_metric
from gclbench.records import Record

GIB = 1 << 30

Reading = Callable[[Record], "float | None"]


@dataclass(frozen=True)
class Measure:
    """A row of a table.

    Attributes:
        metric: its name, and that of the record's metric where `value` is None. value: reads the
            number of a run that is ok; None for no value.
        described: its unit and direction, for a metric that the catalogue does not have.
        printed_as: what the printed values are filed under, when that is not `metric`.
        relative_to: label of the column of the same dataset that the number is divided by; "" for
            none.
        comparable: ours minus the printed number says something. setting: key of a run's settings
            (`method.lr`) that is shown in place of a result.
        task, where: which runs it is read from, beyond what the table asks for; "" for the table's
            task. base: the row's base method, in a table of bases × strategies. heading: of the
            grid of such a table.
    """

    metric: str
    value: Reading | None = None
    described: Quantity | None = None
    printed_as: str = ""
    relative_to: str = ""
    setting: str = ""
    comparable: bool = True
    task: str = ""
    where: tuple[Condition, ...] = ()
    base: Column | None = None
    heading: str = ""

    @property
    def shown(self) -> Quantity:
        """Its unit and direction: the table's own description, else the catalogue's."""
        return self.described or find_metric(self.metric)

    @property
    def runs(self) -> tuple[object, ...]:
        """Equal for measures that are read from the same runs."""
        return (self.task, self.where, self.base)

    def matches(self, flat: Mapping[str, Any]) -> bool:
        """Whether the number can be read from runs of these flattened settings."""
        return (
            self.task in ("", flat["task.name"])
            and all(condition.holds(flat) for condition in self.where)
            and (self.base is None or self.base.matches(flat))
        )

    def read(self, record: Record) -> float | None:
        """The number of one run, None where it has none."""
        return record.metrics.get(self.metric) if self.value is None else self.value(record)

    def cell(self, group: Group | None) -> Cell:
        """Over the group's seeds."""
        return Cell() if group is None else group.cell(self.metric, self.value)


def finite_number(value: object) -> float | None:
    """A finite number of a record, None for anything else: a store may hold anything.

    `true` is no number here, nor is an integer that no float holds.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


def training_seconds(record: Record) -> float | None:
    """Seconds of the filter and of the method's training, without loading and evaluation."""
    fit = record.seconds.get("fit")
    return None if fit is None else fit + record.seconds.get("filter", 0.0)


def fit_seconds(record: Record) -> float | None:
    """Seconds of the method's training."""
    return record.seconds.get("fit")


def peak_memory(record: Record) -> float | None:
    """GiB: allocated on the GPU, else the peak of the process."""
    peak = record.memory.get("gpu_allocated", record.memory.get("rss_peak"))
    return None if peak is None else peak / GIB
