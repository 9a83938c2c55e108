"""What a table is: data, which `comparison` fills and `render` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gclbench.component.registry import DATASETS, METHODS
from gclbench.paper import run_words
from gclbench.paper.aggregate import Group
from gclbench.paper.columns import Column, Condition
from gclbench.paper.counts import printed_count
from gclbench.paper.discovery import papers
from gclbench.paper.measure import Measure
from gclbench.paper.reference import PrintedValue, printed, row_name
from gclbench.records import flatten

SEEDS = 10
"""Of every table, unless it is asked for others."""


@dataclass(frozen=True)
class Definition:
    """A table: which numbers, of which settings.

    Attributes:
        paper, number: of the printed table; together its id. title: one line.
        part: which part of a printed table it is, where its parts are of several tasks; "" for the
            whole.
        task: whose records. where: conditions that every record meets, such as the protocol.
        on: dataset to further conditions that its records meet: its split, its form of the graph.
        printed_task: what the printed values are filed under, when that is not `task`.
        datasets, metrics, columns: in printed order. remarks: sentences under the table.
        not_built: printed rows that are not built here, by their printed name, to the reason as the
            end of a sentence: `{"MoNet (sup.)": "its mixture has no settings in print"}`. The notes
            give it with the printed numbers.
        measures: how a row is read and shown, where it is not simply the metric of that name.
        source: `runs`; `settings` for what runs were made with; `catalog` for counts of datasets,
            which need no run (and `task` is "").
        compared: whether ours and the printed number can be held against each other by a test, and
            our columns among themselves.
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
    not_built: Mapping[str, str] = field(default_factory=dict)
    on: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    printed_task: str = ""
    measures: Mapping[str, Measure] = field(default_factory=dict)
    source: str = "runs"
    compared: bool = True
    part: str = ""

    @property
    def id(self) -> str:
        """`dmat/1`, `mmix/9-graphs`; the paper alone where there is no number."""
        part = f"-{self.part}" if self.part else ""
        return f"{self.paper}/{self.number}{part}" if self.number else self.paper

    @property
    def own(self) -> bool:
        """Whether it is of runs that no paper's table has."""
        return False

    @property
    def crossed(self) -> bool:
        """Whether its rows are base methods, a grid per measure."""
        return any(measure.base is not None for measure in self.measures.values())

    @property
    def tasks(self) -> set[str]:
        """The tasks that its numbers are read from."""
        return {self.measure(metric).task or self.task for metric in self.metrics}

    def same_runs(self) -> list[list[str]]:
        """The metrics, those together that are read from the same runs."""
        found: dict[object, list[str]] = {}
        for metric in self.metrics:
            found.setdefault(self.measure(metric).runs, []).append(metric)
        return list(found.values())

    @property
    def spread(self) -> str:
        """What the printed spreads are, where they are not over a known number of trainings; "" for
        those that are."""
        page = papers().get(self.paper)
        if page is None:
            return ""
        return page.spread.get(self.id.partition("/")[2], page.spread.get(self.number, ""))

    def measure(self, metric: str) -> Measure:
        """How a row is read and shown."""
        return self.measures.get(metric) or Measure(metric)

    def names(self) -> dict[str, list[str]]:
        """What its parts are asked for by: kind of name to names. A column has two, its method's
        and its heading."""
        columns = [
            name for column in self.columns for name in (column.method_name, column.label) if name
        ]
        return {
            "dataset": [*self.datasets],
            "metric": [*self.metrics],
            "method": [*dict.fromkeys(columns)],
        }

    def place(self, group: Group) -> str:
        """Which of the table's datasets recorded runs are of."""
        return group.name("dataset")

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether a spec's task and protocol are the table's."""
        return self.matches(flatten(settings))

    def matches(self, flat: Mapping[str, Any]) -> bool:
        """Whether a flattened spec's task and protocol are the table's."""
        return flat["task.name"] in self.tasks and all(
            condition.holds(flat) for condition in self.conditions(str(flat["dataset.name"]))
        )

    def conditions(self, dataset: str) -> tuple[Condition, ...]:
        """What every record of a dataset meets."""
        return (*self.where, *self.on.get(dataset, ()))

    def departures(self, column: Column, flat: Mapping[str, Any]) -> list[str]:
        """How flattened settings differ from those that a column of the table stands for."""
        return column.departures(flat, self.conditions(str(flat["dataset.name"])))

    def typed_dataset(self, dataset: str) -> list[str]:
        """A dataset of the table as typed behind `dataset=`."""
        return [dataset]

    def command(self, dataset: str, column: Column) -> str:
        """What makes the cells of a dataset and column: `gclbench sweep table=dmat/1 dataset=acm
        method=deepwalk`.

        Adds `'column=…'` where several columns have the method. "" where the method or the dataset
        is not in gclbench.
        """
        if self.source == "catalog":
            return f"gclbench show dataset={dataset}" if dataset in DATASETS.entries else ""
        method = column.method_name
        if method not in METHODS.entries or dataset not in DATASETS.entries:
            return ""
        words = [f"table={self.id}", f"dataset={dataset}"]
        if column.added:
            return run_words.command(["sweep", *words, "--with", column.added])
        words.append(f"method={method}")
        if sum(other.method_name == method and not other.added for other in self.columns) > 1:
            words.append(f"column={column.label}")
        return run_words.command(["sweep", *words])

    def printed(self, dataset: str, column: Column, metric: str) -> PrintedValue | None:
        """What the paper prints in a cell; None for a control or a cell that it does not have."""
        if column.method is None:
            return None
        measure = self.measure(metric)
        value = self._printed(dataset, column.method, column.variant, metric)
        if value is None and self.source == "catalog":
            return printed_count(self.id, dataset, metric)
        if value is None or not measure.relative_to:
            return value
        other = next(item for item in self.columns if item.label == measure.relative_to)
        base = self.printed(dataset, other, measure.printed_as)
        return value.relative_to(base)

    def printed_row(self, name: str, dataset: str, metric: str) -> PrintedValue | None:
        """What the paper prints in a row of that printed name, with or without a column of ours."""
        method, variant = row_name(name, papers()[self.paper])
        return self._printed(dataset, method, variant, metric)

    def _printed(self, dataset: str, method: str, variant: str, metric: str) -> PrintedValue | None:
        values = printed(
            dataset,
            method,
            self.printed_task or self.task,
            self.measure(metric).printed_as or metric,
            paper=self.paper,
            table=self.number,
        )
        return next((value for value in values if value.variant == variant), None)
