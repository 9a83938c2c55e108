"""HTML from Python."""

from __future__ import annotations

import math

import pytest

from gclbench.paper.report import quantities
from gclbench.paper.report.markup import (
    Anchors,
    Markup,
    breakable,
    element,
    join,
    label,
    slug,
    text,
)


def test_strings_are_text_and_markup_is_not_escaped_again() -> None:
    assert element("p", "a < b", element("b", "&")) == "<p>a &lt; b<b>&amp;</b></p>"
    assert join("<", ["<", [Markup("<br>"), None]], 3) == "&lt;&lt;<br>3"


def test_attributes() -> None:
    made = element(
        "td", class_="x", data_value='"1"', hidden=True, open=False, title=None, aria_label="<"
    )
    assert made == '<td class="x" data-value="&quot;1&quot;" hidden aria-label="&lt;"></td>'
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_what_no_document_may_hold_is_replaced() -> None:
    assert text("a\x00b\x1bc\ud800d\x85e\tf\n") == "a\ufffdb\ufffdc\ufffdd\ufffde\tf\n"


def test_anchors_are_unique_and_stay() -> None:
    anchors = Anchors()
    first = anchors.of("cell", "a b")
    assert (
        first == "cell-a-b"
        and anchors.of("cell", "a-b") == "cell-a-b-2"
        and anchors.of("cell", "a b") == first
    )
    assert anchors.of("cell", "a_b") == "cell-a-b-3" and anchors.of("cell-a", "b") == "cell-a-b-4"
    assert slug("τ") == "x" and slug("dmat_i [tau=0.5]") == "dmat-i-tau-0.5"


def test_long_words_may_break_where_settings_do() -> None:
    assert breakable("a.b=1,<") == "a.<wbr>b=<wbr>1,<wbr>&lt;"


def test_what_tells_columns_apart_is_folded_where_it_is_long() -> None:
    assert label("dmat_i") == "dmat_i" and label("dmat_i [a=1]") == "dmat_i<small>a=<wbr>1</small>"
    settings = ", ".join(f"method.setting_{number}={number}" for number in range(9))
    assert label(f"x [{settings}]").startswith(
        "x<details><summary>9 settings</summary><small>method.<wbr>setting_0=<wbr>0"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.063, "0.06 s"),
        (7.07, "7.1 s"),
        (119.4, "119 s"),
        (725.0, "12 min 5 s"),
        (12000.0, "3 h 20 min"),
        (math.nan, ""),
        ("1", ""),
        (None, ""),
    ],
)
def test_seconds(value: object, shown: str) -> None:
    assert quantities.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(576839680, "550 MiB"), (1 << 30, "1.00 GiB"), (math.inf, ""), (True, ""), ([], "")],
)
def test_memory(value: object, shown: str) -> None:
    assert quantities.memory(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (1e-4, "0.0001"),
        (2 / 3, "0.6666666666666666"),
        ([256, 128], "[256,128]"),
        ({"a": [1.0, None]}, "{a:[1,null]}"),
        ("x", "x"),
    ],
)
def test_settings_are_written_as_typed(value: object, shown: str) -> None:
    assert quantities.setting(value) == shown
