"""InfoGraph: mutual information between whole graphs and their nodes (Sun et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range
from gclbench.contrast.graph_batch import GraphBatch
from gclbench.contrast.local_global import nodes_against_graphs
from gclbench.graph.carrier import Data
from gclbench.methods.collection_model import CollectionModel
from gclbench.methods.trained import BatchOfGraphs, CourseEvery, Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.gin import GinEncoder
from gclbench.nn.readout import READOUTS
from gclbench.nn.residual_mlp import ResidualMlp, glorot_
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@METHODS.register("infograph")
@dataclass(frozen=True)
class Infograph(Trained):
    """InfoGraph: a GIN whose nodes are told to belong to their own graph or to another one.

    Nodes and graphs each go through a head that only the loss sees.

    Attributes:
        epochs: passes over the graphs. batch_size: graphs a step. lr, weight_decay: of Adam.
        layers, hidden: number and width of the GIN's layers; an embedding has all layers side by
            side. readout: from nodes to graphs.
        course: epochs between two embeddings that the task evaluates besides, for a figure.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    inductive: ClassVar[bool] = True
    no_negatives: ClassVar[str] = (
        "its objective tells whether a node belongs to a graph; no view is compared with another"
    )

    epochs: Annotated[int, Range(least=0)] = 20
    batch_size: BatchOfGraphs = 128
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    layers: Count = 3
    hidden: Count = 32
    readout: Annotated[str, OneOf(*READOUTS)] = "sum"
    course: CourseEvery = 0

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return InfographModel(self, graph, rng)


class InfographModel(CollectionModel):
    """The encoder and its two heads, one for nodes and one for graphs."""

    def __init__(self, settings: Infograph, graph: Data, rng: Streams):
        super().__init__("infograph", settings, graph, batches=rng.torch("batches"))
        with rng.seeded("init"):
            self.encoder = GinEncoder(
                graph.x.shape[1], settings.hidden, settings.layers, settings.readout
            )
            width = self.encoder.width
            self.of_nodes, self.of_graphs = (ResidualMlp(width, width, nn.ReLU) for _ in range(2))
            glorot_(self)

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        nodes, pooled = self.encoder(batch.x, batch.edge_index, batch.graph_of, batch.graphs)
        loss = nodes_against_graphs(self.of_nodes(nodes), self.of_graphs(pooled), batch.graph_of)
        return Loss(loss, {"discrimination": loss.detach()})

    def rows(self, batch: GraphBatch) -> Tensor:
        return self.encoder.graphs(batch.x, batch.edge_index, batch.graph_of, batch.graphs)
