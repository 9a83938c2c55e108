"""`gclbench [overrides]` and `gclbench -m [overrides]`: compose, run, print the results."""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.cli.parser import Parser
from gclbench.cli.progress import note, shown
from gclbench.machine import messages
from gclbench.machine.paths import expanded
from gclbench.machine.signals import terminated_like_interrupted
from gclbench.records import Record, Store, StoreError

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment
    from gclbench.launch.plan import Plan


def main(argv: list[str]) -> int:
    """Exit code 0 when every run is ok, 1 when one is not, 2 for a command that is wrong."""
    parser = Parser("", "Runs experiments; `gclbench --help` shows all.", settings=True)
    return compose(arguments(parser, argv), argv)


def arguments(parser: Parser, argv: list[str]) -> argparse.Namespace:
    """What a run and `gclbench submit` take."""
    parser.add_argument(
        "-m",
        "--multirun",
        action="store_true",
        help="run every combination of comma-separated values",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the runs and how many are recorded; run nothing",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="a folder of your own configs (docs/sweeps.md)",
    )
    parser.add_argument("overrides", nargs="*", help="KEY=VALUE")
    return parser.parse_args(argv)


def compose(options: argparse.Namespace, typed: list[str], detached: bool = False) -> int:
    """Composes what `arguments` read, then runs it or hands it over."""
    from gclbench.config import validation as config
    from gclbench.config.named_settings import with_named_settings
    from gclbench.config.overrides import sweep
    from gclbench.config.own_configs import own_names, with_own_configs

    try:
        commands = [options.overrides]
        if options.multirun:
            own = own_names(options.config_dir) if options.config_dir is not None else ()
            commands = with_named_settings(sweep(options.overrides), own)
        if options.config_dir is not None:
            commands = with_own_configs(options.config_dir, commands)
    except config.ConfigErrors as error:
        return wrong(error.errors)
    return launch(commands, typed, options.dry_run, detached, options.multirun)


def launch(
    commands: list[list[str]],
    typed: list[str],
    dry_run: bool = False,
    detached: bool = False,
    spread: bool = False,
    of_a_table: bool = False,
) -> int:
    """Runs commands without sweeps, or shows what they would run, or hands them over; returns the
    exit code.

    Args:
        typed: what the user typed, for the sweep's file. detached: hand over and return at once.
        spread: over worker processes, unless the words say how many.
        of_a_table: the commands are rows of a paper's table.
    """
    messages.set_up()
    from gclbench.config.validation import ConfigErrors

    try:
        if why := _own_file(commands):
            return wrong([why], code=1)
        experiments = load_all(commands, of_a_table)
    except ConfigErrors as error:
        return wrong(error.errors)

    # Not before: they take torch, and a misspelt name is answered without it.
    from gclbench.cli.remarks import (
        say_methods,
        say_precision,
        say_repairs,
        say_seeds,
        say_splits,
    )
    from gclbench.launch.execution import carry_out, packed_beside, prepare, recorded
    from gclbench.launch.launcher import LaunchError

    first = experiments[0]
    if spread and first.launcher_name == "local" and not _says_workers([*typed, *commands[0]]):
        first = replace(first, launcher=replace(first.launcher, workers="auto"))
    try:
        with terminated_like_interrupted():
            if dry_run:
                from gclbench.cli.dry_run import preview

                say_methods(commands, experiments, print)
                say_splits(commands, experiments, print)
                return preview(experiments)
            plan, store = prepare(experiments)
            say_methods(commands, experiments, note)
            say_splits(commands, experiments, note)
            say_seeds(experiments, plan, note)
            for text in plan.unavailable:
                print(f"gclbench: {text}", file=sys.stderr)
            for reason, count in plan.unkept.items():
                note(f"{count} {'run' if count == 1 else 'runs'}: {reason}")
            say_repairs(experiments, note)
            if packed := packed_beside(plan, store):
                note(packed)
            if plan.done:
                note(recorded(plan, store))
            say_precision(experiments, plan, note)
            if plan.units and detached:
                return _hand_over(first, plan, typed)
            if plan.units:
                carry_out(first, plan, typed, shown, note)
            elif detached:
                print("nothing is left to hand over")
    except StoreError as error:
        return wrong([str(error.args[1])], code=1)
    except LaunchError as error:
        return wrong([str(error)], code=1)
    return _close(plan, store)


def _says_workers(typed: list[str]) -> bool:
    return any(word.partition("=")[0] == "launcher.workers" for word in typed)


def _own_file(commands: list[list[str]]) -> str:
    """Why the user's file of a single command is no graph: told before torch is imported.

    Raises:
        ConfigErrors: when the command cannot be composed.
    """
    if len(commands) != 1 or not any(word.startswith("dataset.path=") for word in commands[0]):
        return ""
    from gclbench.config.overrides import parse
    from gclbench.config.values import values_of_command
    from gclbench.data.file_format import READ_FROM_FILES, unusable

    errors: list[str] = []
    values, _ = values_of_command(parse(commands[0], errors), errors)
    dataset = values["dataset"]
    if errors or dataset["name"] not in READ_FROM_FILES or not dataset["path"]:
        return ""
    return unusable(Path(expanded(str(dataset["path"]))))


def load_all(commands: list[list[str]], of_a_table: bool = False) -> list[Experiment]:
    """Every experiment of a sweep, or all errors of all of them at once.

    Args:
        of_a_table: as `launch`.

    Raises:
        ConfigErrors: also when there is no command at all.
    """
    from gclbench.config.graph_names import named_apart
    from gclbench.config.named_settings import for_those_that_have
    from gclbench.config.validation import ConfigErrors, experiment_of

    experiments: list[Experiment] = []
    wrong: dict[str, list[list[str]]] = {}
    for command in commands:
        try:
            experiments.append(experiment_of(command))
        except ConfigErrors as error:
            for text in dict.fromkeys(error.errors):
                wrong.setdefault(text, []).append(command)
    if not commands:
        raise ConfigErrors(["the sweep has no runs: nothing is chosen"])
    if wrong:
        raise ConfigErrors(
            [
                *(f"{text}{_said_of(text, those, commands)}" for text, those in wrong.items()),
                *for_those_that_have(wrong, commands, of_a_table),
            ]
        )
    if several := _several_places(experiments):
        raise ConfigErrors(several)
    return named_apart(experiments)


def _several_places(experiments: list[Experiment]) -> list[str]:
    """What is wrong with commands that name more than one folder of records or launcher."""
    from gclbench.component.settings import values_of
    from gclbench.config.quoting import quoted
    from gclbench.config.value_text import text_of

    named: dict[str, list[str]] = {}
    for experiment in experiments:
        given = {"runs_dir": quoted(experiment.runs_dir), "launcher": experiment.launcher_name}
        given |= {
            f"launcher.{key}": text_of(value)
            for key, value in values_of(experiment.launcher).items()
        }
        for key, value in given.items():
            if value not in named.setdefault(key, []):
                named[key].append(value)
    # The settings of two launchers differ anyhow.
    one = len(named.get("launcher", ())) == 1
    return [
        f"the runs name several values of {key}: {', '.join(values)}; a sweep has one {key}, so"
        f" give one for all: {shlex.quote(f'{key}={values[-1]}')}"
        for key, values in named.items()
        if len(values) > 1 and (one or not key.startswith("launcher."))
    ]


def _said_of(text: str, those: list[list[str]], commands: list[list[str]]) -> str:
    """The end of an error that some of a sweep's commands have: the words that tell the first of
    them from the others; nothing where all have it, or where it names them."""
    if len(those) == len(commands):
        return ""
    shared = set.intersection(*(set(command) for command in commands))
    telling = [word for word in those[0] if word not in shared]
    if all(re.search(rf"(?<!\S){re.escape(word)}(?!\w)", text) for word in telling):
        return ""
    words = " ".join(shlex.quote(word) for word in telling)
    others = len(those) - 1
    more = f", and of {others} other command{'s' * (others > 1)}" if others else ""
    return f" (of {words}{more})"


def _hand_over(experiment: Experiment, plan: Plan, typed: list[str]) -> int:
    from gclbench.launch.execution import sweep_of

    sweep = sweep_of(experiment, plan, typed)
    sweep.save()
    sweep.jobs = experiment.launcher.submit(sweep)
    sweep.save()
    runs = sum(len(unit.ids) for unit in plan.units)
    print(
        f"sweep {sweep.id}: {messages.counted(runs, 'run')} in"
        f" {messages.counted(len(plan.units), 'unit')} handed over to"
        f" launcher={sweep.launcher}; {sweep.folder}"
    )
    elsewhere = messages.elsewhere(experiment.runs_dir)
    print(
        f"`gclbench status {sweep.id}{elsewhere}` shows it, `gclbench cancel {sweep.id}{elsewhere}`"
        " ends it"
    )
    return 0


def _close(plan: Plan, store: Store) -> int:
    """Prints the table of results, and what was not run; the exit code."""
    from gclbench.launch.execution import ended_worse_of
    from gclbench.paper.run_summary import print_closing_table

    records: list[Record] = []
    absent = 0
    for run_id in plan.ids:
        record = plan.done.get(run_id) or store.read(run_id)
        if record is None:
            absent += 1
        else:
            # The table needs no loss curves, and thousands of them fill the memory.
            record.fit.pop("curve", None)
            records.append(record)
    ended = ended_worse_of(plan, store)
    bad = sum(not record.ok or record.id in ended for record in records)
    # The exit code is the runs', also where a reader of the table, such as `head`, has enough.
    with contextlib.suppress(BrokenPipeError):
        if records:
            print_closing_table(records, where=messages.elsewhere(str(store.root)))
            note(_where(records, store))
        if len(plan.ids) > 1 and (bad or absent):
            without = f", {absent} without a record (see the messages above)" if absent else ""
            print(f"{len(records) - bad} of {len(plan.ids)} runs are ok{without}")
    if not plan.ids and not plan.unavailable:
        print(
            "gclbench: the sweep has no runs: no chosen task makes sense for the chosen methods",
            file=sys.stderr,
        )
        return 2
    return 0 if not plan.unavailable and not bad and not absent else 1


def _where(records: list[Record], store: Store) -> str:
    """How to see the records of a command."""
    few = [
        f"{record.id} ({record.name('method')} · {record.name('dataset')} · {record.name('task')} ·"
        f" seed {record.seed})"
        for record in records[:3]
    ]
    more = f" and {len(records) - 3} more" if len(records) > 3 else ""
    return (
        f"`gclbench show ID{messages.elsewhere(str(store.root))}` prints a run's record:"
        f" {', '.join(few)}{more}"
    )


def wrong(errors: list[str], code: int = 2) -> int:
    """Prints what is wrong with a command, one line each, and returns the exit code."""
    for text in errors:
        print(f"gclbench: {text}", file=sys.stderr)
    return code
