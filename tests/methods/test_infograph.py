"""InfoGraph's loss through its model, and that it learns."""

from __future__ import annotations

import math

import pytest
import torch
from methods.small_collection import small_collection

from gclbench.methods.infograph import Infograph
from gclbench.negatives.refusal import refusal
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


def test_the_loss_of_a_batch_is_the_double_loop() -> None:
    model = Infograph().model(small_collection(), torch.empty(0), Streams(0))
    model.eval()
    chosen = torch.tensor([5, 2, 23])
    batch = model.collection.batch(chosen)
    nodes, graphs = model.encoder(batch.x, batch.edge_index, batch.graph_of, batch.graphs)
    nodes, graphs = model.of_nodes(nodes).double(), model.of_graphs(graphs).double()
    positive = negative = 0.0
    for node, graph in enumerate(batch.graph_of.tolist()):
        for other in range(3):
            score = float((nodes[node] @ graphs[other]).detach())
            if other == graph:
                positive += math.log(2) - math.log1p(math.exp(-score))
            else:
                negative += math.log1p(math.exp(-score)) + score - math.log(2)
    count = len(batch.x)
    expected = negative / (count * 2) - positive / count
    found = model.part(Step(1, 1), chosen, batch).value.item()
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_training_lowers_its_loss_and_its_batch_norm_knows_the_nodes() -> None:
    watch = Watch()
    Infograph(epochs=15).fit(small_collection(), torch.empty(0), Streams(0), watch)
    losses = [loss for _, loss in watch.curve]
    assert losses[-1] < 0.6 * losses[0]


def test_a_strategy_is_refused_with_the_names_of_methods_on_graphs() -> None:
    reason = refusal(Infograph(), "infograph", "nml")
    assert reason == (
        "method=infograph has no negatives for negatives=nml to weight: its objective tells whether"
        " a node belongs to a graph; no view is compared with another; try it with method=graphcl"
        " or method=joao"
    )
