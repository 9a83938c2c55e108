"""A filled table as Markdown, LaTeX, HTML and CSV, and for the terminal.

The same records give the same bytes.
"""

from __future__ import annotations

from gclbench.paper.render.csv_lines import as_csv, csv_of
from gclbench.paper.render.html_fragment import html
from gclbench.paper.render.latex_document import latex, latex_of
from gclbench.paper.render.layout import TextGrid, grids, rival_grids
from gclbench.paper.render.legend import footer
from gclbench.paper.render.markdown_page import markdown
from gclbench.paper.render.terminal_grid import terminal

__all__ = [
    "TextGrid",
    "as_csv",
    "csv_of",
    "footer",
    "grids",
    "html",
    "latex",
    "latex_of",
    "markdown",
    "rival_grids",
    "terminal",
]
