"""Base method × strategy for negatives: a table with strategies as columns.

No paper prints it. It has a grid per dataset and measure, with a row per base method. One half is
about nodes, the other one about collections of graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gclbench.component.registry import DATASETS, NEGATIVES
from gclbench.config.composition import items_of_dataset
from gclbench.paper import run_words
from gclbench.paper.aggregate import group_records
from gclbench.paper.columns import GNNBP, LINEAR, RAW, TEN_FOLDS, TRAINED, Column, is_
from gclbench.paper.component_versions import recorded_seeds
from gclbench.paper.contrastive_columns import PHASES_READING
from gclbench.paper.filled_table import Comparison
from gclbench.paper.measure import Measure, fit_seconds, peak_memory
from gclbench.paper.table_definition import Definition

ID = "matrix"
TITLE = (
    "base method × strategy for negatives: accuracy, NMI, seconds, memory; no paper prints these"
)
DATASETS_SHOWN = ("cora",)
"""Shown where no datasets are asked for."""

COLLECTIONS_SHOWN = ("mutag",)
"""Of the other half, in results."""

NODES_200 = "mvgrl (nodes, 200 steps)"

BASES = (
    Column("grace", (is_("method.name", "grace"), RAW, TRAINED)),
    Column("gca", (is_("method.name", "gca"), RAW, TRAINED)),
    # A fixed number of steps, GRACE's on Cora: a strategy whose loss changes its meaning on the way
    # knows no lowest loss to stop at, and without augmentation this objective overtrains long
    # before 3,000 (results/notes/mmix.md).
    Column(
        NODES_200,
        (
            is_("method.name", "mvgrl"),
            is_("method.objective", "nodes"),
            is_("method.epochs", 200),
            is_("method.patience", 0),
            RAW,
        ),
    ),
    Column(
        "mvgrl (summary)",
        (is_("method.name", "mvgrl"), is_("method.objective", "summary"), RAW, TRAINED),
    ),
    Column("dmat_i", (is_("method.name", "dmat_i"), GNNBP, TRAINED)),
    Column("dgi", (is_("method.name", "dgi"), RAW, TRAINED)),
    Column("bgrl", (is_("method.name", "bgrl"), RAW, TRAINED)),
    Column("cca_ssg", (is_("method.name", "cca_ssg"), RAW, TRAINED)),
)

RANDOM_SPLIT = (is_("task.protocol", "random_10_10_80"),)

MEASURES = (
    Measure(
        "accuracy", task="classification", where=RANDOM_SPLIT, heading="accuracy (10/10/80), %"
    ),
    Measure("nmi", task="clustering", heading="NMI of k-means, %"),
    Measure(
        "seconds",
        fit_seconds,
        task="classification",
        where=RANDOM_SPLIT,
        heading="seconds of training",
    ),
    Measure(
        "memory",
        peak_memory,
        task="classification",
        where=RANDOM_SPLIT,
        heading="peak memory of the process (on a GPU: allocated there), GiB",
    ),
)

GRAPH_BASES = (
    Column("graphcl", (is_("method.name", "graphcl"), is_("method.objective", "others"), RAW)),
    # Plain negatives with the positive in the denominator and both directions, as every other
    # strategy has them: what a strategy is to be compared with.
    Column(
        "graphcl (InfoNCE)",
        (is_("method.name", "graphcl"), is_("method.objective", "all"), RAW),
    ),
    Column("joao", (is_("method.name", "joao"), RAW, TRAINED)),
    Column("joaov2", (is_("method.name", "joaov2"), RAW, TRAINED)),
    Column(
        "mvgrl (nodes and graphs)",
        (
            is_("method.name", "mvgrl"),
            is_("method.objective", "nodes"),
            is_("method.levels", "both", default="both"),
            RAW,
        ),
    ),
    Column(
        "mvgrl (summary)",
        (is_("method.name", "mvgrl"), is_("method.objective", "summary"), RAW, TRAINED),
    ),
    Column("infograph", (is_("method.name", "infograph"), RAW, TRAINED)),
)

LINEAR_MACHINE = (LINEAR, TEN_FOLDS)

GRAPH_MEASURES = (
    Measure(
        "accuracy",
        task="graph_classification",
        where=LINEAR_MACHINE,
        heading="accuracy of a linear SVM (10 folds), %",
    ),
    Measure("nmi", task="graph_clustering", heading="NMI of k-means, %"),
    Measure(
        "seconds",
        fit_seconds,
        task="graph_classification",
        where=LINEAR_MACHINE,
        heading=MEASURES[2].heading,
    ),
    Measure(
        "memory",
        peak_memory,
        task="graph_classification",
        where=LINEAR_MACHINE,
        heading=MEASURES[3].heading,
    ),
)


SETTINGS_REMARK = (
    "Where runs at a base method's shipped settings are recorded, those at others are not shown;"
    " several settings of a strategy stand side by side."
)
MACHINE_REMARK = (
    "Seconds and memory are of the machine and the commit in the records;"
    " compare them within a row or column only, where the commits are alike."
)


@dataclass(frozen=True)
class Half:
    """What the matrix shows of datasets of one kind.

    Attributes:
        bases: its rows. measures: its grids. tasks: what its commands run. remarks: below it.
    """

    bases: tuple[Column, ...]
    measures: tuple[Measure, ...]
    tasks: tuple[str, ...]
    remarks: tuple[str, ...]


OF_NODES = Half(
    BASES,
    MEASURES,
    ("classification", "clustering"),
    (
        SETTINGS_REMARK,
        f"{NODES_200}: GRACE's number of steps on Cora, no early stop (docs/choices.md).",
        "unsupported: the method contrasts no pairs of nodes that a strategy could weight; the"
        " record says why.",
        PHASES_READING,
        MACHINE_REMARK,
    ),
)
OF_GRAPHS = Half(
    GRAPH_BASES,
    GRAPH_MEASURES,
    ("graph_classification", "graph_clustering"),
    (
        SETTINGS_REMARK,
        "graphcl, joao and joaov2 leave the positive out of the denominator with plain negatives,"
        " in one direction, as printed; graphcl (InfoNCE) has it there, in both directions,"
        " as every strategy has. In the rows of joao and joaov2 a strategy differs from uniform by"
        " that, too (docs/choices.md).",
        "unsupported: the method contrasts no graphs that a strategy could weight, or the strategy"
        " reads edges between them; the record says why.",
        PHASES_READING,
        MACHINE_REMARK,
    ),
)


def strategies() -> list[str]:
    """Every strategy, the plain one first."""
    return sorted(NEGATIVES.names(), key=lambda name: (name != "uniform", name))


def half_of(dataset: str) -> Half:
    """The half of the matrix that shows a dataset; that of nodes for an unknown name."""
    known = dataset in DATASETS.entries
    return OF_GRAPHS if known and items_of_dataset(dataset) == "graphs" else OF_NODES


def halves(datasets: Sequence[str]) -> list[list[str]]:
    """The datasets of nodes and the collections of graphs, apart; none of them empty."""
    parts = [[name for name in datasets if half_of(name) is half] for half in (OF_NODES, OF_GRAPHS)]
    return [part for part in parts if part]


def table(datasets: Sequence[str] = DATASETS_SHOWN) -> Definition:
    """The matrix of some datasets of one kind.

    Raises:
        ValueError: for datasets of nodes together with collections of graphs.
    """
    apart = halves(datasets)
    if len(apart) > 1:
        lists = " or ".join(" ".join(f"--dataset {name}" for name in part) for part in apart)
        raise ValueError(
            "table matrix has other rows for nodes than for collections of graphs; ask for one"
            f" kind at a time: {lists}"
        )
    half = half_of(datasets[0]) if datasets else OF_NODES
    rows = {
        f"{measure.metric}/{base.label}": replace(measure, base=base)
        for measure in half.measures
        for base in half.bases
    }
    return Definition(
        paper=ID,
        number="",
        title=TITLE,
        task="",
        datasets=tuple(datasets),
        metrics=tuple(rows),
        columns=tuple(Column(name, (is_("negatives.name", name),)) for name in strategies()),
        measures=rows,
        compared=False,
        remarks=half.remarks,
    )


def commands(comparison: Comparison, seeds: int, all_cells: bool) -> list[str]:
    """One line per base method, dataset and set of strategies: of every cell, or of those with
    fewer runs than seeds that no method refused to run.

    A run counts whatever its end, unless it was `interrupted`, is at other settings than the
    shipped ones, or of another version of a component than the code has.
    """
    cells = [
        ((base.label, entry.dataset), entry)
        for entry in comparison.entries
        if (base := comparison.definition.measure(entry.metric).base) is not None
    ]
    # What a method refuses to run it refuses for every seed and task.
    refused = {
        (place, entry.column)
        for place, entry in cells
        for _, cell in entry.ours.apart()
        if "unsupported" in cell.statuses
    }
    lacking: dict[tuple[str, str], set[str]] = {}
    for place, entry in cells:
        settings = group_records(entry.records)
        recorded = max((len(recorded_seeds(each.records)) for each in settings), default=0)
        wanted = (place, entry.column) not in refused and (not entry.faithful or recorded < seeds)
        if all_cells or wanted:
            lacking.setdefault(place, set()).add(entry.column)
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (label, dataset), names in lacking.items():
        chosen = tuple(name for name in strategies() if name in names)
        merged.setdefault((label, chosen), []).append(dataset)
    return [_command(label, names, where, seeds) for (label, names), where in merged.items()]


def _command(base: str, negatives: Sequence[str], datasets: Sequence[str], seeds: int) -> str:
    """What runs a base method with strategies on datasets."""
    half = half_of(datasets[0])
    column = next(item for item in half.bases if item.label == base)
    settings = [
        f"{item.key}={item.values[0]}"
        for item in column.where
        if item.key.startswith("method.") and not item.excluded
    ]
    words = [text.replace("method.name=", "method=") for text in settings]
    words += [
        f"negatives={','.join(negatives)}",
        f"dataset={','.join(datasets)}",
        f"task=[{','.join(half.tasks)}]",
        f"seeds={seeds}",
    ]
    return run_words.command(["-m", *words])
