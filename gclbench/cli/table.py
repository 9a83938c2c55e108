"""`gclbench table`: a table of a paper, from records, beside the printed numbers."""

from __future__ import annotations

import argparse
import io
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gclbench.records import write_atomically

if TYPE_CHECKING:
    from gclbench.paper.comparison import Comparison

EXAMPLES = """examples:
  gclbench table                                   the ids
  gclbench table dmat/1                            from results/ and runs/, those that exist
  gclbench table dmat/1 --dataset cora acm --metric acc nmi
  gclbench table dmat/1 --runs results --format markdown --output results/tables/dmat-1.md
  gclbench table dmat/3 --output dmat-3.csv
  gclbench table matrix --dataset cora             base method × strategy for negatives
"""

FORMATS = ("terminal", "markdown", "csv")
SUFFIXES = {".md": "markdown", ".csv": "csv"}


def main(argv: list[str]) -> int:
    """Exit code 0 when the table was printed, cells without runs included; 2 for a command that is wrong."""
    parser = argparse.ArgumentParser(
        prog="gclbench table",
        description="Prints a paper's table: ours mean ± std (n) beside the printed value, with a mark for how they compare.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="such as dmat/1; without it the ids are listed")
    parser.add_argument("--runs", nargs="+", action="extend", metavar="DIR", help="folders of records (default: results and runs)")
    parser.add_argument(
        "--format", choices=FORMATS, help="default: by the suffix of FILE, else terminal on a terminal, else markdown"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there instead of printing")
    parser.add_argument("--dataset", nargs="+", action="extend", default=[], metavar="NAME", help="these datasets only")
    parser.add_argument("--metric", nargs="+", action="extend", default=[], metavar="NAME", help="these metrics only")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)

    from gclbench.paper import matrix
    from gclbench.paper.comparison import NotInTable, compare
    from gclbench.paper.sources import MissingStore, collect
    from gclbench.paper.tables import TABLES, UnknownTable, find_table

    if options.id is None:
        for name, definition in TABLES.items():
            print(f"{name:<20}{definition.title}")
        print(f"{matrix.ID:<20}{matrix.TITLE}")
        return 0
    chosen = options.format or (SUFFIXES.get(options.output.suffix, "markdown") if options.output else None)
    chosen = chosen or ("terminal" if sys.stdout.isatty() else "markdown")
    text = io.StringIO()
    # A terminal is written to directly: rich asks it for its width and colours.
    target = sys.stdout if options.output is None else text
    try:
        if options.id == matrix.ID:
            render = matrix.as_csv if chosen == "csv" else matrix.markdown
            target.write(render(collect(options.runs), options.dataset or ["cora"]))
        else:
            definition = find_table(options.id)
            _write(compare(definition, collect(options.runs)).restrict(options.dataset, options.metric), chosen, target)
    except (UnknownTable, MissingStore, NotInTable) as error:
        print(f"gclbench table: {error}", file=sys.stderr)
        return 2
    if options.output is None:
        return 0
    try:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(options.output, text.getvalue().encode())
    except OSError as error:
        print(f"gclbench table: cannot write {options.output}: {error.strerror or error}; choose another --output", file=sys.stderr)
        return 2
    print(f"wrote {options.output}")
    return 0


def _write(comparison: Comparison, format_name: str, file: TextIO) -> None:
    from gclbench.paper import render

    if format_name == "terminal":
        from rich.console import Console

        # A pipe has no width; this one fits six metrics.
        render.terminal(comparison, Console(file=file) if file.isatty() else Console(file=file, width=180))
    else:
        file.write(render.markdown(comparison) if format_name == "markdown" else render.as_csv(comparison))
