"""Text of records in HTML, Markdown and LaTeX: escaped, and what comes out is well formed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from render_records import collection, ranked_runs, runs

from gclbench.paper.comparison import compare
from gclbench.paper.render import html, latex, markdown
from gclbench.paper.render.latex_document import escaped
from gclbench.paper.tables import TABLES, find_table


class Balance(HTMLParser):
    """Which elements are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


NASTY = 'x<script>&"\\_%#$^~{}|`\n\U0001f600é'


def nasty(record):
    """Text from records: departures and labels hold it."""
    return [
        record(seed=seed, activation=what, epochs=3)
        for seed in range(2)
        for what in (NASTY, "plain")
    ]


def test_html_is_well_formed_and_escapes_what_records_hold(record) -> None:
    page = html(compare(find_table("dmat/1"), collection(nasty(record))))
    reader = Balance()
    reader.feed(page)
    assert not reader.open and "<script" not in page and NASTY.replace("\n", "\n") in reader.text
    assert (
        page.count("<table>") == 8
        and 'scope="row"' in page
        and 'scope="col"' in page
        and "<caption>dmat/1, acm</caption>" in page
    )


def test_markdown_cells_hold_no_markup_of_records(record) -> None:
    text = markdown(compare(find_table("dmat/1"), collection(nasty(record))))
    rows = [line for line in text.splitlines() if "activation=" in line and line.startswith("|")]
    assert (
        rows
        and all(len(re.findall(r"(?<!\\)\|", row)) == 8 for row in rows)
        and not re.search(r"(?<!\\)<script", "".join(rows))
    )


def test_latex_escapes_what_records_hold(record) -> None:
    text = latex(compare(find_table("dmat/1"), collection(nasty(record))))
    assert (
        r"x\textless{}script\textgreater{}\&\textquotedbl{}\textbackslash{}\_\%\#\$\textasciicircum{}\textasciitilde{}\{\}"
        in text
    )
    assert (
        "\U0001f600" not in text
        and text.startswith("\\documentclass")
        and text.endswith("\\end{document}\n")
    )
    assert (
        text.count("% tabular of dmat/1")
        == text.count("% end of dmat/1")
        == text.count("\\begin{tabular}")
        == 8
    )
    assert all(ord(character) < 256 for character in text), (
        "what the fonts here do not have is replaced"
    )


def test_latex_keeps_commands_and_small_digits() -> None:
    """Two hyphens would be a dash and a straight quote a curly one, which no shell takes."""
    found = escaped("gclbench table nml/1 --missing 'seeds=[3,4]' 2¹⁰ 5–7")
    assert found == (
        r"gclbench table nml/1 -{}-missing \textquotesingle{}seeds=[3,4]\textquotesingle{}"
        r" 2$^1$$^0$ 5\textendash{}7"
    )


@pytest.mark.latex
@pytest.mark.parametrize("name", sorted(TABLES))
def test_latex_compiles(record, tmp_path, name: str) -> None:
    """With Debian's texlive-latex-base and texlive-latex-recommended."""
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex; apt-get install texlive-latex-base texlive-latex-recommended")
    records = list(
        {item.id: item for item in [*runs(record), *ranked_runs(record), *nasty(record)]}.values()
    )
    for only in ("", "ours", "paper"):
        text = latex(compare(replace(find_table(name)), collection(records)), only)
        (tmp_path / "table.tex").write_text(text, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60)
        log = (tmp_path / "table.log").read_text(encoding="utf-8", errors="replace")
        assert ended.returncode == 0, log[-2000:]
        assert "Overfull" not in log, "a table runs off the page"
