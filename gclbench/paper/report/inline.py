"""An SVG file as a part of an HTML document."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from xml.etree.ElementTree import Element, ParseError

from gclbench.paper.report.markup import Markup, text

LEFT_OUT = frozenset({"metadata", "style", "script", "foreignObject", "title"})
"""metadata says nothing to a reader, a style would hold for the whole document, the others are no
drawing."""

TARGET = re.compile(r"url\(\s*['\"]?#([^)'\"]+)['\"]?\s*\)")
REFERENCES = frozenset({"href"})


class BadDrawing(ValueError):
    """Text that is no SVG."""


def svg(source: str, prefix: str, label: str) -> Markup:
    """The drawing as markup.

    Its ids, and what refers to them, get the prefix, so that two drawings of a document do not take
    each other's; a document's own style sheet is applied to the root only; scripts, event handlers
    and references to anything outside the drawing are dropped.

    Args:
        source: an SVG file. prefix: one that no other drawing of the document has. label: what it
            shows.

    Raises:
        BadDrawing: when it is not well-formed or no SVG.
    """
    try:
        root = ElementTree.fromstring(source)
    except (ParseError, ValueError) as error:
        raise BadDrawing(f"not an SVG: {error}") from error
    if _local(root.tag) != "svg":
        raise BadDrawing(f"not an SVG: its root is {_local(root.tag)}")
    width, height = (root.attrib.get(key, "") for key in ("width", "height"))
    view = root.attrib.get("viewBox") or f"0 0 {_points(width)} {_points(height)}"
    # What matplotlib asks for in the style sheet that is left out.
    root.attrib = {
        "viewBox": view,
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
        "role": "img",
        "aria-label": label,
    }
    return Markup(_written(root, prefix))


def width(source: str) -> float:
    """The drawing's width in points, 0 when it has none."""
    found = re.search(r"<svg\b[^>]*?\swidth=[\"']([\d.]+)", source)
    return float(found[1]) if found else 0.0


def _written(node: Element, prefix: str) -> str:
    name = _local(node.tag)
    attributes = "".join(
        _attribute(_local(key), value, prefix) for key, value in node.attrib.items()
    )
    inner = (
        text(node.text) if node.text and (node.text.strip() or name in ("text", "tspan")) else ""
    )
    for child in node:
        if isinstance(child.tag, str) and _local(child.tag) not in LEFT_OUT:
            inner += _written(child, prefix) + ("\n" if name == "g" else "")
        if child.tail and child.tail.strip():
            inner += text(child.tail)
    return f"<{name}{attributes}>{inner}</{name}>"


def _attribute(name: str, value: str, prefix: str) -> str:
    if name.lower().startswith("on"):
        return ""
    if name == "id":
        value = prefix + value
    elif name in REFERENCES:
        if not value.startswith("#"):
            return ""
        value = f"#{prefix}{value[1:]}"
    elif "url(" in value:
        value = TARGET.sub(lambda found: f"url(#{prefix}{found[1]})", value)
    return f' {name}="{text(value)}"'


def _local(name: object) -> str:
    return str(name).rpartition("}")[2]


def _points(length: str) -> str:
    return re.sub(r"[^\d.]", "", length) or "1"
