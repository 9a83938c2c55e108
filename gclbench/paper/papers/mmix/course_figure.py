"""What choosing the epoch by test folds would gain, on collections of graphs.

From `method.course`: a run's scores at some of its epochs. Nothing reads them but this figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from gclbench.paper.aggregate import Group
from gclbench.paper.drawing.panels import FigureContent, PlotPanel, Series
from gclbench.paper.drawing.selection import (
    dataset_of,
    groups_of,
    holding,
    most,
    on,
    shown_dataset,
)
from gclbench.paper.figure_definition import Figure
from gclbench.paper.papers.mmix.graph_tables import TABLES
from gclbench.paper.sources import Collection
from gclbench.records import Record

DATASETS = ("mutag", "ptc_mr", "imdb_binary", "imdb_multi", "reddit_binary")
APART = 0.12
"""How far a method's collections stand apart, so that no bar covers another."""

EVERY = 5
METHODS = ("infograph", "graphcl", "joao", "joaov2", "mvgrl", "mmix_mo", "mmix_mp")
UNTRAINED = 0
TABLE = next(table for table in TABLES if table.number == "3")
COLUMNS = {column.label: column for column in TABLE.columns}


def course(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Accuracy over the epochs of one collection; on all of them the gain of each run's best epoch
    over its last one."""
    groups = [
        group
        for group in groups_of(collection, "graph_classification", datasets=datasets or DATASETS)
        if _followed(group)
    ]
    dataset = dataset_of(groups, datasets, DATASETS)
    shown = [one for name in METHODS if (one := _usual(on(groups, dataset), name)) is not None]
    used = [record for group in shown for record in _followed(group)]
    gains = []
    names = datasets or DATASETS
    for number, name in enumerate(names):
        beside = APART * (number - (len(names) - 1) / 2)
        chosen = {method: _usual(on(groups, name), method) for method in METHODS}
        found = {
            place: _gains(_followed(group))
            for place, method in enumerate(METHODS)
            if (group := chosen[method]) is not None
        }
        if found:
            gains.append(
                Series(
                    name,
                    tuple(place + beside for place in found),
                    tuple(mean(values) for values in found.values()),
                    tuple(_spread(values) for values in found.values()),
                )
            )
            if name != dataset:
                used += [r for group in chosen.values() if group for r in _followed(group)]
    panels = (
        PlotPanel(
            f"test folds over epochs, {dataset}",
            "epochs",
            "accuracy, percent",
            series=tuple(_line(group) for group in shown),
        ),
        PlotPanel(
            "best epoch by test folds, over the last",
            "",
            "points of accuracy",
            series=tuple(gains),
            names=METHODS,
        ),
    )
    return FigureContent(panels, tuple(used), remarks=(shown_dataset(dataset, DATASETS[0]),))


def _usual(groups: Sequence[Group], method: str) -> Group | None:
    """Of the settings of a method's column in Table 3 that with the most runs; other settings have
    a course, too."""
    return most(holding(groups, *TABLE.where, *COLUMNS[method].where))


def _followed(group: Group) -> list[Record]:
    """The runs that are ok and have scores at several epochs."""
    return [record for record in group.records if record.ok and len(_points(record)) > 1]


def _points(record: Record) -> list[tuple[float, float]]:
    """(epochs, accuracy in percent) of a run, untrained state included."""
    return [
        (float(epochs), 100 * scores["accuracy"])
        for epochs, scores in record.data.get("course", ())
        if "accuracy" in scores
    ]


def _gains(records: Sequence[Record]) -> list[float]:
    """For each run the points by which its best trained epoch is above its last one."""
    found = []
    for record in records:
        trained = [value for epochs, value in _points(record) if epochs != UNTRAINED]
        found.append(max(trained) - trained[-1])
    return found


def _line(group: Group) -> Series:
    """Accuracy over the epochs that all runs have."""
    runs = [dict(_points(record)) for record in _followed(group)]
    epochs = sorted(set.intersection(*(set(run) for run in runs)))
    values = [[run[epoch] for run in runs] for epoch in epochs]
    return Series(
        group.name("method"),
        tuple(epochs),
        tuple(mean(each) for each in values),
        tuple(_spread(each) for each in values) if len(runs) > 1 else (),
    )


def _spread(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def course_commands(datasets: Sequence[str]) -> list[str]:
    """The methods, each followed."""
    return [
        f"gclbench -m method={','.join(METHODS)} dataset={','.join(datasets)}"
        f" task=graph_classification method.course={EVERY} seeds=5 rerun=incomplete"
    ]


FIGURE = Figure(
    id="mmix/course",
    title="Choosing the epoch by test folds: what it would gain (our own figure)",
    says=(
        "Graph classification. Left: accuracy at the epochs that a run looked at"
        " (`method.course`), 0 is the untrained encoder;"
        " means over seeds, bars one standard deviation. Right: for each run its best epoch's"
        " accuracy minus its last one's; an honest rule cannot have this gain, and much of the"
        " printed literature is reported at the best epoch by the folds."
    ),
    datasets=DATASETS,
    build=course,
    commands=course_commands,
)
