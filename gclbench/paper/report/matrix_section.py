"""The matrix of base methods and strategies for negatives as HTML tables, one per dataset."""

from __future__ import annotations

from gclbench.paper import matrix
from gclbench.paper.report.markup import Anchors, Markup, element, join, lines, told_apart
from gclbench.paper.sources import Collection

NO_STRATEGY = "uniform"
COMMAND = (
    "gclbench -m method=grace,gca,dmat_i negatives=uniform,progcl_weight,nml dataset=cora"
    " task=classification seeds=3"
)


def section(collection: Collection, anchors: Anchors) -> Markup:
    """A table for each dataset with runs of a strategy besides the plain one, a body per measure."""
    datasets = sorted({record.name("dataset") for record in collection.records})
    found, _ = matrix.fields(collection, datasets)
    mixed = {field.dataset for field in found if field.cells and field.strategy != NO_STRATEGY}
    tables = [
        _table([field for field in found if field.dataset == dataset], dataset, anchors)
        for dataset in datasets
        if dataset in mixed
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
        " standard deviation over runs (number of runs). Seconds and memory are of the machine in"
        " the records: compare them within a row or column only."
    )


def _table(fields: list[matrix.Field], dataset: str, anchors: Anchors) -> Markup:
    strategies = list(dict.fromkeys(field.strategy for field in fields))
    bodies = []
    for measure in dict.fromkeys(field.measure.name for field in fields):
        rows = [
            element(
                "tr",
                element(
                    "th", element("span", measure), scope="rowgroup", colspan=len(strategies) + 1
                ),
                class_="group",
            )
        ]
        here = [field for field in fields if field.measure.name == measure]
        for base in dict.fromkeys(field.base for field in here):
            cells = [_cell(field) for field in here if field.base == base]
            if any(field.cells for field in here if field.base == base):
                rows.append(element("tr", element("th", base, scope="row"), cells))
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


def _cell(field: matrix.Field) -> Markup:
    if not field.cells:
        return element("td", element("i", "–", title="not run"))
    mean = field.cells[0][1].mean
    # Settings that differ stand below each other, never averaged.
    lines_ = [(cell.show(field.measure.shown.factor), what) for what, cell in field.cells]
    shown = [element("div", value, told_apart(what) if what else None) for value, what in lines_]
    return element("td", shown, data_value=None if mean is None else f"{mean:.6g}")
