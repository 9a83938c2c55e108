"""`gclbench status`: what a store of records holds."""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from pathlib import Path

from gclbench.records import STATUSES, Store

EXAMPLES = """examples:
  gclbench status                  the store in runs/
  gclbench status results runs     several stores
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="gclbench status", description="Counts records.", epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", nargs="*", default=["runs"], help="folders of records (default: runs)")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    missing = [folder for folder in options.stores if not Path(folder).is_dir()]
    if missing:
        print(
            f"gclbench status: there is no folder {', '.join(missing)}; runs are recorded in runs_dir (default: runs)",
            file=sys.stderr,
        )
        return 2
    groups: dict[tuple[str, str, str], Counter[str]] = {}
    troubles = []
    for folder in options.stores:
        for record in Store(folder).scan():
            key = (record.name("method"), record.name("dataset"), record.name("task"))
            groups.setdefault(key, Counter())[record.status] += 1
            if not record.ok:
                troubles.append(record)
    for (method, dataset, task), counts in sorted(groups.items()):
        found = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        print(f"{method:<14}{dataset:<18}{task:<18}{found}")
    for record in troubles:
        print(f"{record.id}  {record.status}: {record.reason}")
    total = sum(sum(counts.values()) for counts in groups.values())
    print(f"{total} runs, {len(troubles)} not ok")
    return 1 if troubles else 0
