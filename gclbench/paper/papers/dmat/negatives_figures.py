"""Negatives: τ⁰, and how similar nodes of different classes are (Figures 5 and 6).

From runs of task=contrast.
"""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.paper.aggregate import Group
from gclbench.paper.columns import GNNBP, TRAINED, Condition, is_not
from gclbench.paper.config_defaults import own_negatives
from gclbench.paper.drawing.panels import Box, FigureContent, PlotPanel, Series
from gclbench.paper.drawing.selection import groups_of, holding, most, on
from gclbench.paper.figure_definition import Figure
from gclbench.paper.metrics import find_metric
from gclbench.paper.papers.dmat.columns import DMAT_DATASETS, DMAT_I, KMEANS, method_is
from gclbench.paper.reference import printed_values
from gclbench.paper.sources import Collection
from gclbench.records import Record

CONTRAST = "contrast"
QUARTILES = {"q1": "tau0_q1", "median": "tau0_median", "q3": "tau0_q3"}
"""Printed name to ours."""

BINS = 20
STAGES: dict[str, tuple[Condition, ...]] = {
    "(a) raw features": KMEANS.where,
    "(b) filtered features": (method_is("kmeans"), GNNBP),
    "(c) embedding (DMAT-i)": DMAT_I.where,
}


def tau0(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Quartiles of τ⁰ per dataset: means over runs, beside Table 5."""
    shown = tuple(datasets) or DMAT_DATASETS
    found = groups_of(collection, CONTRAST, *DMAT_I.where, datasets=shown)
    boxes: list[Box] = []
    used: list[Record] = []
    remarks = []
    for dataset in shown:
        group = most(on(found, dataset))
        if group is not None:
            used += group.records
            quartiles = [group.cell(metric).mean for metric in QUARTILES.values()]
            box = _box(dataset, "ours", quartiles)
            boxes += box
            if not box and any(record.ok for record in group.records):
                remarks.append(f"{dataset}: a quartile is not finite, so there is no box.")
        boxes += _box(dataset, "paper (Table 5)", [_printed(dataset, name) for name in QUARTILES])
    if not used:
        remarks.append("Ours: not run.")
    panel = PlotPanel(
        "τ⁰ by dataset: quartiles over nodes", "", "τ⁰", boxes=tuple(boxes), y_log=True
    )
    return FigureContent((panel,), tuple(used), remarks=tuple(remarks))


def _box(dataset: str, source: str, quartiles: Sequence[float | None]) -> list[Box]:
    """A box where all three are there and can be drawn on a logarithmic axis."""
    low, middle, high = quartiles
    if low is None or middle is None or high is None or not 0 < low <= middle <= high:
        return []
    return [Box(dataset, source, low, middle, high)]


def _printed(dataset: str, name: str) -> float | None:
    for value in printed_values():
        if (value.paper, value.table, value.dataset, value.metric) == ("dmat", "5", dataset, name):
            return value.mean
    return None


def hardness(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """The three stages, a line per dataset, and the contrastive methods on the dataset that has the
    most of them."""
    shown = tuple(datasets) or DMAT_DATASETS
    found = groups_of(collection, CONTRAST, datasets=shown)
    panels: list[PlotPanel] = []
    used: list[Record] = []
    for title, conditions in STAGES.items():
        lines = []
        for dataset in shown:
            group = most(holding(on(found, dataset), *conditions))
            if group is not None:
                lines += histogram(dataset, group)
                used += group.records
        panels.append(_panel(title, lines))
    methods = {dataset: _methods(on(found, dataset)) for dataset in shown}
    dataset = max(shown, key=lambda name: (len(methods[name]), name == "cora"))
    lines = []
    for label, group in methods[dataset].items():
        lines += histogram(label, group)
        used += group.records
    panels.append(_panel(f"methods on {dataset} (not in the paper)" if lines else "methods", lines))
    return FigureContent(tuple(panels), tuple({record.id: record for record in used}.values()))


def _panel(title: str, lines: Sequence[Series]) -> PlotPanel:
    return PlotPanel(
        title, "cosine of pairs of different classes", "share of pairs, percent", steps=tuple(lines)
    )


def histogram(label: str, group: Group) -> list[Series]:
    """Percent of the pairs per bin, means over runs; nothing where a bin has no value."""
    shares = [group.cell(f"hardness_{number:02d}").mean for number in range(1, BINS + 1)]
    if any(share is None for share in shares):
        return []
    centres = tuple(round(-1 + (2 * number + 1) / BINS, 6) for number in range(BINS))
    factor = find_metric("hardness_01").factor
    percent = tuple(factor * share for share in shares if share is not None)
    return [Series(label, centres, percent)]


def _methods(groups: Sequence[Group]) -> dict[str, Group]:
    """Method, and strategy where it is not the method's own, to the setting with the most runs; the
    features are no method."""
    by_label: dict[str, list[Group]] = {}
    for group in holding(groups, is_not("method.name", "kmeans"), TRAINED):
        method, negatives = group.name("method"), group.name("negatives")
        by_label.setdefault(
            method if negatives == own_negatives(method) else f"{method} + {negatives}", []
        ).append(group)
    chosen = {label: most(by_label[label]) for label in sorted(by_label)}
    return {
        label: group
        for label, group in chosen.items()
        if group is not None and histogram(label, group)
    }


FIGURES = (
    Figure(
        id="dmat/5",
        title="τ⁰ of DMAT-i (DMT / DMAT / DMAT-i paper, Figure 5 and Table 5)",
        says=(
            "Boxes reach from the lower to the upper quartile over nodes, the line in them is the"
            " median; ours are means over runs."
            " How the paper draws its tuples is not said (docs/choices.md)."
        ),
        datasets=DMAT_DATASETS,
        build=tau0,
        commands=lambda datasets: [
            f"gclbench -m method=dmat_i dataset={','.join(datasets)} task=contrast seeds=3"
        ],
    ),
    Figure(
        id="dmat/6",
        title="Negative hardness (DMT / DMAT / DMAT-i paper, Figure 6)",
        says=(
            "Share of the pairs of nodes of different classes by their cosine, in twenty bins,"
            " means over runs. (a) and (b) of the features, (c) and the methods of the last two"
            " views of the training."
        ),
        datasets=DMAT_DATASETS,
        build=hardness,
        commands=lambda datasets: [
            (
                "gclbench -m"
                f" method=kmeans filter=none,gnnbp dataset={','.join(datasets)} task=contrast"
            ),
            f"gclbench -m method=dmat_i dataset={','.join(datasets)} task=contrast seeds=3",
            "gclbench -m method=grace,progcl,nml_gcl,augcl dataset=cora task=contrast seeds=3",
        ],
    ),
)
