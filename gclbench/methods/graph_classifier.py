"""Classifiers of graphs that are trained on the labels of training graphs: what gin, gin_eps,
graphsage, gcn_graphs and gat_graphs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from gclbench.component.settings import (
    Count,
    Fraction,
    NonNegative,
    OneOf,
    Positive,
    Range,
    SameIdAtDefault,
)
from gclbench.contrast.graph_batch import GraphBatch, GraphCollection
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.collection_model import CollectionModel
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.batch_norm import settle
from gclbench.nn.pooled_stack import HEADS, LevelScores, PooledStack
from gclbench.nn.readout import READOUTS
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams, drawing_from


@dataclass(frozen=True)
class GraphClassifier(Trained):
    """The shared hyper-parameters. The number of epochs is fixed; no fold chooses it.

    The frame is that of GIN's authors (Xu et al., ICLR 2019; weihua916/powerful-gnns): each level,
    the input among them, is read out and scores the classes, and the levels' scores are summed.

    Attributes:
        epochs: of `steps_per_epoch` steps each. batch_size: graphs a step, at most all training
            graphs.
        steps_per_epoch: random batches of an epoch, each drawn from all training graphs, no graph
            twice; 0: an epoch is one pass over the training graphs.
        lr, weight_decay: of Adam. halve_every: epochs after which the rate is halved; 0: never.
        layers, hidden: number and width of the layers. readout: from nodes to graphs; an embedding
            has the readouts of the input and of all layers side by side.
        dropout: of the class scores of each level.
        statistics: of the batch norms at the end: `running`, averages over the last steps, whose
            weights were others; `training`, those of all training graphs at the final weights.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    needs_labels: ClassVar[bool] = True
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it learns classes, and contrasts no graphs"

    layer: ClassVar[str]

    epochs: Annotated[int, Range(least=0)] = 100
    batch_size: Annotated[int, Range(least=2)] = 32
    steps_per_epoch: Annotated[int, Range(least=0)] = 50
    lr: Positive = 0.01
    weight_decay: NonNegative = 0.0
    halve_every: Annotated[int, Range(least=0)] = 50
    layers: Count = 4
    hidden: Annotated[int, Range(least=4)] = 32
    readout: Annotated[str, OneOf(*READOUTS)] = "sum"
    dropout: Fraction = 0.5
    statistics: Annotated[str, OneOf("running", "training"), SameIdAtDefault()] = "running"

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return GraphClassifierModel(self, graph, labels, rng)


class GraphClassifierModel(CollectionModel):
    """Cross-entropy on the training graphs; no other graph takes part in a step."""

    def __init__(self, settings: GraphClassifier, graph: Data, labels: Tensor, rng: Streams):
        device, name = graph.x.device, f"the classifier with {settings.layer} layers"
        super().__init__(
            name,
            settings,
            graph,
            batches=rng.torch("batches"),
            noise=rng.torch("noise", device),
        )
        train = (labels >= 0).nonzero()[:, 0].to(device)
        if len(train) < 2:
            raise Unsupported(
                f"{name} learns from the labels of training graphs and sees {len(train)}; only"
                " task=graph_classification reveals labels"
            )
        if settings.layer == "gat" and settings.hidden % HEADS:
            raise Unsupported(
                f"method.hidden={settings.hidden} is shared by {HEADS} heads of attention;"
                f" give a multiple of {HEADS}"
            )
        self.settings, self.everything = settings, self.collection
        known = self.collection.batch(train)
        self.collection = GraphCollection(known.x, known.edge_index, known.graph_of)
        self.targets = labels.to(device)[train]
        with rng.seeded("init"):
            self.stack = PooledStack(
                settings.layer,
                graph.x.shape[1],
                settings.hidden,
                settings.layers,
                settings.readout,
            )
            self.head = LevelScores(self.stack.widths, graph.classes, settings.dropout)

    def rate(self, step: Step) -> float:
        every = self.settings.halve_every
        return 0.5 ** ((step.iteration - 1) // every) if every else 1.0

    def cut(self) -> list[Tensor]:
        steps, graphs = self.settings.steps_per_epoch, len(self.collection)
        if not steps:
            return super().cut()
        batches = self.state["batches"]
        return [torch.randperm(graphs, generator=batches)[: self.size] for _ in range(steps)]

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        with drawing_from(self.state["noise"]):
            scores = self.head(self.rows(batch))
        loss = cross_entropy(scores, self.targets[chosen])
        return Loss(loss, {"cross-entropy": loss.detach()})

    def rows(self, batch: GraphBatch) -> Tensor:
        return self.stack(*self.inputs(batch))

    def inputs(self, batch: GraphBatch) -> tuple[Tensor, Tensor, Tensor, int]:
        """What the layers read of a batch: x (M×F), edge_index (2×E), the graph of each node (M)
        and the number of graphs."""
        return batch.x, batch.edge_index, batch.graph_of, batch.graphs

    def evaluated(self, step: Step) -> Embedding:
        if self.settings.statistics == "training":
            settle(self.stack, *self.inputs(self.collection.all))
        z = self.all_rows(self.everything)
        return Embedding(z, scores=self.head(z))
