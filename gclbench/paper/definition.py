"""What a table of a paper is: data, which `comparison` fills and `render` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gclbench.paper.aggregate import flatten
from gclbench.paper.columns import Column, Condition
from gclbench.paper.reference import ASSUMED_RUNS, PrintedValue, printed


@dataclass(frozen=True)
class Definition:
    """A table: which numbers, of which settings.

    Attributes:
        paper, number: of the printed table; together its id. title: one line.
        task: whose records. where: conditions that every record meets, such as the protocol.
        protocols: dataset to the split its records must have, where that is not the same for all.
        printed_task: what the printed values are filed under, when that is not `task`.
        datasets, metrics, columns: in printed order. remarks: sentences under the table.
    """

    paper: str
    number: str
    title: str
    task: str
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    columns: tuple[Column, ...]
    where: tuple[Condition, ...] = ()
    remarks: tuple[str, ...] = ()
    protocols: Mapping[str, str] = field(default_factory=dict)
    printed_task: str = ""

    @property
    def id(self) -> str:
        """`dmat/1`."""
        return f"{self.paper}/{self.number}"

    @property
    def runs_assumed(self) -> bool:
        """The paper does not say over how many runs its spreads are, and ten are assumed."""
        return (self.paper, self.number) in ASSUMED_RUNS

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether a spec's task and protocol are the table's."""
        flat = flatten(settings)
        protocol = self.protocols.get(str(flat["dataset.name"]))
        if protocol is not None and flat.get("task.protocol") != protocol:
            return False
        return flat["task.name"] == self.task and all(condition.holds(flat) for condition in self.where)

    def printed(self, dataset: str, column: Column, metric: str) -> PrintedValue | None:
        """What the paper prints in a cell, None for a control or a cell that is not in the paper."""
        if column.method is None:
            return None
        values = printed(dataset, column.method, self.printed_task or self.task, metric, paper=self.paper, table=self.number)
        return next((value for value in values if value.variant == column.variant), None)
