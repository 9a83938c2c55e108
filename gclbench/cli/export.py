"""`gclbench export`: pack records for committing or sharing."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from gclbench.records import Record, pack

EXAMPLES = """examples:
  gclbench export --to results                     the records of runs/
  gclbench export --runs runs /scratch/runs --to results
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when records were written, 2 for a command that is wrong or a folder that cannot be written."""
    parser = argparse.ArgumentParser(
        prog="gclbench export",
        description="Packs records as FOLDER/<method>/<dataset>.jsonl, one line per run. What is there already is kept; "
        "a run that is exported again replaces its line. FOLDER can be read wherever a store of records can.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", nargs="+", action="extend", metavar="DIR", help="folders of records (default: runs)")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="where the packed files go")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)

    from gclbench.paper.sources import MissingStore, collect

    folders = options.runs or ["runs"]
    try:
        records = collect(folders).records
    except MissingStore as error:
        print(f"gclbench export: {error}", file=sys.stderr)
        return 2
    if not records:
        print(f"gclbench export: there is no record in {', '.join(folders)}; name folders of records with --runs", file=sys.stderr)
        return 2
    try:
        written = pack(records, options.to)
    except ValueError as error:
        print(f"gclbench export: a packed file under {options.to} is damaged: {error}; repair or remove it first", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gclbench export: cannot write under {options.to}: {error.strerror or error}; choose another --to", file=sys.stderr)
        return 2
    for path in written:
        print(f"{path}  {_contents(records, path)}")
    print(f"{len(records)} records of {', '.join(folders)} in {len(written)} files")
    return 0


def _contents(records: tuple[Record, ...], path: Path) -> str:
    """How many of the records went into a packed file, and how many of them are not ok."""
    here = [record for record in records if (record.name("method"), record.name("dataset")) == (path.parent.name, path.stem)]
    bad = sum(not record.ok for record in here)
    return f"{len(here)} runs" + (f", {bad} not ok" if bad else "")
