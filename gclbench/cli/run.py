"""`gclbench [overrides]` and `gclbench -m [overrides]`: compose, run, print the closing table."""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from typing import TYPE_CHECKING

from gclbench.records import Record, StoreError

if TYPE_CHECKING:
    from gclbench.config import Experiment


def main(argv: list[str]) -> int:
    """Exit code 0 when every run is ok, 1 when one is not, 2 for a command that is wrong."""
    parser = argparse.ArgumentParser(prog="gclbench", description="Runs experiments; `gclbench --help` shows all.")
    parser.add_argument("-m", "--multirun", action="store_true", help="run every combination of comma-separated values")
    parser.add_argument("overrides", nargs="*", help="KEY=VALUE")
    options = parser.parse_intermixed_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")

    from gclbench import config
    from gclbench.cli.progress import shown
    from gclbench.launch.local import execute

    try:
        commands = config.sweep(options.overrides) if options.multirun else [options.overrides]
        experiments = _load_all(commands)
    except config.ConfigErrors as error:
        return wrong(error.errors)

    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError

    records: list[Record] = []
    unavailable = 0
    for experiment in experiments:
        try:
            records += execute(experiment, shown, lambda text: print(text, file=sys.stderr))
        except StoreError as error:
            return wrong([str(error.args[1])], code=1)
        except (DataUnavailable, GraphError) as error:
            print(f"gclbench: {error}", file=sys.stderr)
            unavailable += 1
    _print_closing(records)
    return 0 if not unavailable and all(record.ok for record in records) else 1


def _load_all(commands: list[list[str]]) -> list[Experiment]:
    """Every experiment of a sweep, or all errors of all of them at once."""
    from gclbench.config import ConfigErrors, load

    experiments: list[Experiment] = []
    errors: list[str] = []
    for command in commands:
        try:
            experiments.append(load(command))
        except ConfigErrors as error:
            errors += [text for text in error.errors if text not in errors]
    if errors:
        raise ConfigErrors(errors)
    return experiments


def wrong(errors: list[str], code: int = 2) -> int:
    """Prints what is wrong with a command, one line each, and returns the exit code."""
    for text in errors:
        print(f"gclbench: {text}", file=sys.stderr)
    return code


def _print_closing(records: list[Record]) -> None:
    from gclbench.paper.closing import print_closing_table

    if records:
        print_closing_table(records)
