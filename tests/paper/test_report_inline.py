"""SVG files as parts of a document."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from gclbench.paper.report.inline import BadDrawing, svg

DRAWING = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="100pt" height="50pt" viewBox="0 0 100 50">
 <metadata>made today</metadata>
 <defs><style>* { fill: red }</style><clipPath id="c"><rect width="1" height="2"/></clipPath>
 <path id="m" d="M0 0"/></defs>
 <g clip-path="url(#c)" onclick="evil()"><use xlink:href="#m" x="1"/><use xlink:href="https://example.org/x.svg#m"/></g>
 <g style="fill: url('#c'); stroke: blue"><text>τ &lt; 1 <tspan>and</tspan> more</text></g>
 <script>evil()</script>
</svg>"""


def test_ids_and_what_refers_to_them_get_the_prefix() -> None:
    markup = svg(DRAWING, "one-", "a figure")
    assert 'id="one-c"' in markup and 'id="one-m"' in markup
    assert 'clip-path="url(#one-c)"' in markup and 'href="#one-m"' in markup
    assert 'style="fill: url(#one-c); stroke: blue"' in markup


def test_two_drawings_have_no_id_in_common() -> None:
    def ids(prefix: str) -> set[str]:
        return {
            node.attrib["id"]
            for node in ElementTree.fromstring(svg(DRAWING, prefix, "")).iter()
            if "id" in node.attrib
        }

    assert ids("a-") and not ids("a-") & ids("b-")


def test_what_would_act_on_the_document_is_left_out() -> None:
    markup = svg(DRAWING, "one-", "")
    assert "evil" not in markup and "example.org" not in markup
    assert "<style" not in markup and "made today" not in markup and "<?xml" not in markup


def test_text_stays_text() -> None:
    assert "<text>τ &lt; 1 <tspan>and</tspan> more</text>" in svg(DRAWING, "one-", "")


def test_the_drawing_has_a_name_and_a_size_of_its_container() -> None:
    root = ElementTree.fromstring(svg(DRAWING, "one-", 'a "figure"'))
    assert root.attrib["aria-label"] == 'a "figure"' and root.attrib["role"] == "img"
    assert root.attrib["viewBox"] == "0 0 100 50" and "width" not in root.attrib
    bare = svg('<svg xmlns="http://www.w3.org/2000/svg" width="40pt" height="30pt"/>', "p-", "")
    assert 'viewBox="0 0 40 30"' in bare


@pytest.mark.parametrize("source", ["", "<svg", "<html/>", "text"])
def test_what_is_no_svg_is_refused(source: str) -> None:
    with pytest.raises(BadDrawing, match="not an SVG"):
        svg(source, "p-", "")
