"""The course of a training (paper 000, Figure 4; paper 002, Figure 3): from runs that differ in
their number of epochs alone."""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.paper.aggregate import Group
from gclbench.paper.columns import TRAINED, is_, is_not
from gclbench.paper.figures.definition import Figure
from gclbench.paper.figures.panels import Content, Panel, Series
from gclbench.paper.figures.selection import (
    dataset_of,
    family,
    groups_of,
    holding,
    line,
    most,
    on,
    shown_dataset,
)
from gclbench.paper.measure import training_seconds
from gclbench.paper.papers.contrastive_columns import runs_of
from gclbench.paper.papers.dmat import AGC, AGE, DGI, DMAT_I, GCA, PROGCL, SDCN, SSGC
from gclbench.paper.sources import Collection

PREFIX = (
    "Every point is a run of its own: a seed's streams do not depend on the number of epochs, so a"
    " run with fewer epochs is the longer one stopped early."
)

DMAT_METRICS = {"acc": "ACC", "nmi": "NMI", "ari": "ARI", "macro_f1": "macro-F1"}
DMAT_DATASETS = ("coauthor_phy", "cora", "acm", "dblp", "citeseer")
DMAT_EPOCHS = (0, 3, 10, 30, 60, 100, 150, 200, 300, 400)
DMAT_PATH = tuple(condition for condition in DMAT_I.where if condition is not TRAINED)
"""DMAT-i as in paper 000, trained for however long."""

RIVALS = {
    "AGC": AGC,
    "SSGC": SSGC,
    "AGE": AGE,
    "SDCN": SDCN,
    "DGI": DGI,
    "GCA": GCA,
    "ProGCL": PROGCL,
}

MMIX = (
    *runs_of("mmix_mp", "mmix", variant="mp", scope="wp", diversity=True),
    is_not("method.subgraphs", 0),
    is_("method.patience", 0),
    is_("task.protocol", "public"),
)
MMIX_DATASETS = ("pubmed", "cora", "citeseer")
MMIX_WIDTHS = (64, 256, 512, 2048)
MMIX_SIZES = (2000, 10000)
MMIX_EPOCHS = (1, 10, 50, 100, 200, 500, 1000, 2000)


def dmat(collection: Collection, datasets: Sequence[str]) -> Content:
    """Metrics over epochs, and accuracy against the seconds of filter and training."""
    trained = groups_of(
        collection,
        "clustering",
        *DMAT_PATH,
        is_("task.clusters", None),
        datasets=datasets or DMAT_DATASETS,
    )
    several = [
        name for name in DMAT_DATASETS if len(family(on(trained, name), "method.epochs")) > 1
    ]
    dataset = dataset_of(
        trained, datasets, [*several, *(name for name in DMAT_DATASETS if name not in several)]
    )
    members = [
        (values[0], group) for values, group in family(on(trained, dataset), "method.epochs")
    ]
    curves = tuple(
        series
        for metric, name in DMAT_METRICS.items()
        if (series := line(name, members, metric)) is not None
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
        Panel("DMAT-i over epochs", "epochs (batches)", "percent", series=curves, x_scale="symlog"),
        Panel(
            "accuracy against time",
            "seconds of filter and training",
            "ACC, percent",
            series=tuple(path for path in paths if path is not None),
            x_scale="log",
        ),
    )
    return Content(panels, tuple(used), remarks=(shown_dataset(dataset, DMAT_DATASETS[0]),))


def _against_time(label: str, groups: Sequence[Group]) -> Series | None:
    """Mean accuracy at the mean seconds of filter and fit, each over the runs that are ok."""
    points = []
    for group in groups:
        cell = group.cell("acc")
        taken = [training_seconds(record) for record in group.records if record.ok]
        known = [value for value in taken if value]
        if cell.mean is not None and known:
            points.append((sum(known) / len(known), 100 * cell.mean))
    points.sort()
    return (
        Series(label, tuple(x for x, _ in points), tuple(y for _, y in points)) if points else None
    )


def mmix(collection: Collection, datasets: Sequence[str]) -> Content:
    """Accuracy, and its standard deviation over runs, over epochs; a line per size of the
    sub-graphs and output dimension."""
    found = groups_of(collection, "classification", *MMIX, datasets=datasets or MMIX_DATASETS)
    dataset = dataset_of(found, datasets, MMIX_DATASETS)
    swept = family(on(found, dataset), "method.subgraph_nodes", "method.hidden", "method.epochs")
    means, spreads = [], []
    for pair in sorted({(size, hidden) for (size, hidden, _), _ in swept}):
        members = [(epochs, group) for (*this, epochs), group in swept if tuple(this) == pair]
        label = f"({pair[0]:g}, {pair[1]:g})"
        series = line(label, members, "accuracy")
        if series is not None:
            means.append(series)
        deviations = [
            (epochs, 100 * std)
            for epochs, group in members
            if (std := group.cell("accuracy").std) is not None
        ]
        if deviations:
            spreads.append(Series(label, *zip(*deviations, strict=True)))
    panels = (
        Panel(
            "accuracy over epochs",
            "epochs",
            "accuracy, percent",
            series=tuple(means),
            x_scale="log",
        ),
        Panel(
            "standard deviation over runs",
            "epochs",
            "percentage points",
            series=tuple(spreads),
            x_scale="log",
            missing="one run each" if means else "not run",
        ),
    )
    used = tuple(record for _, group in swept for record in group.records)
    remarks = [shown_dataset(dataset, MMIX_DATASETS[0])]
    if len(means) == 1:
        # A single line has no legend.
        remarks.append(f"The line is {means[0].label}.")
    return Content(panels, used, remarks=tuple(remarks))


def dmat_commands(datasets: Sequence[str]) -> list[str]:
    """A sweep over epochs, and the other methods."""
    epochs = ",".join(map(str, DMAT_EPOCHS))
    return [
        (
            f"gclbench -m method=dmat_i dataset={datasets[0]} task=clustering seeds=3"
            f" method.epochs={epochs}"
        ),
        (
            f"gclbench -m method=agc,ssgc,age,sdcn,dgi,gca,progcl dataset={datasets[0]}"
            " task=clustering seeds=3"
        ),
    ]


def mmix_commands(datasets: Sequence[str]) -> list[str]:
    """A sweep over epochs and dimensions."""
    widths, sizes, epochs = (
        ",".join(map(str, values)) for values in (MMIX_WIDTHS, MMIX_SIZES, MMIX_EPOCHS)
    )
    return [
        f"gclbench -m method=mmix_mp dataset={datasets[0]} task=classification_public seeds=3"
        f" method.patience=0 method.hidden={widths} method.subgraph_nodes={sizes}"
        f" method.epochs={epochs}"
    ]


FIGURES = (
    Figure(
        id="dmat/4",
        title=(
            "Training of DMAT-i, and accuracy against training time (DMT / DMAT / DMAT-i paper,"
            " Figure 4)"
        ),
        says=(
            f"Node clustering, means over seeds, bars one standard deviation. {PREFIX} Seconds are"
            " of the machine in the records, evaluation left out; of other methods the setting"
            " with the most runs."
        ),
        datasets=DMAT_DATASETS[:1],
        stand_ins=DMAT_DATASETS[1:],
        build=dmat,
        commands=dmat_commands,
    ),
    Figure(
        id="mmix/3",
        title=(
            "Accuracy of M-Mix (mp) over epochs, by (size of the sub-graphs, output dimension)"
            " (M-Mix paper, KDD 2022, Figure 3)"
        ),
        says=(
            f"Node classification on the public split. {PREFIX} With early stopping"
            " (`method.patience`) left out, as in the paper's figure."
        ),
        datasets=MMIX_DATASETS[:1],
        stand_ins=MMIX_DATASETS[1:],
        build=mmix,
        commands=mmix_commands,
    ),
)
