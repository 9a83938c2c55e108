"""The matrix of base methods and strategies for negatives as HTML tables, one per dataset."""

from __future__ import annotations

from gclbench.paper import matrix
from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import DAGGER, Entry
from gclbench.paper.render import grids
from gclbench.paper.render.layout import Grid
from gclbench.paper.report.markup import Anchors, Markup, element, join, lines, told_apart
from gclbench.paper.sources import Collection

NO_STRATEGY = "uniform"
COMMAND = (
    "gclbench -m method=grace,gca,dmat_i negatives=uniform,progcl_weight,nml dataset=cora"
    " task=classification seeds=3"
)


def section(collection: Collection, anchors: Anchors) -> Markup:
    """A table for each dataset with runs of a strategy but the plain one, a body per measure."""
    datasets = sorted({record.name("dataset") for record in collection.records})
    wholes = [compare(matrix.table(part), collection) for part in matrix.halves(datasets)]
    mixed = [
        (whole, block.dataset)
        for whole in wholes
        for block in whole.blocks
        if any(entry.records and entry.column != NO_STRATEGY for entry in block.entries.values())
    ]
    tables = [
        _table(grids(whole.restrict([dataset])), dataset, anchors) for whole, dataset in mixed
    ]
    if not tables:
        tables = [
            element(
                "p",
                "No base method with another strategy is recorded. To begin: ",
                element("code", COMMAND),
                class_="note",
            )
        ]
    return element(
        "section",
        "\n",
        element("h2", "Bases × strategies"),
        "\n",
        element("p", _sentence()),
        "\n",
        lines(tables),
        id="matrix",
    )


def _sentence() -> str:
    return (
        "Every base method with every strategy for negatives; no paper prints these. Mean ±"
        " standard deviation over runs (number of runs). Seconds and memory are of the machine and"
        " the commit in the records: compare them within a row or column only, where the commits"
        f" are alike. {DAGGER} Not at the shipped settings of the base method."
    )


def _table(measures: list[Grid], dataset: str, anchors: Anchors) -> Markup:
    strategies = measures[0].columns
    bodies = []
    for grid in measures:
        measure = grid.title.removeprefix(f"{dataset}: ")
        span = element("span", measure)
        title_cell = element("th", span, scope="rowgroup", colspan=len(strategies) + 1)
        rows = [element("tr", title_cell, class_="group")]
        for row in grid.rows:
            entries = [entry for entry in row.entries if entry is not None]
            if any(entry.records for entry in entries):
                cells = [_cell(entry) for entry in entries]
                rows.append(element("tr", element("th", row.head[0], scope="row"), cells))
        bodies.append(element("tbody", lines(*rows)))
    head = [element("th", strategy, scope="col", data_sort="number") for strategy in strategies]
    title = anchors.of("matrix", dataset)
    table = element(
        "table",
        element(
            "caption", element("span", f"{dataset}: base methods by rows, strategies by columns")
        ),
        element("thead", element("tr", element("th", "base", scope="col", data_sort="text"), head)),
        lines(bodies),
        class_="sortable",
    )
    return join(
        element("h3", dataset, id=title),
        "\n",
        element("div", table, class_="scroll", role="region", aria_labelledby=title, tabindex="0"),
    )


def _cell(entry: Entry) -> Markup:
    if not entry.records:
        return element("td", element("i", "–", title="not run"))
    settings = entry.ours.apart()
    mean = settings[0][1].mean
    # Settings that differ stand below each other, never averaged.
    shown = [
        element("div", cell.show(entry.factor) + entry.signs, told_apart(what) if what else None)
        for what, cell in settings
    ]
    return element("td", shown, data_value=None if mean is None else f"{mean:.6g}")
