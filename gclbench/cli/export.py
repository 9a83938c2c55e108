"""`gclbench export`: records as a table, or packed for committing or sharing."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.cli.parser import Parser, output_file, unwritable_output
from gclbench.machine import messages
from gclbench.records import Record, deliver, pack

if TYPE_CHECKING:
    from gclbench.paper.sources import Collection

FORMATS = ("csv", "parquet", "jsonl")

EXAMPLES = """examples:
  gclbench export --output runs.csv                        a row per run, of the records of runs/
  gclbench export --runs results runs --output runs.parquet
  gclbench export --format csv | head                      to standard output
  gclbench export --to results                             packed, with loss curves, as a store
  gclbench export --runs runs /scratch/runs --to results

One of --output, --format and --to has to be given; --to stands alone.

A table has a row per run, also for runs that are not ok. Its columns: id dataset filter method
negatives task seed protocol status reason, metric.NAME (fractions, not percent), seconds.PHASE,
memory.KIND (bytes), every setting as on the command line (method.lr), versions.KIND dataset_hash
split.hash, device precision fast_products threads instructions commit created command. In a CSV no
value is an empty cell, and settings that are lists are JSON (docs/records.md).

Packed records are a line per run in FOLDER/<method>/<dataset>.jsonl. Tables, figures, compare,
report and show read FOLDER with --runs. What is in it already is kept. A run that is exported again
replaces its line, but not where that line is ok and the run is not, nor where the line has data
that the run lacks (method.course=, criterion=). Interrupted runs are not packed.
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when records were written, 2 for a command that is wrong or a place that cannot
    be written."""
    parser = Parser(
        "export",
        "Writes records as a table (--output, or --format to standard output), or packs them into a"
        " folder for committing or sharing (--to).",
        EXAMPLES,
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="folders of records (default: runs)",
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where the packed files go")
    parser.add_argument(
        "--output",
        type=output_file,
        metavar="FILE",
        help="where the table goes: FILE.csv, FILE.parquet or FILE.jsonl",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="of the table (default: by the suffix of FILE)"
    )
    options = parser.parse_args(argv)
    messages.set_up()
    table = options.output is not None or options.format is not None
    if table == (options.to is not None):
        return _wrong(
            "say either --output FILE.csv (or .parquet, .jsonl) for a table, or --to FOLDER for"
            " packed records"
        )
    form = options.format or (options.output.suffix[1:] if table else "")
    if table and form not in FORMATS:
        return _wrong(
            f"{options.output} has none of the suffixes .{', .'.join(FORMATS)};"
            f" say --format {'|'.join(FORMATS)}"
        )
    if form == "parquet" and options.output is None:
        return _wrong("Parquet is no text to print; say --output FILE.parquet")

    from gclbench.paper.sources import MissingStore, collect

    folders = options.runs or ["runs"]
    try:
        collection = collect(folders)
    except MissingStore as error:
        return _wrong(str(error))
    if not collection.records:
        return _wrong(
            f"there is no record in {', '.join(folders)}; name folders of records with --runs"
        )
    if table:
        return _table(collection, options.output, form)
    return _packed(collection, options.to)


def _table(collection: Collection, output: Path | None, form: str) -> int:
    from gclbench.records import rows

    try:
        if form == "parquet":
            content = rows.as_parquet(collection.records)
        else:
            text = (
                rows.as_csv(collection.records)
                if form == "csv"
                else rows.as_jsonl(collection.records)
            )
            content = text.encode("utf-8", "backslashreplace")
    except rows.ParquetMissing as error:
        return _wrong(str(error))
    if output is None:
        sys.stdout.write(content.decode())
        return 0
    try:
        made = deliver(output, content)
    except OSError as error:
        return _wrong(unwritable_output(output, error))
    bad = sum(not record.ok for record in collection.records)
    troubles = f", {bad} not ok" if bad else ""
    print(f"{output}  {messages.counted(len(collection.records), 'run')}{troubles}{made}")
    return 0


def _packed(collection: Collection, folder: Path) -> int:
    # An interrupted run has no outcome: who repeats the command runs it again.
    records = tuple(record for record in collection.records if record.status != "interrupted")
    left_out = len(collection.records) - len(records)
    if not records:
        stores = " ".join(map(shlex.quote, collection.stores))
        return _wrong(
            f"every run of {', '.join(collection.stores)} was interrupted ({left_out}); repeat the"
            f" commands that made them, `gclbench export --runs {stores} --output FILE.csv` lists"
            " them"
        )
    try:
        written, stayed = pack(records, folder)
    except ValueError as error:
        return _wrong(
            f"a packed file under {folder} is damaged: {error}; repair or remove it first"
        )
    except OSError as error:
        return _wrong(
            f"cannot write under {folder}: {error.strerror or error}; choose another --to"
        )
    taken = tuple(record for record in records if record.id not in stayed)
    for path in written:
        print(f"{path}  {_contents(taken, path)}")
    said = f"; {left_out} interrupted left out" if left_out else ""
    if stayed:
        said += f"; {len(stayed)} left out: what is there is ok, or has data that these lack"
    files = messages.counted(len(written), "file")
    print(
        f"{messages.counted(len(taken), 'record')} of {', '.join(collection.stores)} in"
        f" {files}{said}"
    )
    return 0


def _wrong(text: str) -> int:
    print(f"gclbench export: {text}", file=sys.stderr)
    return 2


def _contents(records: tuple[Record, ...], path: Path) -> str:
    """How many of the records went into a packed file, and how many of them are not ok."""
    here = [
        record
        for record in records
        if (record.name("method"), record.name("dataset")) == (path.parent.name, path.stem)
    ]
    bad = sum(not record.ok for record in here)
    return messages.counted(len(here), "run") + (f", {bad} not ok" if bad else "")
