"""`gclbench sweep`: the runs of papers' tables, or of a file."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.cli.parser import Parser
from gclbench.component.declared import among
from gclbench.component.registry import DATASETS, METHODS, did_you_mean
from gclbench.machine import messages

if TYPE_CHECKING:
    from gclbench.paper.columns import Column
    from gclbench.paper.table_definition import Definition

CHOICES = ("paper", "table", "method", "dataset", "column")
"""What chooses of the papers' cells; everything else goes to the runs."""

WHICH = "say which table: gclbench sweep table=dmat/1 (`gclbench table` lists them)"

SUFFIXES = (".yaml", ".yml")
"""A first word that ends so is a file of runs."""

EXAMPLES = """examples:
  gclbench sweep table=dmat/1                               every run of that table, ten seeds
  gclbench sweep table=dmat/1 --dry-run                     what that is, and what is recorded
  gclbench sweep table=dmat/1 dataset=cora method=dmat_i    these rows and columns only
  gclbench sweep table=dmat/1 'column=untrained encoder'    a column by its heading
  gclbench sweep table=nml/1,nml/2 dataset=cora             two tasks of one training: trained once
  gclbench sweep table=nml/1 --with my_method               your method on that table's datasets
  gclbench sweep table=nml/1 --with 'grace method.tau=0.4' dataset=cora
  gclbench sweep table=dmat/1 seeds=3 launcher.workers=4
  gclbench submit sweep table=dmat/1 launcher=slurm         hand it over to Slurm
  gclbench sweep runs.yaml seeds=3                          the runs of a file (docs/sweeps.md)

A table:  table=dmat/1 and paper=dmat table=1 are the same. method=, dataset= and column= choose of
          its rows and columns; without them all are run. Any other key of a run (seeds=,
          launcher.workers=, method.epochs=) goes to all of these runs. The table says which task
          and split. `gclbench table` lists the tables.
--with    runs the rows that it names and no others, on the table's datasets, splits and seeds.
A file:   words after FILE.yaml take the place of those of the same key in its entries.

What is recorded is not run again. Methods and datasets of the table that gclbench does not have are
named and left out. The runs are spread over worker processes; launcher.workers=1 keeps them in one.
"""


def main(argv: list[str], detached: bool = False) -> int:
    """Exit code 0 when every run is ok, 1 when one is not, 2 for a command that is wrong."""
    parser = Parser(
        "sweep",
        "Runs what papers' tables hold, at the papers' settings, or the runs that a file lists.",
        EXAMPLES,
        settings=True,
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the runs and how many are recorded; run nothing",
    )
    parser.add_argument(
        "--with",
        dest="added",
        action="append",
        default=[],
        metavar="METHOD",
        help="run this row instead of the table's own: a method, or one with settings in quotes;"
        " may be repeated",
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="FILE.yaml | KEY=VALUE",
        help="a file of runs, or table=PAPER/NUMBER; then what chooses of the table (method=,"
        " dataset=, column=), and the keys of a run",
    )
    options = parser.parse_args(argv)
    if not options.words:
        parser.error(f"{WHICH}, or name a file of runs: gclbench sweep runs.yaml")
    messages.set_up()
    later = next((word for word in options.words[1:] if word.endswith(SUFFIXES)), None)
    if later is not None and "=" not in later:
        others = [word for word in options.words if word != later]
        parser.error(
            f"a file of runs comes first: gclbench sweep {shlex.join([later, *others])}"
            if not options.words[0].endswith(SUFFIXES)
            else f"'{later}' is one file of runs too many; give one"
        )
    if options.words[0].endswith(SUFFIXES):
        if options.added:
            parser.error(
                "--with names rows of a paper's table, and a file lists its own runs: leave it out,"
                f" or give table=PAPER/NUMBER for {options.words[0]}"
            )
        return _of_file(options.words, argv, options.dry_run, detached)

    from gclbench.cli.run import launch, wrong
    from gclbench.component.registry import UnknownName
    from gclbench.config.overrides import ConfigErrors, sweep
    from gclbench.paper.own_column import own_columns, with_columns
    from gclbench.paper.table_definition import SEEDS
    from gclbench.paper.tables import UnknownTable, find_table

    asked = {word.partition("=")[0]: word.partition("=")[2] for word in options.words}
    typed = Counter(word.partition("=")[0] for word in options.words)
    errors = [
        f"'{key}' is given {count} times; give it once" for key, count in typed.items() if count > 1
    ]
    if options.added:
        errors += [
            f"a --with takes one row; give another one for '{word}': --with {shlex.quote(word)}"
            for word in options.words
            if " " in word.partition("=")[0]
        ]
    errors += [
        f"'{key}={asked[key]}' names nothing; leave it out for all"
        for key in CHOICES
        if key in asked and not _chosen(asked, key)
    ]
    if errors:
        return wrong(errors)
    rest = [word for word in options.words if word.partition("=")[0] not in CHOICES]
    try:
        definitions = [find_table(name) for name in _table_ids(asked, options.words)]
        for definition in definitions:
            if not definition.task:
                raise ValueError(
                    f"table {definition.id} holds no results of runs; `gclbench table"
                    f" {definition.id}` shows what it holds"
                )
        if "task" in asked:
            raise ValueError(f"{_has_tasks(definitions)}; leave task={asked['task']} out")
        added = own_columns(options.added)
        if added:
            definitions = [
                replace(with_columns(definition, added), columns=added)
                for definition in definitions
            ]
        cells, absent = _cells(
            definitions,
            _chosen(asked, "method"),
            _chosen(asked, "dataset"),
            _chosen(asked, "column"),
        )
    except ConfigErrors as error:
        return wrong(error.errors)
    except (UnknownName, UnknownTable, ValueError) as error:
        return wrong([str(error)])
    for text in absent:
        print(f"left out: {text}", file=sys.stderr)
    if not cells:
        shown = ", ".join(f"`gclbench table {definition.id}`" for definition in definitions)
        shows = "shows what it holds" if len(definitions) == 1 else "show what they hold"
        return wrong([f"no run of {_named(definitions)} is left; {shown} {shows}"])
    seeds = [] if "seeds" in asked else [f"seeds={SEEDS}"]
    try:
        commands = [command for cell in cells for command in sweep([*cell, *seeds, *rest])]
    except ConfigErrors as error:
        return wrong(list(dict.fromkeys(error.errors)))
    return launch(
        commands, ["sweep", *argv], options.dry_run, detached, spread=True, of_a_table=True
    )


def _of_file(words: list[str], argv: list[str], dry_run: bool, detached: bool) -> int:
    """The runs of a file; the words after it stand above those of its entries."""
    from gclbench.cli.run import launch, wrong
    from gclbench.config.overrides import ConfigErrors
    from gclbench.config.runs_file import commands_of

    try:
        commands = commands_of(Path(words[0]), words[1:])
    except ConfigErrors as error:
        return wrong(error.errors)
    return launch(commands, ["sweep", *argv], dry_run, detached, spread=True)


def _table_ids(asked: dict[str, str], words: list[str]) -> list[str]:
    """`dmat/1` and `dmat/2` of `paper=dmat table=1,2`, or of `table=dmat/1,dmat/2`; each once.

    Raises:
        ValueError: when the paper or the table is missing; where both are, combinations of settings
            may be meant.
    """
    from gclbench.paper.filling import is_own
    from gclbench.paper.matrix import ID as MATRIX

    papers, tables = _chosen(asked, "paper"), _chosen(asked, "table")
    if len(papers) > 1:
        wanted = [
            name
            for table in tables
            for name in ([table] if "/" in table else [f"{paper}/{table}" for paper in papers])
        ]
        write = ",".join(wanted) or "dmat/1,nml/1"
        raise ValueError(f"paper={asked['paper']} names several papers; write table={write}")
    paper = papers[0] if papers else ""
    for table in tables:
        if table == MATRIX or is_own(table):
            raise ValueError(
                f"table {table} is of no paper; `gclbench table {table} --missing` prints the"
                " commands that fill it"
            )
    for table in tables:
        if paper and "/" in table and not table.startswith(f"{paper}/"):
            raise ValueError(f"paper={paper} and table={table} are of two papers; leave one out")
    if tables:
        return list(
            dict.fromkeys(
                table if "/" in table or not paper else f"{paper}/{table}" for table in tables
            )
        )
    advice = WHICH
    bare = next((word for word in words if "=" not in word), "")
    if bare:
        advice = (
            f"'{bare}' is no KEY=VALUE; a table is chosen with"
            f" table={bare if '/' in bare else 'dmat/1'} (`gclbench table` lists them), and a file"
            f" of runs ends in {' or '.join(SUFFIXES)}"
        )
    elif not paper:
        from gclbench.paper import run_words

        every = run_words.command(["-m", *words])
        advice += f"; for every combination of settings: {every}"
    raise ValueError(advice)


def _named(definitions: Sequence[Definition]) -> str:
    """`table nml/1`, `tables nml/1, nml/2`."""
    ids = ", ".join(definition.id for definition in definitions)
    return f"table {ids}" if len(definitions) == 1 else f"tables {ids}"


def _has_tasks(definitions: Sequence[Definition]) -> str:
    """`table nml/1 has one task, classification`."""
    tasks = list(dict.fromkeys(definition.task for definition in definitions))
    has = "has" if len(definitions) == 1 else "have"
    told = f"one task, {tasks[0]}" if len(tasks) == 1 else f"the tasks {', '.join(tasks)}"
    return f"{_named(definitions)} {has} {told}"


def _chosen(asked: dict[str, str], kind: str) -> list[str]:
    """The names of `dataset=cora,acm`, each once; a list in brackets says the same."""
    text = asked.get(kind, "").strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    names = (name.strip(" '\"") for name in text.split(","))
    return list(dict.fromkeys(name for name in names if name))


def _cells(
    definitions: Sequence[Definition],
    methods: list[str],
    datasets: list[str],
    headings: list[str],
) -> tuple[list[list[str]], list[str]]:
    """The command of every column and dataset that can be run, and a sentence for what cannot.

    Raises:
        ValueError: when a method, dataset or column is asked for that no table holds.
    """
    columns = [(each, column) for each in definitions for column in each.columns]
    names = [column.method_name for _, column in columns]
    methods = [among(METHODS, name, names) for name in methods]
    for kind, asked, known in (
        ("method", methods, names),
        ("dataset", datasets, [name for each in definitions for name in each.datasets]),
        ("column", headings, [column.label for _, column in columns]),
    ):
        strange = [name for name in asked if name not in known]
        if strange:
            has, it = ("has", "It has") if len(definitions) == 1 else ("have", "They have")
            raise ValueError(
                f"{_named(definitions)} {has} no {kind} {', '.join(strange)}."
                f"{did_you_mean(*strange, known=known)} {it}: {', '.join(dict.fromkeys(known))}"
            )
    chosen = [
        (each, dataset, column)
        for each in definitions
        for dataset in each.datasets
        for column in each.columns
        if (not methods or column.method_name in methods)
        and (not datasets or dataset in datasets)
        and (not headings or column.label in headings)
    ]
    absent = [
        f"{kind} {name} is not in gclbench yet"
        for kind, known, named in (
            ("method", METHODS, [column.method_name for _, _, column in chosen]),
            ("dataset", DATASETS, [dataset for _, dataset, _ in chosen]),
        )
        for name in dict.fromkeys(named)
        if name not in known.entries
    ]
    absent += [
        f"table {each.id} has none of these cells"
        for each in definitions
        if chosen and not any(table is each for table, _, _ in chosen)
    ]
    cells = [
        (each.task, _command(each, column, column.method_name, dataset))
        for each, dataset, column in chosen
        if column.method_name in METHODS.entries and dataset in DATASETS.entries
    ]
    return _joined(cells), absent


def _joined(cells: list[tuple[str, list[str]]]) -> list[list[str]]:
    """Commands that differ in their task alone as one, so that what its tasks share is trained
    once.

    Two settings of one task stay two commands.

    Args:
        cells: the task, and the command.
    """
    found: dict[tuple[str, ...], list[dict[str, list[str]]]] = {}
    for task, command in cells:
        of_task = [word for word in command if word.startswith("task.")]
        rest = (word for word in command if not word.startswith(("task.", "task=")))
        groups = found.setdefault(tuple(rest), [])
        if any(group.get(task) == of_task for group in groups):
            continue
        room = next((group for group in groups if task not in group), None)
        if room is None:
            groups.append(room := {})
        room[task] = of_task
    return [
        [*rest, _task_word([*group]), *(word for of_task in group.values() for word in of_task)]
        for rest, groups in found.items()
        for group in groups
    ]


def _task_word(tasks: list[str]) -> str:
    return f"task={tasks[0]}" if len(tasks) == 1 else f"task=[{','.join(tasks)}]"


def _command(definition: Definition, column: Column, method: str, dataset: str) -> list[str]:
    """What runs a cell: the method at its own settings, and what the column asks for besides."""
    words = column.words or (f"method={method}",)
    command = [*words, f"dataset={dataset}", f"task={definition.task}"]
    flat = _settings(command, definition.task)
    wanted = [
        condition.override(definition.task)
        for condition in (*column.conditions(dataset), *definition.conditions(dataset))
        if not condition.holds(flat)
    ]
    names = [text for text in wanted if "." not in text.partition("=")[0]]
    return [*command, *names, *(text for text in wanted if text not in names)]


def _settings(command: list[str], task: str) -> dict[str, object]:
    """A command's settings, flat as a record's are."""
    from gclbench.config.validation import experiment_of
    from gclbench.records import flatten

    settings = experiment_of([*command, "device=cpu"]).settings
    kinds = {kind: values for kind, values in settings.items() if kind != "tasks"}
    return flatten({**kinds, "task": settings["tasks"][task]})
