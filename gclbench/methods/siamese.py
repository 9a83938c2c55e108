"""A siamese network on graphs: a copy with one edited edge comes nearer than one with two."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range
from gclbench.contrast.graph_batch import GraphBatch, GraphCollection
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.collection_model import CollectionModel, shuffled
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.gin import GinEncoder
from gclbench.nn.readout import READOUTS
from gclbench.nn.residual_mlp import glorot_
from gclbench.tasks.edited_graphs import (
    COPIES,
    SMALLEST,
    Asker,
    collection,
    draw_triplets,
    joined,
)
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams

FEW_GRAPHS = 10
"""A training on triplets of fewer graphs says so."""


@METHODS.register("siamese")
@dataclass(frozen=True)
class Siamese(Trained):
    """A siamese network: a GIN that is trained on triplets like those of `task=similarity`.

    The loss of a triplet is max(0, margin + d(piece, nearer copy) − d(piece, farther copy)), where
    d is 1 − cosine: the triplet loss of graph matching networks (Li et al., ICML 2019) without
    their matching between graphs. In `task=similarity` it trains on the graphs that no triplet of
    the task is of, elsewhere on all. It reads no classes.

    Attributes:
        epochs: passes over the triplets. batch_size: triplets in a step. lr, weight_decay: of Adam.
        sizes: nodes of the pieces. triplets: of each size; they are drawn once.
        margin: of the loss.
        layers, hidden: number and width of the GIN's layers. readout: from nodes to graphs. A
            network of two layers follows, as wide as all layers side by side.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    inductive: ClassVar[bool] = True
    trains_apart: ClassVar[bool] = True
    no_negatives: ClassVar[str] = "it compares a graph with its own copies, and with no other graph"

    epochs: Annotated[int, Range(least=0)] = 20
    batch_size: Count = 128
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    sizes: tuple[Annotated[int, Range(least=SMALLEST)], ...] = (10, 15, 20)
    triplets: Annotated[int, Range(least=2)] = 1000
    margin: Positive = 0.1
    layers: Count = 3
    hidden: Count = 32
    readout: Annotated[str, OneOf(*READOUTS)] = "sum"

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("sizes needs a number of nodes, for example method.sizes=[6,8]")
        if len(set(self.sizes)) < len(self.sizes):
            raise ValueError("sizes names one twice; write each once, as in method.sizes=[6,8]")

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return SiameseModel(self, graph, rng)


class SiameseModel(CollectionModel):
    """The network, and the pieces and copies that it learns from; the state's `graphs` counts, by
    size, the graphs that these are of."""

    def __init__(self, settings: Siamese, graph: Data, rng: Streams):
        graphs = torch.zeros(len(settings.sizes), dtype=torch.int64)
        super().__init__("siamese", settings, graph, batches=rng.torch("batches"), graphs=graphs)
        self.settings, self.everything, self.graph = settings, self.collection, graph
        self.streams = rng
        with rng.seeded("init"):
            self.encoder = GinEncoder(
                graph.x.shape[1], settings.hidden, settings.layers, settings.readout
            )
            width = self.encoder.width
            self.head = nn.Sequential(
                nn.Linear(width, width), nn.ReLU(True), nn.Linear(width, width)
            )
            glorot_(self)

    def losses(self, step: Step) -> Iterator[Loss]:
        if self.collection is self.everything:
            # Not before: weights that are only applied need no triplets.
            self.collection = self._triplets()
        yield from super().losses(step)

    def cut(self) -> list[Tensor]:
        triplets = len(self.collection) // COPIES
        parts = shuffled(triplets, self.size, self.state["batches"])
        return [(part[:, None] * COPIES + torch.arange(COPIES)).flatten() for part in parts]

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        rows = unit_rows(self.rows(batch))
        piece, near, far = rows.view(-1, COPIES, rows.shape[1]).unbind(1)
        # ½‖u − v‖² of unit rows is 1 − cosine, and is exact where it is small.
        nearer, farther = ((piece - other).square().sum(dim=1) / 2 for other in (near, far))
        loss = (self.settings.margin + nearer - farther).clamp(min=0).mean()
        return Loss(loss, {"hinge": loss.detach()})

    def rows(self, batch: GraphBatch) -> Tensor:
        return self.head(
            self.encoder.graphs(batch.x, batch.edge_index, batch.graph_of, batch.graphs)
        )

    def evaluated(self, step: Step) -> Embedding:
        graphs = zip(self.settings.sizes, self.state["graphs"].tolist(), strict=True)
        counts = {size: count for size, count in graphs if count}
        few = [(size, count) for size, count in counts.items() if count < FEW_GRAPHS]
        return Embedding(
            self.all_rows(self.everything),
            geometry="cosine",
            findings={f"graphs_n{size}": count for size, count in counts.items()},
            remarks=[
                f"siamese was trained on triplets of {count} graph{'s' * (count > 1)} with a piece"
                f" of {size} nodes"
                for size, count in few
            ],
        )

    def _triplets(self) -> GraphCollection:
        """The pieces and copies of all sizes: piece, nearer copy, farther copy, and so on."""
        graph = copy.copy(self.graph).to("cpu")
        among = None
        if "left_by_task" in graph:
            among = graph.left_by_task.nonzero()[:, 0].numpy()
            if not len(among):
                raise Unsupported(
                    "siamese trains on graphs that the task's triplets are not of, and there are"
                    f" triplets of all {graph.items} graphs of '{graph.name}'; ask the task for"
                    " fewer triplets or sizes, such as task.similarity.triplets="
                    f"{max(1, graph.items // 8)} task.similarity.nodes=[{self.settings.sizes[0]}],"
                    " or take a larger collection"
                )
        drawn = {
            size: draw_triplets(
                graph,
                size,
                self.settings.triplets,
                True,
                self.streams.numpy(f"triplets {size}"),
                among=among,
                asker=Asker("siamese", "method.sizes", self.settings.sizes),
            )
            for size in self.settings.sizes
        }
        for place, part in enumerate(drawn.values()):
            self.state["graphs"][place] = len(np.unique(part.graph))
        return self.prepared(collection(graph, joined(list(drawn.values()))))
