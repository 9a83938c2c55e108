"""NML-GCL: a metric of negatives, learned together with the encoder (IJCAI 2025)."""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.paper.columns import is_
from gclbench.paper.contrastive_columns import (
    CITATION,
    GRACE,
    LOCAL_SETTINGS,
    NML,
    NML_ABLATIONS,
    NML_DATASETS,
    NML_ROWS,
    ONE_PROTOCOL,
    OTHERS,
    PHASES_READING,
)
from gclbench.paper.drawing.maps import map_commands, side_by_side
from gclbench.paper.drawing.panels import FigureContent, PlotPanel
from gclbench.paper.drawing.selection import (
    dataset_of,
    groups_of,
    line,
    on,
    shown_dataset,
    swept,
)
from gclbench.paper.figure_definition import Figure
from gclbench.paper.publication import Paper
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition

TABLES = (
    Definition(
        paper="nml",
        number="1",
        title=(
            "node classification (public splits; 10/10/80 for Amazon and Wiki-CS), NML-GCL paper,"
            " Table 1"
        ),
        task="classification",
        datasets=NML_DATASETS,
        metrics=("accuracy",),
        columns=(*NML_ROWS, *NML_ABLATIONS, *OTHERS),
        on={
            name: (is_("task.protocol", "public" if name in CITATION else "random_10_10_80"),)
            for name in NML_DATASETS
        },
        remarks=(
            ONE_PROTOCOL,
            (
                "`nml_gcl` has the official code's separable metric;"
                " `pairwise` is the network as printed."
            ),
            PHASES_READING,
            LOCAL_SETTINGS,
        ),
    ),
    Definition(
        paper="nml",
        number="2",
        title="node clustering, NML-GCL paper, Table 2",
        task="clustering",
        datasets=NML_DATASETS,
        metrics=("fmi", "ari"),
        columns=(*NML_ROWS, *NML_ABLATIONS, *OTHERS),
        where=(is_("task.clusters", None),),
        remarks=("The paper prints no spreads.", PHASES_READING, LOCAL_SETTINGS),
    ),
)

FIGURE_DATASETS = ("amazon_photo", "cora", "citeseer")
ALPHAS = (0, 0.05, 0.1, 0.2, 0.4, 0.8)
STEPS = (1, 5, 10, 15, 20, 25)


def hyper_parameters(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Accuracy over the weight α of the regulariser, and over the steps T_M of the metric per step
    of the encoder."""
    found = groups_of(
        collection, "classification", *NML.where, datasets=datasets or FIGURE_DATASETS
    )
    dataset = dataset_of(found, datasets, FIGURE_DATASETS)
    panels, used = [], []
    for key, title, label in (
        ("negatives.alpha", "(a) weight of the regulariser", "α"),
        ("negatives.inner_steps", "(b) steps of the metric", "T_M"),
    ):
        members = [(values[0], group) for values, group in swept(on(found, dataset), key)]
        series = line("NML-GCL", members, "accuracy")
        used += [record for _, group in members for record in group.records]
        panels.append(
            PlotPanel(
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
    return FigureContent(
        tuple(panels), records, remarks=(shown_dataset(dataset, FIGURE_DATASETS[0]), *told)
    )


def sweep_commands(datasets: Sequence[str]) -> list[str]:
    """Two sweeps."""
    start = f"gclbench -m method=nml_gcl dataset={datasets[0]} task=classification seeds=3"
    alphas, steps = (",".join(map(str, values)) for values in (ALPHAS, STEPS))
    return [f"{start} negatives.alpha={alphas}", f"{start} negatives.inner_steps={steps}"]


MAPS = Figure(
    id="nml/3",
    title="t-SNE maps of GRACE and NML-GCL (NML-GCL paper, Figure 3)",
    says=(
        "Colours and numbers are classes, numbers at the median of each. The same nodes in both"
        " maps, 3,000 of larger graphs."
    ),
    datasets=("amazon_computers",),
    stand_ins=("cora", "citeseer"),
    build=side_by_side(
        {"GRACE": GRACE.where, "NML-GCL": NML.where}, ("amazon_computers", "cora", "citeseer")
    ),
    commands=map_commands("method=grace", "method=nml_gcl"),
)

SWEEPS = Figure(
    id="nml/4",
    title="Hyper-parameters of NML-GCL (NML-GCL paper, Figure 4)",
    says=(
        "Node classification, means over seeds, bars one standard deviation; the runs of a"
        " curve differ in that setting alone."
    ),
    datasets=FIGURE_DATASETS[:1],
    stand_ins=FIGURE_DATASETS[1:],
    build=hyper_parameters,
    commands=sweep_commands,
)

PAPER = Paper(
    name="nml",
    title="Negative Metric Learning for Graphs (IJCAI 2025; NML-GCL)",
    key="003",
    introduces=("nml_gcl",),
    methods={
        "GRACE+": ("grace_plus", ""),
        "NML-GCL w/o M (m_ij = 1/N)": ("nml_gcl_without_metric", ""),
        "NML-GCL repl. cosine sim.": ("nml_gcl_cosine", ""),
    },
    datasets={"photo": "amazon_photo", "computers": "amazon_computers"},
    protocols=dict.fromkeys(CITATION, "public"),
    spread={
        "1": "The paper's spread is over ten classifiers on one encoder, not over trainings.",
        "2": "The paper prints no spread.",
    },
    tables=TABLES,
    figures=(MAPS, SWEEPS),
)
