"""Times what gclbench adds to runs, and how a large sweep is expanded and checked:
results/bench/runner.json.

python scripts/bench_runner.py [--datasets cora] [--runs 10000] [--output results/bench/runner.json]

The runner's own cost is the wall-clock of a command (after Python's imports) less what its records
say was spent on loading, splitting, filtering, fitting and evaluating; it is compared with that
sum. On a machine that others use too, the processor's seconds say more than the clock's.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench_facts

from gclbench.cli import main as gclbench
from gclbench.config.overrides import sweep
from gclbench.config.validation import experiment_of
from gclbench.launch.plan import content_hash, expand
from gclbench.launch.specification import specification
from gclbench.machine.environment import versions
from gclbench.records import Record, Store, digest
from gclbench.run import datasets

ROOT = Path(__file__).resolve().parent.parent
METHODS = ("dmat_i", "dmt", "dmat", "kmeans", "deepwalk")
DATASETS = ("cora", "acm", "citeseer", "digits", "sbm")
TASKS = ("clustering", "classification")


def command_cost(dataset: str, seeds: int, folder: Path) -> dict[str, float]:
    """Wall-clock of `gclbench method=dmat_i`, all tasks, and how much of it is the runner's own,
    per run."""
    datasets.load.cache_clear()
    store = folder / f"runs-{dataset}"
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = gclbench(
            [
                "method=dmat_i",
                f"dataset={dataset}",
                "device=cpu",
                f"seeds={seeds}",
                f"runs_dir={store}",
            ]
        )
    wall = time.perf_counter() - started
    records = list(Store(store).scan())
    if code or not records:
        raise SystemExit(f"the runs on {dataset} are not all ok")
    load_seconds = max(record.seconds["load"] for record in records)
    spent = load_seconds
    trainings = set()
    for record in records:
        training = (record.seed, record.fit["loss"])
        phases = {phase: value for phase, value in record.seconds.items() if phase != "load"}
        spent += phases.pop("evaluate")
        if training not in trainings:
            spent += sum(phases.values())
        trainings.add(training)
    own = wall - spent
    return {
        "runs": len(records),
        "wall_seconds": round(wall, 3),
        "work_seconds": round(spent, 3),
        "own_seconds": round(own, 3),
        "own_seconds_per_run": round(own / len(records), 4),
        "own_share": round(own / wall, 4),
    }


def expansion(runs: int, folder: Path) -> list[dict[str, Any]]:
    """Seconds to compose, expand and check a sweep: with nothing, half or all of it recorded."""
    seeds = -(-runs // (len(METHODS) * len(DATASETS) * len(TASKS)))
    command = [
        f"method={','.join(METHODS)}",
        f"dataset={','.join(DATASETS)}",
        f"task=[{','.join(TASKS)}]",
        f"seeds={seeds}",
        "device=cpu",
    ]
    found = []
    for part in ("none", "half", "all"):
        store = Store(folder / "large")
        # A command is a process of its own: nothing composed or loaded before counts. Only
        # libraries are there.
        _forget()
        processor = time.process_time()
        times = {"start": time.perf_counter()}
        experiments = [experiment_of(one) for one in sweep(command)]
        times["composed"] = time.perf_counter()
        for experiment in experiments:
            content_hash(experiment.components.dataset)
        times["datasets loaded"] = time.perf_counter()
        batch = expand(experiments, store)
        times["expanded and checked"] = time.perf_counter()
        steps = list(times)
        found.append(
            {
                "recorded": len(batch.done),
                "runs": len(batch.ids),
                "experiments": len(experiments),
                "seconds": {
                    after: round(times[after] - times[before], 3)
                    for before, after in zip(steps, steps[1:], strict=False)
                },
                "seconds_in_all": round(times[steps[-1]] - times["start"], 3),
                "processor_seconds": round(time.process_time() - processor, 3),
            }
        )
        if part != "all":
            _record(experiments, store, half=part == "none")
    return found


def _forget() -> None:
    from gclbench.component import declared
    from gclbench.config import composition, overrides

    for cache in (composition._read_once, declared.in_source, declared._names, overrides._parsed):
        cache.cache_clear()
    datasets.load.cache_clear()


def _record(experiments: list[Any], store: Store, half: bool) -> None:
    """Records, with a loss curve as trainings leave it, for every second run or for all."""
    fit = {
        "iterations": 300,
        "loss": 1.0,
        "curve": [[step, 1.0 / step] for step in range(3, 301, 3)],
    }
    for experiment in experiments:
        dataset_hash = content_hash(experiment.components.dataset)
        for task in experiment.components.tasks:
            plain = asdict(specification(experiment, task, 0, dataset_hash))
            for seed in experiment.seeds:
                if half and seed % 2:
                    continue
                spec = {**plain, "seed": seed}
                record = Record(
                    digest(spec)[:16], spec, "ok", {"acc": 0.5}, fit=fit, environment=versions()
                )
                path = store.path(record.id)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(
                    record.to_json() + "\n", encoding="utf-8"
                )  # not flushed to disk one by one: not what is timed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["cora"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--output", type=Path, default=ROOT / "results/bench/runner.json")
    options = parser.parse_args()
    facts = bench_facts.begun("bench_runner")
    with tempfile.TemporaryDirectory() as folder:
        experiment_of([])
        facts["expansion"] = expansion(options.runs, Path(folder))
        command_cost("sbm", 1, Path(folder))  # libraries are loaded at their first use
        facts["own_cost"] = {
            name: command_cost(name, options.seeds, Path(folder)) for name in options.datasets
        }
    bench_facts.write(options.output, facts)
    shown = ("expansion", "own_cost", "load_before", "load_after")
    print(json.dumps({key: facts[key] for key in shown}, indent=2))


if __name__ == "__main__":
    main()
