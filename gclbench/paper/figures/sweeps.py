"""Accuracy against a setting (paper 002, Figure 2; paper 003, Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.paper.columns import Condition, is_, is_not
from gclbench.paper.figures.definition import Figure
from gclbench.paper.figures.panels import Content, Panel
from gclbench.paper.figures.selection import (
    dataset_of,
    groups_of,
    holding,
    line,
    on,
    shown_dataset,
    swept,
)
from gclbench.paper.papers.contrastive_columns import NML, runs_of
from gclbench.paper.sources import Collection

MMIX = (
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

NML_DATASETS = ("amazon_photo", "cora", "citeseer")
ALPHAS = (0, 0.05, 0.1, 0.2, 0.4, 0.8)
STEPS = (1, 5, 10, 15, 20, 25)


def mmix(collection: Collection, datasets: Sequence[str]) -> Content:
    """Accuracy over the output dimension, a line per size of the sub-graphs, without and with the
    diversity loss."""
    found = groups_of(collection, "classification", *MMIX, datasets=datasets or MMIX_DATASETS)
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
            Panel(
                title,
                "output dimension d",
                "accuracy, percent",
                series=tuple(series for series in lines if series),
                x_scale="values",
                alike="accuracy",
            )
        )
    return Content(tuple(panels), tuple(used), remarks=(shown_dataset(dataset, MMIX_DATASETS[0]),))


def nml(collection: Collection, datasets: Sequence[str]) -> Content:
    """Accuracy over the weight α of the regulariser, and over the steps T_M of the metric per step
    of the encoder."""
    found = groups_of(collection, "classification", *NML.where, datasets=datasets or NML_DATASETS)
    dataset = dataset_of(found, datasets, NML_DATASETS)
    panels, used = [], []
    for key, title, label in (
        ("negatives.alpha", "(a) weight of the regulariser", "α"),
        ("negatives.inner_steps", "(b) steps of the metric", "T_M"),
    ):
        members = [(values[0], group) for values, group in swept(on(found, dataset), key)]
        series = line("NML-GCL", members, "accuracy")
        used += [record for _, group in members for record in group.records]
        panels.append(
            Panel(
                title,
                label,
                "accuracy, percent",
                series=(series,) if series else (),
                x_scale="values",
            )
        )
    records = tuple({record.id: record for record in used}.values())
    protocols = sorted({str(record.spec["task"].get("protocol", "unknown")) for record in records})
    told = [f"Splits: {', '.join(protocols)}."] if protocols else []
    return Content(tuple(panels), records, remarks=(shown_dataset(dataset, NML_DATASETS[0]), *told))


def mmix_commands(datasets: Sequence[str]) -> list[str]:
    """A sweep over dimensions and sizes, with and without the diversity loss."""
    widths, sizes = (",".join(map(str, values)) for values in (WIDTHS, SIZES))
    return [
        f"gclbench -m method=mmix_mp dataset={datasets[0]} task=classification_public seeds=3 "
        f"method.hidden={widths} method.subgraph_nodes={sizes} negatives.diversity=true,false"
    ]


def nml_commands(datasets: Sequence[str]) -> list[str]:
    """Two sweeps."""
    start = f"gclbench -m method=nml_gcl dataset={datasets[0]} task=classification seeds=3"
    alphas, steps = (",".join(map(str, values)) for values in (ALPHAS, STEPS))
    return [f"{start} negatives.alpha={alphas}", f"{start} negatives.inner_steps={steps}"]


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
        build=mmix,
        commands=mmix_commands,
    ),
    Figure(
        id="nml/4",
        title="Hyper-parameters of NML-GCL (NML-GCL paper, Figure 4)",
        says=(
            "Node classification, means over seeds, bars one standard deviation; the runs of a"
            " curve differ in that setting alone."
        ),
        datasets=NML_DATASETS[:1],
        stand_ins=NML_DATASETS[1:],
        build=nml,
        commands=nml_commands,
    ),
)
