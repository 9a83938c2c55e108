"""The papers' figures in the report, drawn from the same records."""

from __future__ import annotations

from gclbench.paper.figures import (
    FIGURES,
    Figure,
    MissingMatplotlib,
    caption,
    command,
    content,
    svg,
)
from gclbench.paper.report import inline
from gclbench.paper.report.markup import Anchors, Markup, element, lines
from gclbench.paper.report.quantities import count
from gclbench.paper.sources import Collection


def section(collection: Collection, anchors: Anchors) -> Markup:
    """Every figure with its caption, and the commands whose runs it is made from."""
    drawn = [_figure(figure, collection, anchors) for figure in FIGURES.values()]
    return element("section", "\n", lines(element("h2", "Figures"), drawn), id="figures")


def _figure(figure: Figure, collection: Collection, anchors: Anchors) -> Markup:
    anchor = anchors.of("figure", figure.id)
    title = f"{anchor}-title"
    drawing: Markup | None = None
    if any(not panel.empty for panel in content(figure, collection).panels):
        try:
            drawn = inline.svg(svg(figure, collection), f"{anchor}-", figure.title)
            drawing = element(
                "div", drawn, class_="scroll", role="region", aria_labelledby=title, tabindex="0"
            )
        except MissingMatplotlib as error:
            drawing = element("p", str(error), class_="note")
    commands = command(figure)
    made_by = element(
        "details",
        element("summary", count(len(commands), "command"), " that would make its runs"),
        element(
            "ul", [element("li", element("code", line)) for line in commands], class_="commands"
        ),
    )
    return element(
        "figure",
        "\n",
        lines(
            element("h3", f"{figure.id}: {figure.title}", id=title),
            drawing,
            element("figcaption", caption(figure, collection)),
            made_by if commands else None,
        ),
        id=anchor,
    )
