"""Accuracy by size and dimension, and over epochs (Figures 2 and 3 of M-Mix, KDD 2022)."""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.paper.columns import Condition, is_, is_not
from gclbench.paper.contrastive_columns import runs_of
from gclbench.paper.drawing.panels import FigureContent, PlotPanel, Series
from gclbench.paper.drawing.selection import (
    SHORTER_RUNS,
    dataset_of,
    family,
    groups_of,
    holding,
    line,
    on,
    shown_dataset,
    swept,
)
from gclbench.paper.figure_definition import Figure
from gclbench.paper.metrics import find_metric
from gclbench.paper.sources import Collection

SWEEP = (
    *runs_of("mmix_mp", "mmix", variant="mp", scope="wp"),
    is_not("method.subgraphs", 0),
    is_("task.protocol", "public"),
)
MMIX_DATASETS = ("pubmed", "cora", "citeseer")
DIVERSITY: dict[str, Condition] = {
    "without diversity loss": is_("negatives.diversity", False),
    "with diversity loss": is_("negatives.diversity", True, default=True),
}
WIDTHS = (32, 64, 128, 256, 512, 1024, 2048)
SIZES = (500, 1000, 2000, 10000)

TRAININGS = (
    *runs_of("mmix_mp", "mmix", variant="mp", scope="wp", diversity=True),
    is_not("method.subgraphs", 0),
    is_("method.patience", 0),
    is_("task.protocol", "public"),
)
MMIX_WIDTHS = (64, 256, 512, 2048)
MMIX_SIZES = (2000, 10000)
MMIX_EPOCHS = (1, 10, 50, 100, 200, 500, 1000, 2000)


def by_size(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Accuracy over the output dimension, a line per size of the sub-graphs, without and with the
    diversity loss."""
    found = groups_of(collection, "classification", *SWEEP, datasets=datasets or MMIX_DATASETS)
    dataset = dataset_of(found, datasets, MMIX_DATASETS)
    panels, used = [], []
    for title, condition in DIVERSITY.items():
        members = swept(
            holding(on(found, dataset), condition), "method.subgraph_nodes", "method.hidden"
        )
        lines = [
            line(
                f"n = {size:g}",
                [(hidden, group) for (nodes, hidden), group in members if nodes == size],
                "accuracy",
            )
            for size in sorted({nodes for (nodes, _), _ in members})
        ]
        used += [record for _, group in members for record in group.records]
        panels.append(
            PlotPanel(
                title,
                "output dimension d",
                "accuracy, percent",
                series=tuple(series for series in lines if series),
                x_scale="values",
                alike="accuracy",
            )
        )
    return FigureContent(
        tuple(panels), tuple(used), remarks=(shown_dataset(dataset, MMIX_DATASETS[0]),)
    )


def over_epochs(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Accuracy, and its standard deviation over runs, over epochs; a line per size of the
    sub-graphs and output dimension."""
    found = groups_of(collection, "classification", *TRAININGS, datasets=datasets or MMIX_DATASETS)
    dataset = dataset_of(found, datasets, MMIX_DATASETS)
    settings = family(on(found, dataset), "method.subgraph_nodes", "method.hidden", "method.epochs")
    means, spreads = [], []
    for pair in sorted({(size, hidden) for (size, hidden, _), _ in settings}):
        members = [(epochs, group) for (*this, epochs), group in settings if tuple(this) == pair]
        label = f"({pair[0]:g}, {pair[1]:g})"
        series = line(label, members, "accuracy")
        if series is not None:
            means.append(series)
        deviations = [
            (epochs, find_metric("accuracy").factor * std)
            for epochs, group in members
            if (std := group.cell("accuracy").std) is not None
        ]
        if deviations:
            spreads.append(Series(label, *zip(*deviations, strict=True)))
    panels = (
        PlotPanel(
            "accuracy over epochs",
            "epochs",
            "accuracy, percent",
            series=tuple(means),
            x_scale="log",
        ),
        PlotPanel(
            "standard deviation over runs",
            "epochs",
            "percentage points",
            series=tuple(spreads),
            x_scale="log",
            missing="one run each" if means else "not run",
        ),
    )
    used = tuple(record for _, group in settings for record in group.records)
    remarks = [shown_dataset(dataset, MMIX_DATASETS[0])]
    if len(means) == 1:
        # A single line has no legend.
        remarks.append(f"The line is {means[0].label}.")
    return FigureContent(panels, used, remarks=tuple(remarks))


def size_commands(datasets: Sequence[str]) -> list[str]:
    """A sweep over dimensions and sizes, with and without the diversity loss."""
    widths, sizes = (",".join(map(str, values)) for values in (WIDTHS, SIZES))
    return [
        f"gclbench -m method=mmix_mp dataset={datasets[0]} task=classification_public seeds=3 "
        f"method.hidden={widths} method.subgraph_nodes={sizes} negatives.diversity=true,false"
    ]


def epoch_commands(datasets: Sequence[str]) -> list[str]:
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
        id="mmix/2",
        title=(
            "Accuracy of M-Mix (mp) by output dimension and size n of the sub-graphs (M-Mix paper,"
            " KDD 2022, Figure 2)"
        ),
        says=(
            "Node classification on the public split, means over seeds, bars one standard"
            " deviation. Of the paper's sizes 10,000 is known."
        ),
        datasets=MMIX_DATASETS[:1],
        stand_ins=MMIX_DATASETS[1:],
        build=by_size,
        commands=size_commands,
    ),
    Figure(
        id="mmix/3",
        title=(
            "Accuracy of M-Mix (mp) over epochs, by (size of the sub-graphs, output dimension)"
            " (M-Mix paper, KDD 2022, Figure 3)"
        ),
        says=(
            f"Node classification on the public split. {SHORTER_RUNS} With early stopping"
            " (`method.patience`) left out, as in the paper's figure."
        ),
        datasets=MMIX_DATASETS[:1],
        stand_ins=MMIX_DATASETS[1:],
        build=over_epochs,
        commands=epoch_commands,
    ),
)
