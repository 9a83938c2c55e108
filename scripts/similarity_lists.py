"""Writes the triplets of task=similarity: which graphs and nodes, and which edges are substituted.

    python scripts/similarity_lists.py --seeds 5 --to similarity_lists

A file for each seed, `coil_del_seed_0.npz`. For pieces of 10 nodes it has `n10_graph` (T), the
graph of each triplet; `n10_nodes` (T×10), its nodes in the collection; `n10_near` (T×2×1×2) and
`n10_far` (T×2×2×2), the pairs taken away and the pairs joined. The hash that is printed is the one
in the records of runs on the same list.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from gclbench.component.registry import DATASETS
from gclbench.tasks.similarity import Similarity
from gclbench.training.streams import Streams


def main() -> None:
    """Writes the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="coil_del")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--to", type=Path, default=Path("similarity_lists"))
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    graph = DATASETS.load(arguments.dataset)().load()
    for seed in range(arguments.seeds):
        split = Similarity().split(graph, Streams(seed))
        path = arguments.to / f"{arguments.dataset}_seed_{seed}.npz"
        np.savez_compressed(path, **split.parts)
        print(f"{path}  {split.hash}")


if __name__ == "__main__":
    main()
