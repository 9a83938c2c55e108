"""Which statistics of the batch norms a supervised classifier of graphs can end with.

Trains on nine of ten folds at the shipped settings and classifies the training graphs, three times:
with the running averages, with the statistics of each batch, and with those of all training graphs
(`method.statistics=training`). `largest_lag` is how much less the first gets than the second. No
test graph is looked at.

    python scripts/norm_statistics.py [--dataset mutag] [--folds 4]
        [--output results/bench/norm_statistics.json]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import bench_facts
import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from gclbench.component.registry import DATASETS
from gclbench.config.validation import experiment_of
from gclbench.graph import Graph
from gclbench.methods.collection_model import shuffled
from gclbench.methods.graph_classifier import GraphClassifier, GraphClassifierModel
from gclbench.nn.batch_norm import settle
from gclbench.training.loop import train
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

FOLDS = 10
NAMES = ("gin", "gin_eps", "graphsage", "gcn_graphs", "gat_graphs")


def right(model: GraphClassifierModel) -> float:
    """Share of the training graphs that are classified rightly, in shuffled batches."""
    order = shuffled(len(model.collection), model.size, torch.Generator().manual_seed(0))
    with torch.no_grad():
        hits = [
            (
                model.head(model.rows(model.collection.batch(part))).argmax(dim=1)
                == model.targets[part]
            ).float()
            for part in order
        ]
    return float(torch.cat(hits).mean())


def accuracies(
    settings: GraphClassifier, graph: Graph, labels: Tensor, seed: int
) -> dict[str, float]:
    """Of the training graphs after a training, by the statistics that the batch norms have."""
    model = replace(settings, statistics="running").model(graph, labels, Streams(seed))
    assert isinstance(model, GraphClassifierModel)
    train(model, settings.optimiser(model), Watch())
    model.eval()
    found = {"running": right(model)}
    lagging = {name: value.clone() for name, value in model.state_dict().items()}
    model.stack.train()
    found["batch"] = right(model)
    model.load_state_dict(lagging)
    model.eval()
    settle(model.stack, *model.inputs(model.collection.all))
    found["training"] = right(model)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="mutag")
    parser.add_argument("--folds", type=int, default=4, help="of ten")
    parser.add_argument("--output", type=Path, default=Path("results/bench/norm_statistics.json"))
    options = parser.parse_args()
    DATASETS.check(options.dataset)
    if not 1 <= options.folds <= FOLDS:
        parser.error(f"--folds {options.folds} is none of 1 to {FOLDS}")
    torch.set_num_threads(1)
    begun, rows = bench_facts.begun("norm_statistics", threads=1), []
    for name in NAMES:
        words = [f"method={name}", f"dataset={options.dataset}", "task=graph_classification"]
        components = experiment_of(words).components
        graph = components.dataset.load()
        if graph.item_kind != "graphs":
            parser.error(f"--dataset {options.dataset} is a single graph; name a collection, mutag")
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(graph.y, graph.y)
        for fold, (training, _) in zip(range(options.folds), folds):
            labels = torch.full((len(graph.y),), -1)
            labels[training] = graph.y[training]
            found = accuracies(components.method, graph, labels, fold)
            rows.append({"method": name, "fold": fold, **found})
            print(rows[-1], flush=True)
    summary = [
        {
            "method": name,
            **{
                f"{end}_{kind}": float(choose([row[kind] for row in rows if row["method"] == name]))
                for kind in ("running", "batch", "training")
                for end, choose in (("least", np.min), ("most", np.max))
            },
            "largest_lag": float(
                np.max([row["batch"] - row["running"] for row in rows if row["method"] == name])
            ),
        }
        for name in NAMES
    ]
    content = {
        **begun,
        "dataset": options.dataset,
        "rows": summary,
        "folds": rows,
    }
    bench_facts.write(options.output, content)


if __name__ == "__main__":
    main()
