"""The papers' tables as HTML tables: a row per method, ours above the paper's in every cell."""

from __future__ import annotations

from collections.abc import Iterator

from gclbench.paper.aggregate import Fact
from gclbench.paper.filled_table import Block, Comparison, Entry
from gclbench.paper.missing import missing
from gclbench.paper.render import TextGrid, footer, rival_grids
from gclbench.paper.report.markup import Anchors, Markup, element, join, label, lines
from gclbench.paper.report.quantities import count
from gclbench.paper.verdict import ABOVE, AS_PRINTED, BELOW, EQUIVALENT, UNDETERMINED

MEANINGS = {
    EQUIVALENT: "equivalent to the paper",
    ABOVE: "significantly above the paper",
    BELOW: "significantly below the paper",
    UNDETERMINED: "undetermined",
    AS_PRINTED: "as the paper prints it",
}
CLASSES = {
    EQUIVALENT: "within",
    AS_PRINTED: "within",
    ABOVE: "above",
    BELOW: "below",
    UNDETERMINED: "open",
}
RANKS = {1: "best", 2: "second"}


def section(comparison: Comparison, anchors: Anchors) -> Markup:
    """A table with its heading, how it is read, and what would fill it."""
    definition = comparison.definition
    across = len(comparison.metrics) == 1 and len(comparison.blocks) > 1
    head, bodies = _by_method(comparison, anchors) if across else _by_dataset(comparison, anchors)
    marked = any(entry.mark for entry in comparison.entries)
    table = element(
        "table",
        "\n",
        element("caption", element("span", definition.title)),
        "\n",
        element("thead", element("tr", head)),
        "\n",
        lines(bodies),
        class_="paper marked sortable" if marked else "paper sortable",
    )
    heading = anchors.of("table", definition.id)
    return element(
        "section",
        "\n",
        element("h3", definition.id, id=f"{heading}-title"),
        "\n",
        element(
            "div",
            table,
            class_="scroll",
            role="region",
            aria_labelledby=f"{heading}-title",
            tabindex="0",
        ),
        "\n",
        lines(text_table(texts) for texts in rival_grids(comparison)),
        element(
            "details",
            element("summary", "How to read it, notes, records"),
            element("ul", _items(footer(comparison))),
        ),
        _missing(comparison),
        id=heading,
        class_="table",
    )


def text_table(texts: TextGrid) -> Markup:
    """A grid of texts that leads nowhere."""
    head = [element("th", label(text), scope="col") for text in texts.columns]
    rows = [
        element(
            "tr",
            element("th", label(row[0]), scope="row"),
            [element("td", text) for text in row[1:]],
        )
        for row in texts.rows
    ]
    table = element(
        "table",
        element("caption", element("span", texts.title)),
        element("thead", element("tr", head)),
        element("tbody", lines(*rows)),
    )
    return element(
        "div", table, class_="scroll", role="region", aria_label=texts.title, tabindex="0"
    )


def page_anchor(comparison: Comparison, dataset: str, column: str, anchors: Anchors) -> str:
    """The id of the page on a dataset and column of a table."""
    return anchors.of("cell", comparison.definition.id, dataset, column)


def meaning_of(entry: Entry) -> str:
    """The verdict in words, with the seeds that would decide an open one; a verdict without a sign
    as it is."""
    meaning = MEANINGS.get(entry.verdict, entry.verdict)
    if entry.verdict == UNDETERMINED and entry.needed:
        meaning += f": {entry.needed} seeds would decide"
    return meaning


def shown_mark(entry: Entry) -> Markup | None:
    """The mark, with its meaning for who cannot see it."""
    if not entry.mark:
        return None
    meaning = meaning_of(entry)
    return element(
        "span",
        entry.mark,
        class_=CLASSES[entry.verdict],
        role="img",
        aria_label=meaning,
        title=meaning,
    )


def _by_dataset(comparison: Comparison, anchors: Anchors) -> tuple[Markup, list[Markup]]:
    """Columns are metrics, and each dataset has a body of its own: methods are sorted within it."""
    head = [
        _heading(
            metric,
            data_metric=metric,
            data_lower=comparison.definition.measure(metric).shown.lower_is_better,
        )
        for metric in comparison.metrics
    ]
    bodies = []
    for block in comparison.blocks:
        title = element(
            "th",
            element("span", block.dataset),
            scope="rowgroup",
            colspan=len(comparison.metrics) + 1,
        )
        rows = [
            _row(
                comparison,
                column,
                [(block, block.entries[metric, column]) for metric in comparison.metrics],
                anchors,
            )
            for column in block.columns
        ]
        group = element("tr", title, class_="group")
        bodies.append(element("tbody", lines(group, *rows), data_dataset=block.dataset))
    return join(element("th", "method", scope="col", data_sort="text"), head), bodies


def _by_method(comparison: Comparison, anchors: Anchors) -> tuple[Markup, list[Markup]]:
    """Columns are datasets, of the only metric."""
    (metric,) = comparison.metrics
    lower = comparison.definition.measure(metric).shown.lower_is_better
    head = [
        _heading(block.dataset, data_dataset=block.dataset, data_metric=metric, data_lower=lower)
        for block in comparison.blocks
    ]
    labels = dict.fromkeys(column for block in comparison.blocks for column in block.columns)
    known = [column.label for column in comparison.definition.columns]
    # A setting that only one dataset has stands below the column that it is a setting of.
    order = sorted(
        labels,
        key=lambda label: (
            known.index(label) if label in known else known.index(label.partition(" [")[0])
        ),
    )
    rows = [
        _row(
            comparison,
            column,
            [(block, block.entries.get((metric, column))) for block in comparison.blocks],
            anchors,
        )
        for column in order
    ]
    corner = element("th", f"method ({metric})", scope="col", data_sort="text")
    return join(corner, head), [element("tbody", lines(*rows))]


def _heading(title: str, **attributes: object) -> Markup:
    lower = attributes.get("data_lower")
    arrow = element("abbr", "↓", title="lower is better") if lower else None
    return element(
        "th",
        title,
        "\N{NO-BREAK SPACE}" if arrow else None,
        arrow,
        scope="col",
        data_sort="number",
        **attributes,
    )


def _row(
    comparison: Comparison, column: str, cells: list[tuple[Block, Entry | None]], anchors: Anchors
) -> Markup:
    ran = any(
        entry is not None and (entry.records or entry.ours.mean is not None) for _, entry in cells
    )
    return element(
        "tr",
        element("th", _name(comparison, column), scope="row"),
        [_cell(comparison, block, entry, anchors) for block, entry in cells],
        data_method=next(
            (entry.method or column for _, entry in cells if entry is not None), column
        ),
        data_unrun=not ran,
    )


def _name(comparison: Comparison, column: str) -> Markup:
    """The heading of a row; of one's own runs, settings stand below the method as elsewhere."""
    method, space, settings = column.partition(" ")
    own = comparison.definition.own and space and not settings.startswith("[")
    return label(f"{method} [{settings}]" if own else column)


def _cell(comparison: Comparison, block: Block, entry: Entry | None, anchors: Anchors) -> Markup:
    if entry is None:
        return element("td")
    ours, sign = entry.ours, shown_mark(entry)
    shown: Markup | str = ours.show(entry.factor) + entry.signs
    if entry.records and not comparison.definition.own:
        where = page_anchor(comparison, block.dataset, entry.column, anchors)
        shown = element("a", shown, href=f"#{where}", class_=RANKS.get(entry.rank or 0))
    elif ours.mean is None and not (isinstance(ours, Fact) and ours.text):
        shown = element("i", shown)
    printed, gap = entry.show_printed(), entry.show_difference()
    paper = element("small", printed, element("b", gap) if gap else None) if printed else None
    value = None if ours.mean is None else f"{entry.factor * ours.mean:.6g}"
    return element("td", shown, sign, paper, data_value=value)


def _missing(comparison: Comparison) -> Markup | None:
    """The cells without runs, a line with a command for each dataset and column."""
    if comparison.definition.own:
        return None
    commands: dict[str, str] = {}
    unknown: list[str] = []
    for entry in comparison.entries:
        if entry.records or entry.ours.mean is not None:
            continue
        if entry.command:
            commands[entry.command] = f"{entry.column} on {entry.dataset}"
        else:
            unknown.append(f"{entry.column} on {entry.dataset}")
    unknown = list(dict.fromkeys(unknown))
    together = missing(comparison)
    if not commands and not unknown:
        return None
    pairs = sum(len(block.columns) for block in comparison.blocks)
    lacking = "runs" if comparison.definition.source == "runs" else "a value"
    title = (
        f"{len(commands) + len(unknown)} of {count(pairs, 'pair')} of dataset"
        f" and column without {lacking}"
    )
    if unknown:
        title += f", {len(unknown)} of them of methods or datasets that are not built here"
    return element(
        "details",
        element("summary", title),
        element("p", "Every run that the table lacks, ten seeds of each:") if together else None,
        element("pre", element("code", "\n".join(together))) if together else None,
        element("p", "One by one:") if commands else None,
        (
            element(
                "ul",
                [element("li", element("code", command)) for command in commands],
                class_="commands",
            )
            if commands
            else None
        ),
        element("p", "Not built here: ", ", ".join(unknown), ".") if unknown else None,
    )


def _items(sentences: list[str]) -> Iterator[Markup]:
    return (element("li", sentence) for sentence in sentences)
