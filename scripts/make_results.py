"""Regenerates everything under results/ that is made from records, or checks that it is as committed.

python scripts/make_results.py            writes results/tables/
python scripts/make_results.py --check    exits 1 when a file differs from what the records give
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from gclbench.cli import table
from gclbench.paper.tables import TABLES

RESULTS = Path(__file__).resolve().parent.parent / "results"
RECORDS = RESULTS / "records"


def make(folder: Path) -> list[Path]:
    """Writes every table as Markdown and CSV into `folder`."""
    made = []
    for name in TABLES:
        for suffix in (".md", ".csv"):
            path = folder / (name.replace("/", "-") + suffix)
            code = table.main([name, "--runs", str(RECORDS.relative_to(Path.cwd())), "--output", str(path)])
            if code:
                sys.exit(code)
            made.append(path)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    committed = RESULTS / "tables"
    if not options.check:
        committed.mkdir(parents=True, exist_ok=True)
        make(committed)
        return
    with tempfile.TemporaryDirectory() as folder:
        stale = [
            path.name
            for path in make(Path(folder))
            if not (committed / path.name).exists() or path.read_bytes() != (committed / path.name).read_bytes()
        ]
    if stale:
        sys.exit(f"results/tables differ from the records: {', '.join(stale)}; run python scripts/make_results.py")
    print(f"{len(TABLES)} tables are those of the committed records")


if __name__ == "__main__":
    main()
