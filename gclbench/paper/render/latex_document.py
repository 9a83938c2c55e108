"""LaTeX: a document that compiles as it stands, with packages of Debian's
texlive-latex-recommended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.render.layout import Grid, grids, printed_with_difference, text_grids
from gclbench.paper.render.legend import footer

HEAD = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{amssymb}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\pagestyle{empty}
\setlength{\parindent}{0pt}
\begin{document}
"""
LINES = 25
"""Of a tabular of text, which breaks over no page."""
ROWS = 16
"""Of a tabular of numbers, ours and the printed ones below: the rest stands in another one."""
TAIL = "\\end{document}\n"
FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""Its content at its own width, or that of the line where it is wider."""

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "−": r"$-$",
    "–": r"\textendash{}",
    "✓": r"$\checkmark$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "⊘": r"$\oslash$",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "…": r"\ldots{}",
    "’": "'",
    "'": r"\textquotesingle{}",
    "⁰": r"$^0$",
    "¹": r"$^1$",
    "²": r"$^2$",
    "³": r"$^3$",
}


def latex(comparison: Comparison, only: str = "") -> str:
    """A document: title, a tabular per grid between comments that name it, footer.

    Args:
        only: `ours` or `paper`; "" for both, the paper's and the difference below ours.
    """
    return latex_of([comparison], only)


def latex_of(comparisons: Iterable[Comparison], only: str = "") -> str:
    """One document of several tables."""
    sections = (_section(comparison, only) for comparison in comparisons)
    return HEAD + "\\clearpage\\normalsize\n".join(sections) + TAIL


def _section(comparison: Comparison, only: str) -> str:
    definition = comparison.definition
    lines = [rf"\section*{{{escaped(f'{definition.id}: {definition.title}')}}}"]
    for grid in grids(comparison):
        name = f"{definition.id} {grid.title}".strip()
        lines += ["", f"% tabular of {_comment(name)}"]
        lines += [rf"\subsection*{{{escaped(grid.title)}}}"] if grid.title else []
        for part in _parts(grid):
            lines += [FITTED, *_tabular(part, only), "}", r"\par\medskip"]
        lines += [f"% end of {_comment(name)}"]
    for texts in text_grids(comparison, only):
        lines += ["", rf"\subsection*{{{escaped(texts.title)}}}"]
        for start in range(0, len(texts.rows), LINES):
            columns = "l" * texts.heads + "r" * (len(texts.columns) - texts.heads)
            lines += [FITTED, rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
            lines += [_line([*map(escaped, texts.columns)]), r"\midrule"]
            lines += [_line([*map(escaped, row)]) for row in texts.rows[start : start + LINES]]
            lines += [r"\bottomrule", r"\end{tabular}%", "}", r"\par\medskip"]
    lines += ["", r"\footnotesize\raggedright\sloppy", r"\begin{itemize}\setlength{\itemsep}{0pt}"]
    lines += [rf"\item {escaped(sentence)}" for sentence in footer(comparison, only)]
    return "\n".join([*lines, r"\end{itemize}"]) + "\n"


def _parts(grid: Grid) -> list[Grid]:
    """The grid in as few parts as fit a page each, of about as many rows."""
    parts = -(-len(grid.rows) // ROWS) or 1
    size = -(-len(grid.rows) // parts) or 1
    return [
        replace(grid, rows=grid.rows[start : start + size])
        for start in range(0, max(len(grid.rows), 1), size)
    ]


def _tabular(grid: Grid, only: str) -> list[str]:
    columns = "l" * len(grid.corner) + "r" * len(grid.columns)
    heading = " & ".join(map(escaped, (*grid.corner, *grid.columns)))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{heading} \\", r"\midrule"]
    for row in grid.rows:
        head = [*map(escaped, row.head)]
        ours = [_ours(entry) for entry in row.entries]
        theirs = [
            escaped(printed_with_difference(entry)) if entry is not None else ""
            for entry in row.entries
        ]
        if only == "paper":
            theirs = [
                escaped(entry.show_printed()) if entry is not None else "" for entry in row.entries
            ]
        lines.append(_line([*head, *(theirs if only == "paper" else ours)]))
        if not only and any(theirs):
            lines += [
                _line(
                    [*[""] * len(head), *(rf"\textit{{{text}}}" if text else "" for text in theirs)]
                ),
                r"\addlinespace[2pt]",
            ]
    return [*lines, r"\bottomrule", r"\end{tabular}%"]


def _line(cells: list[str]) -> str:
    # An opening bracket at the start of a line would be taken for an argument of the \\ before it.
    return ("{}" if cells[0].startswith("[") else "") + " & ".join(cells) + r" \\"


def _ours(entry: Entry | None) -> str:
    if entry is None:
        return ""
    ours = escaped(entry.show_ours())
    return (
        rf"\textbf{{{ours}}}"
        if entry.rank == 1
        else rf"\underline{{{ours}}}"
        if entry.rank == 2
        else ours
    )


def escaped(text: str) -> str:
    """Text for LaTeX; a character that its fonts here do not have becomes a question mark."""
    plain = "".join(SPECIAL.get(character) or _known(character) for character in text)
    return plain.replace("--", "-{}-")  # an option of a command, and no dash


def _known(character: str) -> str:
    if character.isspace():
        return " "
    return character if " " <= character <= "~" or "À" <= character <= "ÿ" else "?"


def _comment(text: str) -> str:
    return " ".join(text.split())
