"""Regenerates everything that is made from the committed records: results/tables, results/figures,
results/report.html, results/costs.md, results/gains.md, README's table, and the numbers that prose
quotes (docs/tables.md).

python scripts/make_results.py            writes them, and removes other files from the two folders
python scripts/make_results.py --check    exits 1 when one differs from what the records give, or
                                          should not be there, a number of a linted page is
                                          typed, or a row below print is quoted in no note
python scripts/make_results.py --prose [PAGE …]    prose only, a few seconds; with --check too
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gclbench.paper import baseline_seeds, costs, figures, matrix, report, summary, training_gains
from gclbench.paper.comparison import compare
from gclbench.paper.metrics import find_metric
from gclbench.paper.misses import unlisted, untold
from gclbench.paper.place import Places
from gclbench.paper.prose import references, rewritten
from gclbench.paper.quotation import quoted
from gclbench.paper.render import as_csv, latex, markdown
from gclbench.paper.sources import Collection, collect
from gclbench.paper.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
RECORDS = "results/records"
MADE = (Path("results/tables"), Path("results/figures"))
"""Folders that hold nothing else."""

COSTS = Path("results/costs.md")
GAINS = Path("results/gains.md")

NOTES = ("results/NOTES.md", "results/calibration.md", "results/notes/*.md")
"""Pages that say what was missed."""
LINTED = (*NOTES, "docs/choices.md", "docs/sources.md")
QUOTING = ("README.md", "docs/*.md")
"""Pages whose numbers all have a source; of the others only references are looked at."""

README_DATASETS = ("acm", "dblp", "cora", "citeseer")
README_METRICS = ("acc", "nmi", "ari")
README_FIGURE = "dmat/5"
MARKERS = ("<!-- table -->\n", "<!-- /table -->")


Told = list[tuple[str, bool]]
"""Sentences on what is wrong in prose, and whether writing mends it."""


def made(records: Collection) -> tuple[dict[Path, bytes], Told]:
    """Path (from the repository's root) to content of every generated file, and what is wrong in
    prose."""
    files: dict[Path, str | bytes] = {}
    comparisons = [compare(definition, records) for definition in TABLES.values()]
    tables = {comparison.definition.id.replace("/", "-"): comparison for comparison in comparisons}
    tables |= {
        "matrix": compare(matrix.table(), records),
        "matrix-graphs": compare(matrix.table(matrix.COLLECTIONS_SHOWN), records),
    }
    for name, comparison in tables.items():
        stem = MADE[0] / name
        for suffix, write in ((".md", markdown), (".csv", as_csv), (".tex", latex)):
            files[stem.with_suffix(suffix)] = write(comparison)
    files[MADE[0] / "summary.md"] = summary.markdown(summary.summary(comparisons))
    files[GAINS] = training_gains.page(comparisons)
    probes = costs.read_probes()
    files[COSTS] = "\n".join(
        [
            costs.page(comparisons, records, probes),
            baseline_seeds.section(records.records, probes),
        ]
    )
    files |= {MADE[1] / name: content for name, content in figures.files(records).items()}
    files[Path("results/report.html")] = report.page(records)
    before, _, rest = Path("README.md").read_text(encoding="utf-8").partition(MARKERS[0])
    _, _, after = rest.partition(MARKERS[1])
    files[Path("README.md")] = before + MARKERS[0] + readme_block(records) + MARKERS[1] + after
    places = Places(records, Path("results"), comparisons)
    pages, told = prose(places, {Path("README.md"): str(files[Path("README.md")])})
    notes = [text for path, text in pages.items() if any(path.match(one) for one in NOTES)]
    quotations = [reference for text in notes for reference in references(text)]
    missed = [*untold(comparisons, quotations), *unlisted(comparisons, pages)]
    told += [(text, False) for text in missed]
    files |= pages
    return {
        path: content.encode() if isinstance(content, str) else content
        for path, content in files.items()
    }, told


def prose(
    places: Places, texts: Mapping[Path, str] | None = None, only: Sequence[str] = ()
) -> tuple[dict[Path, str], Told]:
    """Page to text with the records' numbers, and what was wrong.

    Args:
        texts: of pages that are not as they lie there. only: these pages.
    """
    pages: dict[Path, str] = {}
    told: Told = []
    for pattern in (*LINTED, *QUOTING):
        for path in sorted(Path().glob(pattern)):
            if path in pages or (only and str(path) not in only):
                continue
            text = (texts or {}).get(path) or path.read_text(encoding="utf-8")
            pages[path], findings = rewritten(
                text, lambda reference: quoted(reference, places), lint=pattern in LINTED
            )
            told += [
                (f"{path}:{finding.line}: {finding.text}", finding.mended) for finding in findings
            ]
    return pages, told


def readme_block(records: Collection) -> str:
    """DMAT-i's clustering, ours and the paper's, and a figure."""
    blocks = {block.dataset: block for block in compare(TABLES["dmat/1"], records).blocks}
    lines = [
        "| dataset | "
        + " | ".join(
            f"{find_metric(metric).heading}: ours (n) | paper" for metric in README_METRICS
        )
        + " |",
        "| --- |" + " --- | --- |" * len(README_METRICS),
    ]
    for dataset in README_DATASETS:
        entries = [blocks[dataset].entries[metric, "dmat_i"] for metric in README_METRICS]
        lines.append(
            f"| {dataset} | "
            + " | ".join(f"{entry.show_ours()} | {entry.show_printed()}" for entry in entries)
            + " |"
        )
    figure = figures.FIGURES[README_FIGURE]
    lines += ["", f"![{figure.title}](results/figures/{figures.stem(figure)}.svg)"]
    return "\n".join(lines) + "\n"


def unexpected(files: dict[Path, bytes]) -> list[Path]:
    """Files in the folders of generated ones that are not generated."""
    return [
        path
        for folder in MADE
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path not in files
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--prose", nargs="*", metavar="PAGE", help="prose only, of these pages")
    options = parser.parse_args()
    os.chdir(ROOT)  # the tables name the store by its path
    records = collect([RECORDS])
    if options.prose is None:
        files, told = made(records)
        odd = unexpected(files)
    else:
        pages, told = prose(Places(records, Path("results")), only=options.prose)
        unknown = [name for name in options.prose if Path(name) not in pages]
        if unknown:
            sys.exit(f"{', '.join(unknown)}: no page of {', '.join((*LINTED, *QUOTING))}")
        files, odd = {path: text.encode() for path, text in pages.items()}, []
    wrong = [text for text, mended in told if options.check or not mended]
    if options.check:
        stale = [
            str(path)
            for path, content in files.items()
            if not path.is_file() or path.read_bytes() != content
        ]
        differing = [f"not what the records give: {', '.join(stale)}"] if stale else []
        differing += [f"made by nothing: {', '.join(map(str, odd))}"] if odd else []
        if differing:
            command = " ".join(arg for arg in sys.argv if arg != "--check")
            wrong.append(f"{'; '.join(differing)}; run python {command}")
        if wrong:
            sys.exit("\n".join(wrong))
        print(f"{len(files)} files are those of {RECORDS}")
        return
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for path in odd:
        path.unlink()
    print(f"{len(files)} files written" + (f", removed: {', '.join(map(str, odd))}" if odd else ""))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
