"""`gclbench data fetch|verify|path`."""

from __future__ import annotations

import logging
import sys

from gclbench.cli.parser import Parser
from gclbench.component.declared import declared
from gclbench.component.registry import DATASETS, nearest
from gclbench.data import mirror
from gclbench.data.catalog import CATALOG

EXAMPLES = """examples:
  gclbench data fetch cora citeseer   from GCLBENCH_MIRROR, else from the original addresses
  gclbench data verify                every dataset's files: ok, missing, wrong bytes
  gclbench data path cora             where its files are

A file is checked by its sha256 or by its git blob id. Where none is listed, or none of the original
file, `verify` says `unknown hash` and `fetch` says `unchecked`.

GCLBENCH_DATA is the cache folder. GCLBENCH_MIRROR names one or more folders, which are searched
before the cache, or addresses, which are asked before the original ones. GCLBENCH_OFFLINE=1 opens
no connection.
"""


def main(argv: list[str]) -> int:
    parser = Parser("data", "Raw files of datasets.", EXAMPLES)
    parser.add_argument("action", choices=["fetch", "verify", "path"])
    parser.add_argument(
        "names",
        nargs="*",
        default=[],  # without it argparse says that names are required
        metavar="DATASET",
        help=f"default: all ({', '.join(CATALOG)})",
    )
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    names = options.names or list(CATALOG)
    unknown = [name for name in names if name not in CATALOG]
    for name in unknown:
        guess = nearest(name, list(CATALOG))
        hint = f" Did you mean '{guess}'?" if guess else ""
        what = (
            f"dataset '{name}' has no raw files to fetch."
            if name in DATASETS.entries
            else f"there is no dataset '{name}'."
        )
        print(f"gclbench data: {what}{hint} Known: {', '.join(CATALOG)}", file=sys.stderr)
    if unknown:
        return 2
    failed = 0
    for name in names:
        try:
            failed += not _act(options.action, name)
        except mirror.DataUnavailable as error:
            print(f"gclbench data: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


def _act(action: str, name: str) -> bool:
    if not CATALOG[name].files:
        said = "needs no files"
        if chosen := declared(DATASETS, name).required:
            keys = " and ".join(f"dataset.{key}" for key in sorted(chosen))
            said = f"has no files of its own; a run reads, or fetches, what {keys} says"
        # A script reads paths from standard output.
        print(f"{name}  {said}", file=sys.stderr if action == "path" else sys.stdout)
        return True
    if action == "fetch":
        for located in mirror.fetch(name):
            print(f"{name}  {located}")
        return True
    if action == "path":
        for file, place in mirror.path(name).items():
            print(f"{file}\t{place}")
        return True
    states = mirror.verify(name)
    for state in states:
        print(f"{name}  {state}")
    return all(state.ok for state in states)
