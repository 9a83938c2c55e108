"""The linear machine of graph classification against liblinear's on the same rows.

Both choose C from the task's grid by five inner folds and fit again on all training rows of one
fold. Rows are those of three methods that need no or little training, scaled as the task scales
them. liblinear solves the primal in at most 200 Newton steps, as the task did before its version 2.
Processor seconds on one thread, in one run. No test row is scored: what differs is told as the
share of test rows whose classes differ, and the objectives on all training rows at each C.

    python scripts/bench_support_vectors.py [--output results/bench/support_vectors.json]

The numbers are also written as a table beside the JSON, with the ending .md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench_facts
import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from gclbench.component.registry import DATASETS
from gclbench.methods.graph_kernel import GraphKernel
from gclbench.methods.graph_statistics import GraphStatistics
from gclbench.methods.graphcl import Graphcl
from gclbench.tasks import squared_hinge
from gclbench.tasks.embedding_rows import embedding_rows
from gclbench.tasks.graph_classification import C_GRID, GraphClassification
from gclbench.tasks.support_vectors import _rows, classify
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

COLLECTIONS = ("mutag", "ptc_mr", "imdb_binary")
ROWS = {"graph_statistics": GraphStatistics, "graphcl": Graphcl, "WL kernel": GraphKernel}
STEPS = 200


def library(x: np.ndarray, y: np.ndarray, other: np.ndarray, folds: int, seed: int) -> Any:
    """liblinear's predictions and the number of its fits that stopped early."""
    inner = StratifiedKFold(folds, shuffle=True, random_state=seed)
    search = GridSearchCV(LinearSVC(dual=False, max_iter=STEPS), {"C": sorted(C_GRID)}, cv=inner)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(x, y)
    early = sum(issubclass(one.category, ConvergenceWarning) for one in caught)
    return search.predict(other), early


def excess(x: np.ndarray, y: np.ndarray) -> float:
    """The largest share, over C, by which liblinear's objective is above the minimum."""
    rows, shared = squared_hinge.with_ones(x), squared_hinge.Rows(x)
    found, machine = [], None
    for C in sorted(C_GRID):
        machine = squared_hinge.fit(shared, y, C, machine)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = LinearSVC(C=C, dual=False, max_iter=STEPS).fit(x, y)
        weights = np.hstack([theirs.coef_, theirs.intercept_[:, None]])
        least, reached = (
            sum(_objective(rows, y, machine.classes, w, number, C) for number, w in enumerate(all_))
            for all_ in (machine.weights, weights)
        )
        found.append(reached / least - 1)
    return max(found)


def _objective(
    rows: np.ndarray, y: np.ndarray, classes: np.ndarray, w: np.ndarray, number: int, C: float
) -> float:
    one = classes[1] if len(classes) == 2 else classes[number]
    short = np.maximum(0, 1 - np.where(y == one, 1.0, -1.0) * (rows @ w))
    return float(w @ w / 2 + C * short @ short)


def measured() -> Iterator[dict[str, Any]]:
    """A row for each collection and method."""
    task = GraphClassification()
    for collection in COLLECTIONS:
        graph = DATASETS.load(collection)().load()
        labels = graph.y.numpy()
        test = next(iter(task.split(graph, Streams(0)).parts.values()))
        train = np.setdiff1d(np.arange(graph.items), test)
        for name, method in ROWS.items():
            unseen = torch.full((graph.items,), -1)
            embedding = method().fit(graph, unseen, Streams(0), Watch())
            z = embedding_rows(embedding, graph).astype(np.float64)
            own, other = task._scaled(z[train], z[test], embedding.geometry)
            rows, others = _rows(own, other)
            begin = time.process_time()
            ours = classify(own, labels[train], other, "linear", C_GRID, task.inner_folds, 0)
            between = time.process_time()
            theirs, early = library(rows, labels[train], others, task.inner_folds, 0)
            end = time.process_time()
            yield {
                "dataset": collection,
                "rows": name,
                "shape": list(rows.shape),
                "seconds": between - begin,
                "liblinear_seconds": end - between,
                "unconverged": ours.unconverged,
                "liblinear_unconverged": early,
                "fits": len(C_GRID) * task.inner_folds + 1,
                "liblinear_excess": excess(rows, labels[train]),
                "differing": float(np.mean(ours.predicted != theirs)),
            }


def table(found: dict[str, Any]) -> str:
    """The numbers as Markdown."""
    lines = [
        "# The linear machine of graph classification",
        "",
        f"{found['device']}, torch {found['environment']['torch']}, one thread; load of the machine"
        f" (1, 5, 15 minutes) {found['load_before']} before and {found['load_after']} after."
        " Processor seconds of one fold: C by five inner folds, and the last fit. liblinear:"
        f" primal, at most {STEPS} steps. Above the minimum: the largest share over C, on all"
        " training rows.",
        "",
        "| collection | rows | shape | liblinear, s | gclbench, s | ratio | liblinear's fits that"
        " stopped early | ours | its objective above the minimum | test rows classed otherwise |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['dataset']} | {row['rows']} | {row['shape'][0]}×{row['shape'][1]}"
        f" | {row['liblinear_seconds']:.2f} | {row['seconds']:.2f}"
        f" | {row['liblinear_seconds'] / row['seconds']:.0f}"
        f" | {row['liblinear_unconverged']} of {row['fits']} | {row['unconverged']}"
        f" | {100 * row['liblinear_excess']:.3f} % | {100 * row['differing']:.1f} % |"
        for row in found["rows"]
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures and writes both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("results/bench/support_vectors.json"))
    output = parser.parse_args().output
    torch.set_num_threads(1)
    found = bench_facts.begun("bench_support_vectors", threads=1)
    found["rows"] = list(measured())
    bench_facts.write(output, found, table)
    print(table(found))


if __name__ == "__main__":
    main()
