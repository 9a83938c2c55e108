"""The report as one HTML document."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import Comparison
from gclbench.paper.floors import with_floors
from gclbench.paper.own_column import own_columns, with_rows
from gclbench.paper.own_tables import own_tables
from gclbench.paper.report import drawings, grids, matrix_section, overview, pages
from gclbench.paper.report.markup import Anchors, Markup, element, join, lines
from gclbench.paper.sources import Collection
from gclbench.paper.tables import NOT_BUILT, TABLES

TITLE = "gclbench report"


def document(collection: Collection, added: Sequence[str] = ()) -> str:
    """The whole file.

    Args:
        added: methods and settings, as typed, that stand as rows in the papers' tables.
    """
    anchors = Anchors()
    definitions = with_rows(TABLES.values(), own_columns(added), collection.groups)
    comparisons = [compare(definition, collection) for definition in definitions]
    shown = {
        record.id
        for item in comparisons
        if item.definition.source == "runs"
        for record in item.records
    }
    with_them = with_floors(collection)
    own = [compare(definition, with_them) for definition in own_tables(with_them, shown)]
    listed = element(
        "nav",
        element(
            "ul",
            [
                element(
                    "li",
                    element(
                        "a", item.definition.id, href=f"#{anchors.of('table', item.definition.id)}"
                    ),
                )
                for item in comparisons
            ],
        ),
        class_="contents",
        aria_label="tables",
    )
    tables = element(
        "section",
        "\n",
        lines(
            element("h2", "Tables"),
            element(
                "p",
                "Ours above, the paper's and the difference below it. A value leads to the runs"
                " behind it.",
            ),
            listed,
            element("div", id="tables-filter"),
            [join(grids.section(item, anchors), "\n") for item in comparisons],
        ),
        id="tables",
    )
    articles = [
        pages.article(page, anchors) for item in comparisons for page in pages.pages(item, anchors)
    ]
    cells = element("section", "\n", lines(element("h2", "Cells"), articles), id="cells")
    body = lines(
        element("header", element("h1", TITLE), overview.notes(collection), _navigation()),
        element(
            "main",
            "\n",
            lines(
                overview.section(comparisons),
                tables,
                _own(own, anchors),
                drawings.section(collection, anchors),
                matrix_section.section(collection, anchors),
                _not_built(),
                cells if articles else None,
            ),
            "\n",
        ),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(), body, lang='en')}\n"


def _own(comparisons: Sequence[Comparison], anchors: Anchors) -> Markup:
    """The runs that no paper's table shows."""
    told = (
        "Runs that are in no paper's table, by task. A row is a method with what is not as shipped."
        if comparisons
        else "Every run is in a paper's table."
    )
    return element(
        "section",
        "\n",
        lines(
            element("h2", "Own runs"),
            element("p", told),
            [join(grids.section(item, anchors), "\n") for item in comparisons],
        ),
        id="own",
    )


def _head() -> Markup:
    style, script = (
        Markup(files(__package__).joinpath(f"report.{kind}").read_text(encoding="utf-8"))
        for kind in ("css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Nothing is loaded, and no script runs but this file's own, whatever a record might hold.
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri"
        " 'none'; form-action 'none'"
    )
    return element(
        "head",
        "\n",
        lines(
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", TITLE),
            element("style", style),
            element("script", script),
        ),
        "\n",
    )


def _navigation() -> Markup:
    places = {
        "summary": "Summary",
        "tables": "Tables",
        "own": "Own runs",
        "figures": "Figures",
        "matrix": "Bases × strategies",
        "not-built": "Not built",
    }
    links = [
        element("li", element("a", title, href=f"#{place}")) for place, title in places.items()
    ]
    return element("nav", element("ul", links), aria_label="sections")


def _not_built() -> Markup:
    rows = [
        element("div", element("dt", name), element("dd", why)) for name, why in NOT_BUILT.items()
    ]
    listed = (
        element("dl", rows, class_="pairs")
        if rows
        else element("p", "Every table of the papers is built.")
    )
    return element("section", "\n", element("h2", "Not built"), "\n", listed, id="not-built")
