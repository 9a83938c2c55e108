"""The top of the report: what was reproduced, by paper and by method, and what the marks mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gclbench.paper.filled_table import DAGGER, Comparison
from gclbench.paper.fitted import FITTED
from gclbench.paper.report import quantities
from gclbench.paper.report.markup import Markup, element, join, lines
from gclbench.paper.sources import Collection
from gclbench.paper.summary import Tally, other_versions, summary
from gclbench.paper.verdict import ABOVE, BELOW, EQUIVALENT, MARKS, UNDETERMINED

KINDS = {
    "equivalent": "within",
    "above": "above",
    "below": "below",
    "undetermined": "open",
    "failed_seeds": "failed",
    "not_comparable": "other",
    "not_run": "absent",
}
"""Counts as in `summary.Tally`, and the class of their colour."""

LISTED, FEW = 100, 5
"""The most warnings that are listed, and the most (of commits, too) that are shown without opening
the list."""

BEGIN = "gclbench method=dmat_i dataset=cora seeds=10"


def section(comparisons: Sequence[Comparison]) -> Markup:
    """Counts, legend, and the counts per paper and per method."""
    found = summary(comparisons)
    same, different = found.facts
    tiles = [
        element("div", element("dt", _name(kind)), element("dd", f"{getattr(found.total, kind):,}"))
        for kind in KINDS
    ]
    printed = quantities.count(found.total.cells, "printed number")
    return element(
        "section",
        "\n",
        lines(
            element("h2", "Summary"),
            element(
                "p",
                f"{printed} of {quantities.count(len(comparisons), 'table')}, and what became of"
                " them here.",
            ),
            element("dl", tiles, class_="tiles"),
            _legend(),
            element("h3", "Per paper"),
            _counts("paper", found.papers),
            [
                element(
                    "p",
                    f"{name} is another version of {other} and prints its numbers again: they are"
                    " not in the total, nor below.",
                )
                for name, other in other_versions().items()
            ],
            element("h3", "Per method"),
            _counts("method", found.methods),
            element(
                "p",
                f"Settings and counts of datasets are not among these: {same} are as printed,"
                f" {different} are not; their tables say why.",
            ),
        ),
        id="summary",
    )


def _name(kind: str) -> str:
    return kind.replace("_", " ")


def _legend() -> Markup:
    meanings = [
        (
            MARKS[EQUIVALENT],
            "within",
            (
                "equivalent: two one-sided tests reject a difference of one point or of the paper's"
                " standard deviation, whichever is larger"
            ),
        ),
        (MARKS[ABOVE], "above", "above: significantly better"),
        (MARKS[BELOW], "below", "below: significantly worse"),
        (
            f"{MARKS[UNDETERMINED]}24",
            "open",
            "undetermined, and the number of seeds that would decide it",
        ),
        (
            FITTED,
            None,
            (
                "fitted: settings chosen after the cell's own labels had been seen; the cell's page"
                " says which choice"
            ),
        ),
        (
            DAGGER,
            None,
            (
                "not at the paper's settings: not comparable, as are times and quantiles; the"
                " cell's page says what differs"
            ),
        ),
        (
            element("b", "70.0"),
            None,
            (
                "bold: the best of our columns; double underline: the second; only where they can"
                " be told apart"
            ),
        ),
    ]
    pairs = [
        element("div", element("dt", sign, class_=name), element("dd", meaning))
        for sign, name, meaning in meanings
    ]
    return element("dl", pairs, class_="legend")


def _counts(kind: str, counts: Mapping[str, Tally]) -> Markup:
    rows = []
    for name, found in counts.items():
        numbers = {key: int(getattr(found, key)) for key in KINDS}
        shares = [
            element("span", class_=KINDS[key], style=f"flex:{number}")
            for key, number in numbers.items()
            if number
        ]
        rows.append(
            element(
                "tr",
                element("th", name, scope="row"),
                [element("td", f"{number:,}", data_value=number) for number in numbers.values()],
                element("td", f"{found.cells:,}", data_value=found.cells),
                element("td", element("div", shares, class_="bar", aria_hidden="true")),
            )
        )
    head = [element("th", kind, scope="col", data_sort="text")]
    head += [
        element("th", _name(key), scope="col", data_sort="number") for key in (*KINDS, "cells")
    ]
    table = element(
        "table",
        element("caption", element("span", f"printed numbers by {kind}")),
        element("thead", element("tr", head, element("td"))),
        element("tbody", lines(*rows)),
        class_="sortable counts",
    )
    return element(
        "div", table, class_="scroll", role="region", aria_label=f"summary per {kind}", tabindex="0"
    )


def notes(collection: Collection) -> Markup:
    """What was read, what to do when there was nothing, and what was damaged."""
    stores = ", ".join(collection.stores) or "no folder: there is neither results nor runs here"
    read = f"{quantities.count(len(collection.records), 'record')} of {stores}."
    commits = sorted(
        {str(record.environment.get("commit", "unknown")) for record in collection.records}
    )
    names = ", ".join(commits)
    if 0 < len(commits) <= FEW:
        read += f" {'Commits' if len(commits) > 1 else 'Commit'}: {names}."
    pieces = [element("p", read, class_="lead")]
    if len(commits) > FEW:
        made = element("summary", f"made by {len(commits)} commits")
        pieces.append(element("details", made, element("p", names, class_="lead")))
    if not collection.records:
        begin = element("code", BEGIN)
        pieces.append(
            element(
                "p",
                "There is no record yet: the tables hold the papers' numbers only. To begin: ",
                begin,
                class_="note",
            )
        )
    warnings = collection.warnings
    if warnings:
        items = [element("li", warning) for warning in warnings[:LISTED]]
        if len(warnings) > LISTED:
            items.append(element("li", f"and {len(warnings) - LISTED:,} more"))
        title = f"{quantities.count(len(warnings), 'warning')} while the records were read"
        listed = element(
            "details", element("summary", title), element("ul", items), open=len(warnings) <= FEW
        )
        pieces.append(element("div", listed, class_="note", id="warnings"))
    return join(pieces)
