"""`gclbench compare`: two methods or settings over the same seeds, from records."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from gclbench.cli.advised_store import with_store
from gclbench.cli.parser import Parser, output_file, unwritable_output
from gclbench.machine import messages
from gclbench.records import deliver

if TYPE_CHECKING:
    from gclbench.paper.head_to_head import HeadToHead

EXAMPLES = """examples:
  gclbench compare dmat_i gca                                  at their shipped settings
  gclbench compare dmat_i "method=dmat_i method.epochs=0"      what training adds
  gclbench compare mmix_mp "method=mmix_mp negatives=uniform" --dataset cora --task clustering
  gclbench compare dmat_i kmeans --metric acc nmi --output compared.csv
  gclbench compare grace gca --runs results /scratch/runs

How to read it: docs/tables.md.
"""

SUFFIXES = (".csv", ".md")


def main(argv: list[str]) -> int:
    """Exit code 0 when the comparison was printed, undetermined lines included; 2 for a command
    that is wrong, or sides that have nothing in common."""
    parser = Parser(
        "compare",
        "Prints the paired difference of two methods or settings over the seeds that both have, its"
        " interval, and a verdict.",
        EXAMPLES,
        one="A and B are one word each; quote overrides, as in 'method=dmat_i method.epochs=0'",
    )
    for name in ("a", "b"):
        parser.add_argument(name, metavar=name.upper(), help="a method, or overrides in quotes")
    for option, what in (("dataset", "datasets"), ("task", "tasks"), ("metric", "metrics")):
        parser.add_argument(
            f"--{option}",
            nargs="+",
            action="extend",
            default=[],
            metavar="NAME",
            help=f"these {what} only (default: all that both have)",
        )
    parser.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="folders of records (default: results and runs)",
    )
    parser.add_argument(
        "--output", type=output_file, metavar="FILE", help="FILE.csv or FILE.md instead of printing"
    )
    options = parser.parse_args(argv)
    messages.set_up()

    from gclbench.cli.run import wrong
    from gclbench.component.registry import DATASETS, UnknownName
    from gclbench.config.overrides import ConfigErrors
    from gclbench.paper.head_to_head import NothingToCompare, head_to_head
    from gclbench.paper.sources import MissingStore, collect

    if options.output and options.output.suffix not in SUFFIXES:
        return _wrong(f"{options.output} has none of the suffixes {', '.join(SUFFIXES)}")
    try:
        collection = collect(options.runs)
        for name in options.dataset:
            # A graph of one's own has a name of one's own.
            if not any(group.is_on([name]) for group in collection.groups):
                DATASETS.check(name)
        found = head_to_head(
            (options.a, options.b),
            collection,
            options.dataset,
            options.task,
            options.metric,
        )
    except ConfigErrors as error:
        return wrong(error.errors)
    except (UnknownName, MissingStore, NothingToCompare, ValueError) as error:
        return _wrong(with_store(str(error), options.runs))
    found = replace(found, remarks=tuple(with_store(text, options.runs) for text in found.remarks))
    if options.output is None:
        _show(found)
        return 0
    written = _csv(found) if options.output.suffix == ".csv" else _markdown(found)
    try:
        made = deliver(options.output, written.encode("utf-8", "backslashreplace"))
    except OSError as error:
        return _wrong(unwritable_output(options.output, error))
    print(f"wrote {options.output}{made}")
    return 0


def _wrong(text: str) -> int:
    print(f"gclbench compare: {text}", file=sys.stderr)
    return 2


def _show(found: HeadToHead) -> None:
    """A table on a terminal, aligned text in a pipe."""
    from gclbench.paper.head_to_head_rows import HEAD, legend, texts

    rows = texts(found)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Column, Table
        from rich.text import Text

        # On a narrow terminal a text goes on in the next line, and no number is cut.
        columns = (Column(name, overflow="fold") for name in HEAD)
        table = Table(*columns, header_style="bold")
        for row in rows:
            table.add_row(*map(Text, row))
        Console().print(table)
    else:
        widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
        for row in ([*HEAD], *rows):
            cells = zip(row, widths, strict=True)
            print("  ".join(f"{text:<{width}}" for text, width in cells).rstrip())
    print("\n".join(legend(found)))


def _markdown(found: HeadToHead) -> str:
    from gclbench.paper.head_to_head_rows import HEAD, legend, texts

    lines = [[*HEAD], ["---"] * len(HEAD), *texts(found)]
    grid = [f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row)} |" for row in lines]
    return "\n".join([*grid, "", *(f"- {sentence}" for sentence in legend(found))]) + "\n"


def _csv(found: HeadToHead) -> str:
    from gclbench.paper.head_to_head_rows import FIELDS, numbers

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([FIELDS, *numbers(found)])
    return file.getvalue()
