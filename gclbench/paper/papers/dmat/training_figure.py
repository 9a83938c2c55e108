"""The course of a training (Figure 4 of the DMAT-i paper).

From runs that differ in their number of epochs alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.paper.aggregate import Group
from gclbench.paper.columns import TRAINED, is_
from gclbench.paper.drawing.panels import FigureContent, PlotPanel, Series
from gclbench.paper.drawing.selection import (
    SHORTER_RUNS,
    dataset_of,
    family,
    groups_of,
    holding,
    line,
    most,
    on,
    shown_dataset,
)
from gclbench.paper.figure_definition import Figure
from gclbench.paper.measure import training_seconds
from gclbench.paper.metrics import find_metric
from gclbench.paper.papers.dmat.columns import (
    AGC,
    AGE,
    DGI,
    DMAT_I,
    GCA,
    PROGCL_QUOTED,
    SDCN,
    SSGC,
    UNNORMALISED,
)
from gclbench.paper.sources import Collection

DMAT_METRICS = ("acc", "nmi", "ari", "macro_f1")
FIGURE_DATASETS = ("coauthor_phy", "cora", "acm", "dblp", "citeseer")
DMAT_EPOCHS = (0, 3, 10, 30, 60, 100, 150, 200, 300, 400)
DMAT_PATH = tuple(condition for condition in DMAT_I.where if condition is not TRAINED)
"""DMAT-i as in the paper, trained for however long."""

RIVALS = {
    "AGC": AGC,
    "SSGC": SSGC,
    "AGE": AGE,
    "SDCN": SDCN,
    "DGI": DGI,
    "GCA": GCA,
    "ProGCL": PROGCL_QUOTED,
}


def dmat(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Metrics over epochs, and accuracy against the seconds of filter and training."""
    trained = groups_of(
        collection,
        "clustering",
        *DMAT_PATH,
        is_("task.clusters", None),
        datasets=datasets or FIGURE_DATASETS,
    )
    several = [
        name for name in FIGURE_DATASETS if len(family(on(trained, name), "method.epochs")) > 1
    ]
    dataset = dataset_of(
        trained, datasets, [*several, *(name for name in FIGURE_DATASETS if name not in several)]
    )
    members = [
        (values[0], group) for values, group in family(on(trained, dataset), "method.epochs")
    ]
    curves = tuple(
        series
        for metric in DMAT_METRICS
        if (series := line(find_metric(metric).heading, members, metric)) is not None
    )
    used = [record for _, group in members for record in group.records]
    paths = [_against_time("DMAT-i", [group for _, group in members])]
    others = groups_of(
        collection, "clustering", is_("task.clusters", None), TRAINED, datasets=(dataset,)
    )
    for name, column in RIVALS.items():
        group = most(holding(others, *column.where))
        if group is not None:
            paths.append(_against_time(name, [group]))
            used += group.records
    panels = (
        PlotPanel(
            "DMAT-i over epochs", "epochs (batches)", "percent", series=curves, x_scale="symlog"
        ),
        PlotPanel(
            "accuracy against time",
            "seconds of filter and training",
            "ACC, percent",
            series=tuple(path for path in paths if path is not None),
            x_scale="log",
        ),
    )
    return FigureContent(panels, tuple(used), remarks=(shown_dataset(dataset, FIGURE_DATASETS[0]),))


def _against_time(label: str, groups: Sequence[Group]) -> Series | None:
    """Mean accuracy at the mean seconds of filter and fit, each over the runs that are ok."""
    points = []
    for group in groups:
        cell = group.cell("acc")
        taken = [training_seconds(record) for record in group.records if record.ok]
        known = [value for value in taken if value]
        if cell.mean is not None and known:
            points.append((sum(known) / len(known), find_metric("acc").factor * cell.mean))
    points.sort()
    return (
        Series(label, tuple(x for x, _ in points), tuple(y for _, y in points)) if points else None
    )


def dmat_commands(datasets: Sequence[str]) -> list[str]:
    """A sweep over epochs, and the other methods."""
    epochs = ",".join(map(str, DMAT_EPOCHS))
    return [
        (
            "gclbench -m method=dmat_i"
            f" dataset={datasets[0]} task=clustering seeds=3 method.epochs={epochs}"
        ),
        (f"gclbench -m method=agc,ssgc,age,sdcn dataset={datasets[0]} task=clustering seeds=3"),
        (
            f"gclbench -m method=dgi,gca,progcl dataset={datasets[0]} task=clustering seeds=3"
            f" {UNNORMALISED.override('clustering')}"
        ),
    ]


FIGURE = Figure(
    id="dmat/4",
    title=(
        "Training of DMAT-i, and accuracy against training time (DMT / DMAT / DMAT-i paper,"
        " Figure 4)"
    ),
    says=(
        f"Node clustering, means over seeds, bars one standard deviation. {SHORTER_RUNS} Seconds"
        " are of the machine in the records, evaluation left out; of other methods the setting"
        " with the most runs."
    ),
    datasets=FIGURE_DATASETS[:1],
    stand_ins=FIGURE_DATASETS[1:],
    build=dmat,
    commands=dmat_commands,
)
