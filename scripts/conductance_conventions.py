"""Which conductance and modularity do the rows of dmat/1 print?

Clusters raw features and the embeddings of AGC, SSGC and DeepWalk of the four small datasets and
counts each partition in several ways: with 0, 1 or 2 ends of a self-loop per node, conductance as
the mean over clusters or pooled over edges. Prints a Markdown table beside the printed values. No
class has a part in it but for their number.

    python scripts/conductance_conventions.py [--seeds 3] [--output results/conductance.md]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from gclbench.config.validation import experiment_of
from gclbench.paper.reference import printed
from gclbench.tasks.clustering import fit_kmeans
from gclbench.tasks.embedding_rows import embedding_rows
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

DATASETS = ("acm", "dblp", "cora", "citeseer")
METHODS = ("kmeans", "agc", "ssgc", "deepwalk")
SLOW = "deepwalk"
"""Its training takes minutes: one seed."""
LOOP_ENDS = (0, 1, 2)


def counted(edge_index: np.ndarray, clusters: np.ndarray, loop_ends: int) -> list[float]:
    """Modularity, mean conductance and pooled conductance in percent, with self-loops of so many
    ends at every node."""
    count = int(clusters.max()) + 1
    same = clusters[edge_index[0]] == clusters[edge_index[1]]
    inside = np.bincount(clusters[edge_index[0]][same], minlength=count) + loop_ends * np.bincount(
        clusters, minlength=count
    )
    cut = np.bincount(clusters[edge_index[0]][~same], minlength=count)
    volume = inside + cut
    share = volume / volume.sum()
    return [
        100 * (inside.sum() / volume.sum() - (share**2).sum()),
        100 * float(np.mean(cut / np.maximum(volume, 1))),
        100 * cut.sum() / volume.sum(),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        (
            f"Made by scripts/conductance_conventions.py, {options.seeds} seeds (DeepWalk: 1), in"
            " percent. Each cell: modularity · mean conductance · pooled conductance."
        ),
        "",
        (
            "| dataset | method | printed modularity · conductance | no self-loops | one entry per"
            " node | two entries per node |"
        ),
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for dataset in DATASETS:
        for method in METHODS:
            parts = experiment_of(
                [f"method={method}", f"dataset={dataset}", "task=clustering", "device=cpu"]
            ).components
            graph = parts.dataset.load()
            edges, classes = graph.edge_index.numpy(), int(graph.y.max()) + 1
            nothing = torch.full((graph.num_nodes,), -1)
            rows = []
            for seed in range(1 if method == SLOW else options.seeds):
                rng = Streams(seed)
                found = parts.method.fit(graph, nothing, rng, Watch())
                z = embedding_rows(found, graph)
                clusters, _ = fit_kmeans(z, classes, 10, rng.integer("kmeans"))
                rows.append([counted(edges, clusters, ends) for ends in LOOP_ENDS])
            means = np.mean(rows, axis=0)
            shown = " | ".join(" · ".join(f"{value:.1f}" for value in cell) for cell in means)
            values = [
                printed(dataset, method, "clustering", metric, paper="dmat", table="1")[0].mean
                for metric in ("modularity", "conductance")
            ]
            theirs = " · ".join("?" if value is None else f"{100 * value:.1f}" for value in values)
            lines.append(f"| {dataset} | {method} | {theirs} | {shown} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
