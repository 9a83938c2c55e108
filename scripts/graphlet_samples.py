"""From how many samples graphlet kernels of two seeds agree (docs/choices.md).

100 samples of a graph, then twice as many, and so on, until the kernels of five seeds correlate as
asked off the diagonal, as the mean over the pairs of seeds. No label is read.

    python scripts/graphlet_samples.py [--dataset mutag] [--asked 0.99] [--most 6400]
        [--output results/bench/graphlet_samples.json]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import bench_facts
import numpy as np
import torch

from gclbench.config.validation import experiment_of
from gclbench.methods.graph_kernel import GraphKernel
from gclbench.training.streams import Streams

SEEDS = 5
FIRST = 100


def agreement(graph: Any, samples: int) -> dict[str, Any]:
    """The mean and the least correlation of two seeds, and CPU seconds of one."""
    upper = np.triu_indices(graph.items, 1)
    method, begun = GraphKernel(kernel="graphlet", samples=samples), time.process_time()
    kernels = [method.matrix(graph, Streams(seed))[upper] for seed in range(SEEDS)]
    seconds = (time.process_time() - begun) / SEEDS
    pairs = np.corrcoef(kernels)[np.triu_indices(SEEDS, 1)]
    return {
        "samples": samples,
        "mean": float(pairs.mean()),
        "least": float(pairs.min()),
        "cpu_seconds": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="mutag")
    parser.add_argument("--asked", type=float, default=0.99)
    parser.add_argument("--most", type=int, default=6400, help="samples of a graph")
    parser.add_argument("--output", type=Path, default=Path("results/bench/graphlet_samples.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    words = [f"dataset={options.dataset}", "method=graph_kernel", "task=graph_classification"]
    graph = experiment_of(words).components.dataset.load()
    if graph.item_kind != "graphs":
        parser.error(f"--dataset {options.dataset} is a single graph; name a collection, mutag")
    begun, rows = bench_facts.begun("graphlet_samples", threads=1), []
    samples = FIRST
    while samples <= options.most and not (rows and rows[-1]["mean"] >= options.asked):
        rows.append(agreement(graph, samples))
        print(rows[-1], flush=True)
        samples *= 2
    content = {
        **begun,
        "dataset": options.dataset,
        "asked": options.asked,
        "seeds": SEEDS,
        "rows": rows,
    }
    bench_facts.write(options.output, content)


if __name__ == "__main__":
    main()
