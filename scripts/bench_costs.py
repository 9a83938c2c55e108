"""Trains for one epoch and for three what the papers' tables lack and no record says the time of.

Each is a `gclbench` command with an empty store, one at a time. results/costs.md, which
make_results.py writes, says from it what the missing runs would take. One epoch is enough where it
takes over two minutes, unless --enough says otherwise: what a training does once, such as SDCN's
pre-training, counts for each epoch then. What is in the file already stays.

    python scripts/bench_costs.py [--on DATASET] [--methods NAME …] [--limit SECONDS]
        [--enough SECONDS] [--memory GIB] [--again]
        [--output results/bench/costs.json]

With --on and --methods: of these methods on that dataset, whatever the tables lack. A NAME may be a
method with settings in quotes, as in 'dgi method.propagation=diffusion'.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gclbench.component.registry import DATASETS, METHODS
from gclbench.config.composition import items_of_dataset
from gclbench.machine.environment import device_name, versions
from gclbench.paper.comparison import compare
from gclbench.paper.costs import (
    PROBES,
    FirstEpochs,
    MethodOnDataset,
    a_seed,
    durations,
    epochs_of,
    lacking,
    method_of,
    read_probes,
    versions_of,
)
from gclbench.paper.sources import collect
from gclbench.paper.tables import TABLES
from gclbench.records import Record, Store
from gclbench.records.atomic import write_atomically

ENOUGH = 120.0
"""Seconds of one epoch above which three are not tried, by default."""

EVALUATED = (
    "clustering",
    "classification",
    "graph_classification",
    "similarity",
    "link_prediction",
    "contrast",
    "graph_clustering",
)
"""The first of these that a table asks for is evaluated."""


def unknown() -> dict[MethodOnDataset, str]:
    """Method and dataset of what is lacking and has no known time, and a task of it."""
    records = collect(["results/records"])
    recorded = durations(records.records)
    found = lacking([compare(definition, records) for definition in TABLES.values()])
    return {
        pair: next(task for task in EVALUATED if task in there.tasks)
        for pair, there in found.items()
        if a_seed(pair, recorded, {})[0] is None
    }


def on_graphs(dataset: str | None) -> bool:
    """Whether a dataset's items are graphs; an unknown name is told with the others."""
    return dataset in DATASETS.entries and items_of_dataset(str(dataset)) == "graphs"


def run(
    pair: MethodOnDataset, task: str, epochs: int | None, limits: Sequence[str]
) -> tuple[Record | None, str]:
    """The record of a training, None with the last line of what was said where there is none."""
    words = f"method={pair[0]} dataset={pair[1]} task={task} seeds=1 threads=1".split()
    words += [] if epochs is None else [f"method.epochs={epochs}"]
    words += limits
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "gclbench",
                *words,
                f"runs_dir={folder}",
            ],
            capture_output=True,
            text=True,
        )
        for record in Store(folder).scan():
            return record, ""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return None, said[-1] if said else f"exit code {done.returncode}"


def probe(
    pair: MethodOnDataset, task: str, limits: Sequence[str], enough: float = ENOUGH
) -> FirstEpochs:
    """One epoch, and three where one takes less than `enough` seconds."""
    has_epochs = epochs_of((method_of(pair[0]), pair[1])) is not None
    record, said = run(pair, task, 1 if has_epochs else None, limits)
    if record is None:
        return FirstEpochs("failed", said, None, None, None)
    first = record.seconds.get("fit") if record.ok else None
    memory = record.memory.get("rss_peak")
    third = None
    if has_epochs and first is not None and first < enough:
        longer, _ = run(pair, task, 3, limits)
        if longer is not None and longer.ok:
            third = longer.seconds.get("fit")
            memory = max(memory or 0, longer.memory.get("rss_peak", 0))
    return FirstEpochs(record.status, record.reason, first, third, memory)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", metavar="DATASET")
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--task", choices=EVALUATED, help="default: classification of its items")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds of a run")
    parser.add_argument(
        "--enough", type=float, default=ENOUGH, help="seconds of one epoch above which it is enough"
    )
    parser.add_argument("--memory", type=float, default=12.0, help="GiB of a run")
    parser.add_argument("--again", action="store_true", help="also what is in the file")
    parser.add_argument("--output", type=Path, default=PROBES)
    options = parser.parse_args()
    if bool(options.on) != bool(options.methods):
        parser.error("--on DATASET and --methods NAME … go together")
    usual = "graph_classification" if on_graphs(options.on) else "classification"
    asked = (
        {(method, options.on): options.task or usual for method in options.methods}
        if options.on
        else unknown()
    )
    for kind, names in ((METHODS, options.methods), (DATASETS, [options.on] if options.on else [])):
        for name in names:
            kind.check(method_of(name))
    limits = [f"time_limit={options.limit:g}", f"memory_limit={options.memory:g}"]
    found = read_probes(options.output)
    rows = json.loads(options.output.read_text())["rows"] if options.output.is_file() else []
    said = {(row["method"], row["dataset"]): row for row in rows}
    for pair, task in asked.items():
        if pair in found and not options.again:
            continue
        found[pair] = probe(pair, task, limits, options.enough)
        print(*pair, asdict(found[pair]), flush=True)
        said[pair] = {
            "method": pair[0],
            "dataset": pair[1],
            **asdict(found[pair]),
            "components": versions_of(method_of(pair[0])),
            "device": device_name("cpu"),
            "threads": 1,
            "load": os.getloadavg()[0],
            "versions": versions(),
        }
        content = json.dumps({"rows": [said[key] for key in sorted(said)]}, indent=1)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(options.output, content.encode() + b"\n")


if __name__ == "__main__":
    main()
