"""`gclbench status`: what a store of records holds, and how far a sweep is."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gclbench.cli.parser import Parser
from gclbench.launch.sweep import UnknownSweep, find, sweeps
from gclbench.machine import messages
from gclbench.records import STATUSES, Record, Store, StoreError

EXAMPLES = """examples:
  gclbench status                  the store in runs/, and the sweeps that were handed over to it
  gclbench status results runs     several stores
  gclbench status 3f2a9c           a sweep: done, running, queued, failed and why, time left
  gclbench status 3f2a9c --runs /scratch/runs
"""

LIKE_A_SWEEP = re.compile(r"(?=.*\d)[\da-f-]{4,}")
"""An id of a sweep, or a part of one."""


def main(argv: list[str]) -> int:
    parser = Parser("status", "Counts records, or shows how far a sweep is.", EXAMPLES)
    parser.add_argument(
        "stores",
        nargs="*",
        metavar="DIR|SWEEP",
        help="folders of records (default: runs), or a sweep's id",
    )
    parser.add_argument(
        "--runs",
        metavar="DIR",
        help="the store in which a sweep is looked for (default: runs)",
    )
    options = parser.parse_args(argv)
    messages.set_up()
    where, options.runs = options.runs, options.runs or "runs"
    if where is not None and any(Path(folder).is_dir() for folder in options.stores):
        parser.error(
            "--runs says where a sweep's id is looked for, and folders of records are named: leave"
            " it out"
        )
    if len(options.stores) > 1 and all(
        not Path(name).exists() and LIKE_A_SWEEP.fullmatch(name) for name in options.stores
    ):
        parser.error(f"give one sweep; {len(options.stores)} ids are named")
    if (
        len(options.stores) == 1
        and not Path(options.stores[0]).is_dir()
        and "/" not in options.stores[0]
        and sweeps(options.runs)
    ):
        return _sweep(options.runs, options.stores[0])
    options.stores = options.stores or [options.runs]
    missing = [folder for folder in options.stores if not Path(folder).is_dir()]
    if len(missing) == 1 and LIKE_A_SWEEP.fullmatch(missing[0]):
        print(
            f"gclbench status: {missing[0]} is neither a folder nor a sweep of {options.runs};"
            " --runs DIR names the store that it was handed over to",
            file=sys.stderr,
        )
        return 2
    if missing:
        print(
            f"gclbench status: there is no folder {', '.join(missing)}; runs are recorded in"
            " runs_dir (default: runs)",
            file=sys.stderr,
        )
        return 2
    from gclbench.paper.sources import collect

    groups: dict[tuple[str, str, str], Counter[str]] = {}
    troubles = []
    # A run that lies in two stores is one run.
    for record in collect(options.stores).records:
        key = (record.name("method"), record.name("dataset"), record.name("task"))
        groups.setdefault(key, Counter())[record.status] += 1
        if not record.ok:
            troubles.append(record)
    widths = [max(map(len, names)) for names in zip(*groups, strict=True)]
    for key, counts in sorted(groups.items()):
        found = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        cells = zip(key, widths, strict=True)
        print("  ".join([*(f"{name:<{width}}" for name, width in cells), found]))
    for trouble in _told(troubles):
        print(trouble)
    total = sum(sum(counts.values()) for counts in groups.values())
    print(f"{messages.counted(total, 'run')}, {len(troubles)} not ok")
    for folder in options.stores:
        for name in sweeps(folder):
            print(f"sweep {name}  (`gclbench status {name}{messages.elsewhere(folder)}`)")
    return 1 if troubles else 0


def _told(records: Iterable[Record]) -> list[str]:
    """A line for each reason: `ID  unsupported: it cannot`, with `ID and 2 more` where three runs
    ended so."""
    alike: dict[str, list[str]] = {}
    for record in records:
        alike.setdefault(f"{record.status}: {' '.join(record.reason.split())}", []).append(
            record.id
        )
    return [
        f"{first}{f' and {len(others)} more' if others else ''}  {ending}"
        for ending, (first, *others) in alike.items()
    ]


def _sweep(runs_dir: str, name: str) -> int:
    from gclbench.launch.state import state_of

    try:
        sweep = find(runs_dir, name)
    except UnknownSweep as error:
        print(f"gclbench status: {error}", file=sys.stderr)
        return 2
    try:
        state = state_of(sweep, Store(runs_dir).scan())
    except StoreError as error:
        print(f"gclbench status: {error.args[1]}", file=sys.stderr)
        return 1
    print(
        f"sweep {sweep.id}  launcher={sweep.launcher} "
        f" {sweep.created}{'  cancelled' if sweep.cancelled else ''}"
    )
    print(f"  {shlex.join(sweep.command)}")
    done = sum(state.counts.values())
    endings = ", ".join(
        f"{state.counts[status]} {status}" for status in STATUSES if state.counts[status]
    )
    print(
        f"  {done} of {state.runs} runs have ended{f': {endings}' if endings else ''};"
        f" {sweep.recorded} were recorded before"
    )
    print(
        f"  {len(state.running)} units running, {state.queued} queued"
        + (f", {state.lost} left undone" if state.lost else "")
    )
    for unit in state.running:
        print(f"    {unit.title}  on {unit.host}  {unit.doing}".rstrip())
    for trouble in _told(state.troubles):
        print(f"    {trouble}")
    if state.silent:
        print(f"  the launcher does not answer, so jobs are counted as queued: {state.silent}")
    if not state.over:
        print(f"  time left: {state.left}")
    elif state.lost:
        logs = {job.log for job in sweep.jobs if job.log}
        print(
            "  nobody works on what is left; the same command goes on with it. Logs:"
            f" {', '.join(sorted(logs)[:4]) or 'none'}"
        )
    return 1 if state.troubles or state.lost else 0
