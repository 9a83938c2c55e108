"""Regenerates everything that is made from the committed records: results/tables/ and README's table.

python scripts/make_results.py            writes them
python scripts/make_results.py --check    exits 1 when one differs from what the records give
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gclbench.paper.comparison import compare
from gclbench.paper.render import as_csv, markdown
from gclbench.paper.sources import collect
from gclbench.paper.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
RECORDS = "results/records"
README_DATASETS = ("acm", "dblp", "cora", "citeseer")
README_METRICS = {"acc": "ACC", "nmi": "NMI", "ari": "ARI"}
MARKERS = ("<!-- table -->\n", "<!-- /table -->")


def made() -> dict[Path, str]:
    """Path (from the repository's root) to content of every generated file."""
    records = collect([RECORDS])
    files: dict[Path, str] = {}
    for name, definition in TABLES.items():
        comparison = compare(definition, records)
        stem = Path("results/tables") / name.replace("/", "-")
        files[stem.with_suffix(".md")] = markdown(comparison)
        files[stem.with_suffix(".csv")] = as_csv(comparison)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(MARKERS[0])
    _, _, after = rest.partition(MARKERS[1])
    files[Path("README.md")] = before + MARKERS[0] + readme_table() + MARKERS[1] + after
    return files


def readme_table() -> str:
    """DMAT-i's clustering: ours and, below, the paper's."""
    comparison = compare(TABLES["dmat/1"], collect([RECORDS]))
    blocks = {block.dataset: block for block in comparison.blocks}
    lines = [
        "| dataset | " + " | ".join(f"{title}: ours (n) | paper" for title in README_METRICS.values()) + " |",
        "| --- |" + " --- | --- |" * len(README_METRICS),
    ]
    for dataset in README_DATASETS:
        entries = [blocks[dataset].entries[metric, "dmat_i"] for metric in README_METRICS]
        lines.append(f"| {dataset} | " + " | ".join(f"{entry.show_ours()} | {entry.show_printed()}" for entry in entries) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    os.chdir(ROOT)  # the tables name the store by its path
    stale = []
    for path, content in made().items():
        if options.check:
            if not path.exists() or path.read_text(encoding="utf-8") != content:
                stale.append(str(path))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    if stale:
        sys.exit(f"not what the records give: {', '.join(stale)}; run python scripts/make_results.py")
    print(f"{len(TABLES)} tables and README's are those of {RECORDS}" if options.check else "written")


if __name__ == "__main__":
    main()
