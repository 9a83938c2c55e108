"""Times a table from ten thousand records, one file per run and packed: results/bench/tables.json.

python scripts/bench_tables.py [--records 10000] [--table dmat/1] [--output
results/bench/tables.json]

The records are made in a temporary folder after the committed ones, loss curves included: ten seeds
of every setting, then, for DMT, DMAT and DMAT-i, of a sweep over learning rates, and for the others
of methods of other names. Every figure is of a process of its own, the best of several, with the
machine's load beside it; on a machine that others use too, the processor's seconds say more than
the clock's. The floor is what reading the bytes and parsing the JSON takes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_facts

from gclbench.records import Record, Store, digest, pack

ROOT = Path(__file__).resolve().parent.parent
SEEDS = 10

PARTS = """
import json, sys, time
start = time.perf_counter()
from gclbench.paper.comparison import compare
from gclbench.paper.render import markdown
from gclbench.paper.sources import collect
from gclbench.paper.tables import TABLES
steps = {"import": time.perf_counter()}
collection = collect([sys.argv[1]])
steps["read"] = time.perf_counter()
comparison = compare(TABLES[sys.argv[2]], collection)
steps["compare"] = time.perf_counter()
text = markdown(comparison)
steps["render"] = time.perf_counter()
seconds = {}
for name, moment in steps.items():
    seconds[name], start = round(moment - start, 3), moment
counts = {"records": len(collection.records), "in_the_table": len(comparison.records)}
print(json.dumps({"seconds": seconds, **counts}))
"""
COMMAND = "import sys; from gclbench.cli import main; sys.exit(main(sys.argv[1:]))"
FLOOR = """
import json, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            for line in file:
                json.loads(line)
"""
NOTHING = "import gclbench.cli"


def make(count: int, folder: Path) -> dict[str, int]:
    """Fills `<folder>/single` and `<folder>/packed`."""
    models = list(Store(ROOT / "results/records").scan())
    seen: Counter[str] = Counter()
    made: list[Record] = []
    for model in itertools.islice(itertools.cycle(models), count):
        settings = digest({key: value for key, value in model.spec.items() if key != "seed"})
        variant, seed = divmod(seen[settings], SEEDS)
        seen[settings] += 1
        method = dict(model.spec["method"])
        if variant and "lr" in method and str(method["name"]).startswith("dm"):
            method["lr"] *= 1 + variant
        elif variant:
            method["name"] = f"{method['name']}_{variant}"
        spec = {**model.spec, "method": method, "seed": seed}
        made.append(replace(model, id=digest(spec)[:16], spec=spec))
    size = 0
    for record in made:
        path = folder / "single" / record.id / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            record.to_json() + "\n", encoding="utf-8"
        )  # not flushed to disk one by one: not what is timed
        size += path.stat().st_size
    files = pack(made, folder / "packed")
    return {
        "records": len({record.id for record in made}),
        "bytes": size,
        "packed_files": len(files),
    }


def timed(code: str, arguments: list[str], repeats: int) -> dict[str, Any]:
    """Wall-clock and processor seconds of a Python process: the best of several, and what it
    printed then."""
    best: dict[str, Any] = {}
    for _ in range(repeats):
        load = round(os.getloadavg()[0], 2)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
        )
        wall = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if not best or wall < best["wall_seconds"]:
            best = {
                "wall_seconds": round(wall, 3),
                "processor_seconds": round(processor, 3),
                "load_average": load,
                "out": done.stdout,
            }
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--table", default="dmat/1")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=ROOT / "results/bench/tables.json")
    options = parser.parse_args()
    facts = {**bench_facts.begun("bench_tables"), "table": options.table}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        facts["made"] = make(options.records, folder)
        empty = timed(NOTHING, [], options.repeats)
        facts["start_of_gclbench"] = {key: empty[key] for key in empty if key != "out"}
        for kind in ("single", "packed"):
            store = str(folder / kind)
            found = {}
            for what, code, arguments in (
                ("floor", FLOOR, [store]),
                ("command", COMMAND, ["table", options.table, "--runs", store]),
                ("parts", PARTS, [store, options.table]),
            ):
                result = timed(code, arguments, options.repeats)
                out = result.pop("out")
                found[what] = {**result, **(json.loads(out) if what == "parts" else {})}
            facts[kind] = found
    bench_facts.write(options.output, facts)
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
