"""Times a sweep in worker processes against the same sweep in one process, and compares the bits.

Each sweep is a command of its own with an empty store, as a user types it. The two take turns. A
machine that others use slows both; the load average stands beside the result. The processor seconds
hardly depend on it: shared out over the workers, they say what an idle machine would take. A bare
loop of products, alone and in two processes at once, says what two cores give there and then.

    python scripts/bench_workers.py [--seeds 10] [--epochs 20] [--rounds 1] [--workers 2]
        [--output results/bench/workers.json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_facts

from gclbench.records import Store

BARE = """
import time, torch
torch.set_num_threads(1)
x = torch.ones(512, 512)
started = time.perf_counter()
for _ in range(400):
    x @ x
print(time.perf_counter() - started)
"""


def used() -> float:
    """Processor seconds of the commands so far, their workers included."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def sweep(workers: int, seeds: int, epochs: int, folder: Path) -> tuple[float, float]:
    """Seconds of the command, by the clock and of processors."""
    command = [
        *(sys.executable, "-m", "gclbench", "method=grace", "dataset=cora"),
        *(f"method.epochs={epochs}", f"seeds={seeds}", "task=classification", "device=cpu"),
        *(f"launcher.workers={workers}", f"runs_dir={folder}"),
    ]
    started, before = time.perf_counter(), used()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return time.perf_counter() - started, used() - before


def numbers(folder: Path) -> dict[str, tuple[object, ...]]:
    """Run id to what must not depend on workers."""
    return {
        record.id: (record.metrics, record.fit["loss"], record.environment["threads"])
        for record in Store(folder).scan()
    }


def bare(processes: int) -> float:
    """Seconds of a loop of products in so many processes at once, their mean."""
    running = [
        subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    return statistics.fmean(float(process.communicate()[0]) for process in running)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    times: dict[int, list[tuple[float, float]]] = {1: [], options.workers: []}
    begun = bench_facts.begun("bench_workers")
    same, load = True, [os.getloadavg()[0]]
    for _ in range(options.rounds):
        found = []
        for workers, taken in times.items():
            with tempfile.TemporaryDirectory() as folder:
                taken.append(sweep(workers, options.seeds, options.epochs, Path(folder)))
                found.append(numbers(Path(folder)))
            load.append(os.getloadavg()[0])
        same = same and found[0] == found[1] and len(found[0]) == options.seeds
    alone, together = bare(1), bare(options.workers)
    one, several = (
        [statistics.median(column) for column in zip(*taken, strict=True)]
        for taken in times.values()
    )
    facts = {
        **begun,
        "what": f"grace on cora, {options.seeds} seeds of {options.epochs} epochs",
        "workers": options.workers,
        "seconds_and_processor_seconds": {str(key): taken for key, taken in times.items()},
        "share_of_the_time_of_one": several[0] / one[0],
        "share_by_processor_seconds": several[1] / one[1] / options.workers,
        "same_bits": same,
        "bare_products_alone_seconds": alone,
        "bare_products_at_once_seconds": together,
        "share_that_bare_products_would_take": together / alone / options.workers,
        "load_averages": [round(value, 2) for value in load],
    }
    bench_facts.write(options.output, facts)
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
