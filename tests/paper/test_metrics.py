"""The catalogue of metrics, and what happens to a metric that it does not have."""

from __future__ import annotations

from dataclasses import replace

from gclbench.paper.aggregate import Cell
from gclbench.paper.columns import Column, is_
from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import Entry
from gclbench.paper.measure import Measure, training_seconds
from gclbench.paper.metrics import METRICS, OF_TASK, Quantity, find_metric
from gclbench.paper.ranking import ranked
from gclbench.paper.run_summary import closing_table
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition
from gclbench.paper.tables import TABLES


def test_names_units_and_directions() -> None:
    assert all(name == metric.name for name, metric in METRICS.items())
    assert {name for name, metric in METRICS.items() if metric.lower_is_better} == {
        "conductance",
        "conductance_pooled",
        "seconds",
        "memory",
    }
    assert find_metric("acc") == Quantity("acc", "percent", "higher", "ACC")
    assert (find_metric("acc").factor, find_metric("seconds").factor) == (100, 1)
    assert find_metric("acc").heading == "ACC" and find_metric("auc").heading == "auc"


def test_the_catalogue_has_every_metric_of_our_tasks_and_tables() -> None:
    assert {name for names in OF_TASK.values() for name in names} <= set(METRICS)
    shown = {
        name for table in TABLES.values() if table.source != "settings" for name in table.metrics
    }
    assert shown <= set(METRICS)


def test_an_unknown_metric_is_a_plain_number_without_a_direction() -> None:
    assert find_metric("bits_per_edge") == Quantity("bits_per_edge", "number", "neither")
    assert find_metric("bits_per_edge").factor == 1


def test_a_run_command_shows_another_packages_metric_as_it_is(record) -> None:
    table = closing_table([record(task="compression", metrics={"bits_per_edge": 3.25})])
    assert " 3.25 (1)" in table.plain() and "325" not in table.plain()
    assert "; bits_per_edge: no percentages\n" in table.plain()


def test_a_table_of_another_packages_metric(record) -> None:
    definition = Definition(
        paper="other",
        number="1",
        title="bits",
        task="compression",
        datasets=("cora",),
        metrics=("bits_per_edge", "saved"),
        columns=(Column("kmeans", (is_("method.name", "kmeans"),)),),
        measures={"saved": Measure("saved", described=Quantity("saved", "percent", "higher"))},
    )
    metrics = {"bits_per_edge": 3.25, "saved": 0.5}
    run = record(method="kmeans", filter="none", task="compression", metrics=metrics)
    filled = compare(definition, Collection((run,)))
    assert [entry.ours.show(entry.factor) for entry in filled.entries] == ["3.25 (1)", "50.00 (1)"]


def test_no_marks_and_ranks_where_no_direction_is_better() -> None:
    close, far = Cell({0: 1.0, 1: 1.01, 2: 1.02}), Cell({0: 2.0, 1: 2.01, 2: 2.03})
    row = [
        Entry("cora", "bits_per_edge", name, cell, None, heading=name)
        for name, cell in (("a", close), ("b", far))
    ]
    assert [entry.rank for entry in ranked(row)[0]] == [None, None]
    known = Quantity("bits_per_edge", "number", "lower")
    described = [replace(entry, described=known) for entry in row]
    assert [entry.rank for entry in ranked(described)[0]] == [1, None]


def test_a_measure_reads_a_record_or_its_metric(record) -> None:
    run = record(metrics={"acc": 0.5})
    run.seconds = {"fit": 2.0, "filter": 1.5}
    assert training_seconds(run) == 3.5 and Measure("acc").cell(None).n == 0
