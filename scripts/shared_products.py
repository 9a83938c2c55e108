"""Shows that ProGCL's results are the same whether or not its two directions share their products.

Both directions of the loss need e^{θ_ij/τ}, each with weights of its own. Computed once for both,
the sums come in another order, and the last bits of a loss differ. So each seed is trained both
ways, and the test accuracies are compared: two one-sided paired t-tests (TOST), as in
`equivalence.py`, and the processor seconds of the trainings.

    python scripts/shared_products.py --datasets cora --output results/bench/shared_products.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from equivalence import LEVEL, MARGIN, paired_tost

from gclbench.config.validation import experiment_of
from gclbench.launch.execution import execute
from gclbench.machine.environment import device_name, versions
from gclbench.negatives.progcl import WeightedNegatives


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Within the block each direction makes its own products."""
    with mock.patch.object(WeightedNegatives, "_matrices", lambda self, pair: None):
        yield


def trained(dataset: str, seed: int, folder: str) -> tuple[float, float]:
    """Test accuracy and seconds of a training of ProGCL."""
    words = ["method=progcl", f"dataset={dataset}", "task=classification", f"seeds=[{seed}]"]
    (record,) = execute(experiment_of([*words, "device=cpu", "threads=1", f"runs_dir={folder}"]))
    if not record.ok:
        raise SystemExit(f"{dataset}, seed {seed}: {record.status}: {record.reason}")
    return record.metrics["accuracy"], record.seconds["fit"]


def row(dataset: str, seeds: int) -> dict[str, Any]:
    """A dataset both ways, seed by seed in turn."""
    found: dict[str, list[tuple[float, float]]] = {"shared": [], "apart": []}
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            found["shared"].append(trained(dataset, seed, f"{folder}/shared"))
            with apart():
                found["apart"].append(trained(dataset, seed, f"{folder}/apart"))
    accuracies = {name: [one[0] for one in rows] for name, rows in found.items()}
    seconds = {name: [one[1] for one in rows] for name, rows in found.items()}
    differences = [a - b for a, b in zip(accuracies["shared"], accuracies["apart"], strict=True)]
    p = paired_tost(differences, MARGIN)
    return {
        "dataset": dataset,
        "seeds": seeds,
        "accuracy": accuracies,
        "mean_difference": statistics.fmean(differences),
        "std_of_differences": statistics.stdev(differences) if seeds > 1 else 0.0,
        "p_tost": p,
        "equivalent": p < LEVEL,
        "seconds": seconds,
        "share_of_time": sum(seconds["shared"]) / sum(seconds["apart"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["cora"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    facts: dict[str, Any] = {
        "benchmark": "shared_products",
        "device": device_name("cpu"),
        "margin": MARGIN,
        "load_average": round(os.getloadavg()[0], 2),
        "environment": versions(),
        "rows": [],
    }
    for dataset in options.datasets:
        found = row(dataset, options.seeds)
        facts["rows"].append(found)
        print(
            f"{dataset}: {100 * found['mean_difference']:+.2f} points, p(TOST)"
            f" {found['p_tost']:.3f}, {found['share_of_time']:.2f} of the time",
            flush=True,
        )
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
