"""`gclbench report`: every table, figure and cell as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path

from gclbench.cli.parser import Parser, add_with, output_file, unwritable_output
from gclbench.machine import messages

OTHERS = (".pdf", ".md", ".csv", ".tex", ".json", ".png", ".svg", ".txt")
"""Endings of files that a report is not. Any other name is taken, `report.v2` too."""

EXAMPLES = """examples:
  gclbench report                                        report.html, from results and runs
  gclbench report --runs results /scratch/runs --output /tmp/report.html
  gclbench report --with my_method 'grace method.tau=0.4'    as rows of the papers' tables

The file needs no network and no scripts: open it in any browser, send it along, put it on a web
server.
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when the report was written, without records too; 2 for a command that is wrong
    or a file that cannot be written."""
    parser = Parser(
        "report",
        "Writes one HTML file with every table and figure of the papers from records: sortable,"
        " filterable, with the runs, settings, environment, cost and command behind every cell.",
        EXAMPLES,
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="folders of records (default: results and runs)",
    )
    parser.add_argument(
        "--output",
        type=output_file,
        default=Path("report.html"),
        metavar="FILE",
        help="default: report.html",
    )
    add_with(parser, "the papers' tables that have runs of them")
    options = parser.parse_args(argv)
    if options.output.suffix.lower() in OTHERS:
        parser.error(f"a report is HTML, not '{options.output.suffix}'; name it FILE.html")
    messages.set_up()

    from gclbench.component.registry import UnknownName
    from gclbench.paper.report import write
    from gclbench.paper.sources import MissingStore, collect

    try:
        collection = collect(options.runs)
        size, made = write(collection, options.output, options.added)
    except (MissingStore, UnknownName, ValueError) as error:
        print(f"gclbench report: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gclbench report: {unwritable_output(options.output, error)}", file=sys.stderr)
        return 2
    print(
        f"wrote {options.output} ({size / 1e6:.1f} MB):"
        f" {messages.counted(len(collection.records), 'record')}{made}"
    )
    return 0
