"""`gclbench table`: a table of a paper, from records, beside the printed numbers."""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from gclbench.cli.advised_store import into
from gclbench.cli.parser import Parser, add_with, id_first, output_file, unwritable_output
from gclbench.machine import messages
from gclbench.records import deliver

if TYPE_CHECKING:
    from gclbench.paper.comparison import Comparison

EXAMPLES = """examples:
  gclbench table                                   the ids
  gclbench table dmat/1                            from results/ and runs/, those that exist
  gclbench table dmat/1 --dataset cora acm --metric acc nmi --method dmat_i agc
  gclbench table dmat/1 --only paper
  gclbench table dmat/1 --runs results --output results/tables/dmat-1.md
  gclbench table dmat/3 --output dmat-3.tex        or .csv, .html
  gclbench table dmat/1 --dataset cora --command   what runs each cell
  gclbench table dmat/1 --missing                  what would fill it: ten seeds in every cell
  gclbench table dmat/1 --missing --seeds 3
  gclbench table dmat/1 --undecided                the seeds that would decide undetermined cells
  gclbench table --undecided                       those of all tables
  gclbench table matrix --dataset cora             base method × strategy for negatives
  gclbench table own                               your runs that are in no paper's table
  gclbench table own/clustering --output own.tex
  gclbench table nml/1 --with my_method            your method as a row of the paper's table
  gclbench table nml/1 --with my_method 'grace method.tau=0.4' --missing    what fills the rows

How to read a table: docs/tables.md.
"""

QUESTIONS = ("command", "missing", "undecided")
"""Options that ask for commands instead of the table."""

FORMATS = ("terminal", "markdown", "latex", "csv", "html")
SUFFIXES = {".md": "markdown", ".csv": "csv", ".tex": "latex", ".html": "html"}


def main(argv: list[str]) -> int:
    """Exit code 0 when the table was printed, cells without runs included; 2 for a command that is
    wrong."""
    parser = Parser(
        "table",
        "Prints a paper's table: ours mean ± std (n) beside the printed value, with a mark for how"
        " they compare.",
        EXAMPLES,
        one="an ID is one word, such as dmat/1",
    )
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="such as dmat/1; without it the ids are listed, and --undecided is about all tables",
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="folders of records (default: results and runs)",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="default: by the suffix of FILE, else terminal on a terminal, else markdown",
    )
    parser.add_argument(
        "--output", type=output_file, metavar="FILE", help="write there instead of printing"
    )
    parser.add_argument(
        "--dataset",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="these datasets only",
    )
    parser.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="these metrics only",
    )
    parser.add_argument(
        "--method",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="these methods only, or columns by their headings",
    )
    add_with(parser, "the paper's")
    parser.add_argument(
        "--only", choices=("ours", "paper"), default="", help="one of the two numbers only"
    )
    parser.add_argument(
        "--command", action="store_true", help="print the command of every cell instead"
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="print the commands that would fill the table instead",
    )
    parser.add_argument(
        "--undecided",
        action="store_true",
        help="print the commands whose seeds would decide undetermined cells instead",
    )
    parser.add_argument(
        "--seeds",
        type=_count,
        default=None,
        metavar="N",
        help="with --missing: runs of a full cell (default: 10)",
    )
    options = parser.parse_args(argv)
    messages.set_up()

    from gclbench.component.registry import UnknownName
    from gclbench.config.overrides import ConfigErrors
    from gclbench.paper.comparison import NotInTable
    from gclbench.paper.sources import MissingStore
    from gclbench.paper.tables import TABLES, UnknownTable

    if options.id is None and not options.undecided:
        if argv:
            parser.error(id_first("table", argv, TABLES))
        _list()
        return 0
    # A terminal is written to directly: rich asks it for its width and colours.
    text = io.StringIO()
    try:
        _show(options, sys.stdout if options.output is None else text)
    except ConfigErrors as error:
        for wrong in error.errors:
            print(f"gclbench table: {wrong}", file=sys.stderr)
        return 2
    except (UnknownName, UnknownTable, MissingStore, NotInTable, ValueError) as error:
        print(f"gclbench table: {error}", file=sys.stderr)
        return 2
    if options.output is None:
        return 0
    try:
        made = deliver(options.output, text.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:
        print(f"gclbench table: {unwritable_output(options.output, error)}", file=sys.stderr)
        return 2
    print(f"wrote {options.output}{made}")
    return 0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no number of runs; a whole number from 1, such as --seeds 3"
        )
    return int(text)


def _list() -> None:
    from gclbench.paper import matrix, own_tables
    from gclbench.paper.tables import NOT_BUILT, TABLES

    titles = {name: definition.title for name, definition in TABLES.items()}
    titles |= {
        matrix.ID: matrix.TITLE,
        own_tables.ID: own_tables.TITLE,
        **{name: f"not built: {why}" for name, why in NOT_BUILT.items()},
    }
    width = max(map(len, titles)) + 2
    for name, text in titles.items():
        print(f"{name:<{width}}{text}")


def _show(options: argparse.Namespace, file: TextIO) -> None:
    """Writes what was asked for.

    Raises:
        UnknownName, ConfigErrors, UnknownTable, MissingStore, NotInTable, ValueError: for a command
            that is wrong.
    """
    from gclbench.config.seeds import MOST_SEEDS
    from gclbench.paper import filling, matrix, own_tables
    from gclbench.paper.deciding import undecided, undecided_anywhere
    from gclbench.paper.gains import commands, never_untrained
    from gclbench.paper.missing import missing
    from gclbench.paper.sources import collect
    from gclbench.paper.table_definition import SEEDS

    questions = [name for name in QUESTIONS if getattr(options, name)]
    if len(questions) > 1:
        raise ValueError(
            f"{', '.join(f'--{name}' for name in questions)} are different questions; ask one"
        )
    if options.seeds is not None and not options.missing:
        raise ValueError("--seeds goes with --missing; a table shows every recorded seed")
    if options.seeds is not None and options.seeds > MOST_SEEDS:
        raise ValueError(
            f"--seeds {options.seeds}: a sweep takes at most {MOST_SEEDS:,} seeds of a cell"
        )
    for name in ("format", "only"):
        if getattr(options, name) and questions:
            raise ValueError(
                f"--{name} is about a table's cells, and --{questions[0]} prints commands; leave"
                " one out"
            )
    if (
        options.output
        and options.output.suffix not in ("", *SUFFIXES)
        and not (options.format or questions)
    ):
        raise ValueError(
            f"{options.output} has none of the suffixes {', '.join(SUFFIXES)};"
            f" say --format {'|'.join(FORMATS)}"
        )
    chosen = options.format or (
        SUFFIXES.get(options.output.suffix, "markdown") if options.output else None
    )
    chosen = chosen or ("terminal" if sys.stdout.isatty() else "markdown")
    seeds = options.seeds or SEEDS
    if options.undecided and options.id and (options.id == matrix.ID or filling.is_own(options.id)):
        raise ValueError(
            f"--undecided asks for verdicts against printed numbers, and table {options.id} has"
            " none; `gclbench compare A B` says how many seeds would tell two methods apart"
        )
    if options.undecided and options.added:
        raise ValueError("--undecided asks for printed numbers, and a row of --with has none")
    if options.id is None:
        asked = filling.fill_all(
            lambda: collect(options.runs), options.dataset, options.metric, options.method
        )
        _write_lines(undecided_anywhere(asked), into(options.runs), file)
        return
    if options.id == matrix.ID and not options.added:
        _matrix(options, chosen, seeds, file)
        return
    own = filling.is_own(options.id)
    if own and options.only == "paper":
        raise ValueError("own runs stand beside no paper's numbers; leave --only paper out")
    tables = filling.fill(
        options.id,
        lambda: collect(options.runs),
        options.added,
        options.dataset,
        options.metric,
        options.method,
        planned=options.missing,
        tested=not (options.missing or options.command),
    )
    if options.command:
        lines = [line for table in tables for line in _commands(table)]
    elif options.undecided:
        lines = [line for table in tables for line in undecided(table)]
    elif options.missing:
        lack = own_tables.missing_runs if own else missing
        lines = [line for table in tables for line in lack(table, seeds)]
        lines += [
            line
            for table in tables
            for line in commands(table.entries, table.definition.typed_dataset)
        ]
        # A row of one's own runs may be the control of another one.
        lines = list({frozenset(shlex.split(line)): line for line in lines}.values())
        lines = lines or ["# nothing is missing"]
        lines += never_untrained(entry for table in tables for entry in table.entries)
    else:
        _write(tables, chosen, options.only, file)
        return
    _write_lines(lines, "" if options.command else into(options.runs), file)


def _write_lines(lines: Iterable[str], behind: str, file: TextIO) -> None:
    """Commands, with words behind each, and comments."""
    file.writelines(f"{line}{'' if line.startswith('#') else behind}\n" for line in lines)


def _matrix(options: argparse.Namespace, chosen: str, seeds: int, file: TextIO) -> None:
    from gclbench.component.registry import DATASETS, UnknownName
    from gclbench.paper import matrix
    from gclbench.paper.comparison import compare
    from gclbench.paper.sources import collect

    for name in options.dataset:
        try:
            DATASETS.check(name)
        except UnknownName as error:
            raise ValueError(str(error)) from error
    if options.metric or options.method or options.only:
        raise ValueError(
            "table matrix is always whole:"
            " of --dataset, --metric, --method and --only it takes --dataset"
        )
    definition = matrix.table(options.dataset or matrix.DATASETS_SHOWN)
    comparison = compare(definition, collect(options.runs))
    if options.command or options.missing:
        lines = matrix.commands(comparison, seeds, all_cells=options.command)
        behind = "" if options.command else into(options.runs)
        _write_lines(lines or ["# nothing is missing"], behind, file)
        return
    _write([comparison], chosen, "", file)


def _commands(comparison: Comparison) -> list[str]:
    """One line per cell, its metrics together: the command and, as a comment, the cell."""
    commands = {(entry.dataset, entry.heading): entry.command for entry in comparison.entries}
    widest = max(map(len, commands.values()), default=0)
    return [
        f"{command:<{widest}}  # {', '.join(cell)}{'' if command else ': not built here'}"
        for cell, command in commands.items()
    ]


def _write(comparisons: Sequence[Comparison], format_name: str, only: str, file: TextIO) -> None:
    from gclbench.paper import render

    if format_name == "terminal":
        from rich.console import Console

        # A pipe has no width; this one fits six metrics.
        console = Console(file=file) if file.isatty() else Console(file=file, width=190)
        for comparison in comparisons:
            render.terminal(comparison, console, only)
    elif format_name in ("csv", "latex"):
        together = render.csv_of if format_name == "csv" else render.latex_of
        file.write(together(comparisons, only))
    else:
        writer = render.markdown if format_name == "markdown" else render.html
        file.write("\n".join(writer(comparison, only) for comparison in comparisons))
