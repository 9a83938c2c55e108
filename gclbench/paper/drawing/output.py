"""Figures as files: SVG that is the same every time and small enough to commit, and PNG."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence

import matplotlib.style
from matplotlib.figure import Figure as Canvas

from gclbench.paper.drawing.canvas import STYLE, canvas
from gclbench.paper.drawing.panels import PlotPanel

PNG_DPI = 180
DECIMALS = 2
"""Of coordinates in points: what is left out is far below a pixel."""

TAG = re.compile(r"<[^>!?]+>")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')
DOT = re.compile(r"M (-?[\d.]+) (-?[\d.]+) \n?L (-?[\d.]+) (-?[\d.]+) \n?")
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
SAME_PLACE = 0.02


def drawn(title: str, panels: Sequence[PlotPanel], caption: str) -> Canvas:
    """The matplotlib figure; whatever the user's matplotlibrc says."""
    with matplotlib.style.context(["default", STYLE]):
        return canvas(title, panels, caption)


def svg(name: str, title: str, panels: Sequence[PlotPanel], caption: str) -> str:
    """An SVG document, from `<svg` on; ids in it begin with `name`, so that several fit into one
    page."""
    file = io.StringIO()
    with matplotlib.style.context(["default", {**STYLE, "svg.hashsalt": name}]):
        canvas(title, panels, caption).savefig(
            file, format="svg", metadata={"Date": None, "Creator": None}
        )
    text = METADATA.sub("", file.getvalue())
    start = text.index("<svg")
    head, body = text[start:].split(">", 1)
    # The document's size is in points; without it a page decides.
    head += f' role="img" aria-labelledby="{name}-title"'
    text = f'{head}>\n <title id="title">{html.escape(title)}</title>{body}'
    text = TAG.sub(lambda tag: _compact(tag[0], name), text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _compact(tag: str, name: str) -> str:
    """A tag with short numbers, ids of its own, and dots written as such."""
    tag = LONG_NUMBER.sub(lambda number: _short(number[0]), tag)
    tag = DOT.sub(_dot, tag)
    return IDENTIFIER.sub(lambda found: f"{found[1]}{name}-", tag)


def _short(number: str) -> str:
    text = f"{float(number):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _dot(match: re.Match[str]) -> str:
    """A line of no length, which a round cap makes a dot, in few characters."""
    x, y, x_end, y_end = map(float, match.groups())
    if abs(x - x_end) > SAME_PLACE or abs(y - y_end) > SAME_PLACE:
        return match[0]
    return f"M{match[1]} {match[2]}h0\n"


def png(title: str, panels: Sequence[PlotPanel], caption: str) -> bytes:
    """A PNG without dates and versions."""
    file = io.BytesIO()
    with matplotlib.style.context(["default", STYLE]):
        canvas(title, panels, caption).savefig(
            file, format="png", dpi=PNG_DPI, metadata={"Software": None}
        )
    return file.getvalue()
