"""GraphCL: graph contrastive learning with augmentations (You et al. 2020), on collections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.component.settings import (
    Count,
    Fraction,
    NonNegative,
    OneOf,
    Positive,
    Range,
    Temperature,
)
from gclbench.contrast.graph_batch import GraphBatch
from gclbench.contrast.graph_views import AUGMENTATIONS, Strengths, augmented, drawn_kinds
from gclbench.contrast.objectives import others_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.collection_model import CollectionModel
from gclbench.methods.contrasted import contrasted
from gclbench.methods.trained import BatchOfGraphs, CourseEvery, Trained
from gclbench.negatives.strategy import Pair, Strategy, built
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.nn.gin import GinEncoder
from gclbench.nn.readout import READOUTS
from gclbench.nn.residual_mlp import glorot_
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@dataclass(frozen=True)
class GraphViews(Trained):
    """The settings that GraphCL and JOAO share.

    Attributes:
        epochs: passes over the graphs. batch_size: graphs a step. lr, weight_decay: of Adam.
        layers, hidden: number and width of the GIN's layers; an embedding has all layers side by
            side. readout: from nodes to graphs.
        tau: temperature τ.
        augmentations: what a view's graphs are augmented by, drawn for each graph: `drop` nodes,
            `edges` taken away and added, `mask` features, `subgraph` of a random walk, `identity`.
        ratio: share of nodes dropped or masked, or of edges changed. walk: share of the nodes that
            a walk takes besides its start.
        both: augment both views; without, the first is the graph itself, as in the official code.
        objective: of the plain negatives. `others`: the positive is not in the denominator, from
            the first view to the second (the paper's Eq. 3); `all`: it is, in both directions, as
            in every other strategy.
        course: epochs between two embeddings that the task evaluates besides, for a figure.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = True
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    inductive: ClassVar[bool] = True

    epochs: Annotated[int, Range(least=0)] = 20
    batch_size: BatchOfGraphs = 128
    lr: Positive = 0.01
    weight_decay: NonNegative = 0.0
    layers: Count = 3
    hidden: Count = 32
    readout: Annotated[str, OneOf(*READOUTS)] = "sum"
    tau: Temperature = 0.2
    augmentations: tuple[str, ...] = ("drop", "subgraph")
    ratio: Fraction = 0.1
    walk: Fraction = 0.2
    both: bool = False
    objective: Annotated[str, OneOf("others", "all")] = "others"
    course: CourseEvery = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.augmentations if name not in AUGMENTATIONS]
        if unknown or not self.augmentations:
            raise ValueError(
                f"augmentations={list(self.augmentations)} must be one or more of"
                f" {', '.join(AUGMENTATIONS)}; for example method.augmentations=[drop,subgraph]"
            )


@METHODS.register("graphcl")
@dataclass(frozen=True)
class Graphcl(GraphViews):
    """GraphCL: a graph and its augmented copy; the other graphs of the batch are negatives.

    A GIN, whose graph vectors go through a projector that only the loss sees.
    """

    for_nodes: ClassVar[str] = "graphcl_nodes"

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return GraphclModel(self, graph, rng, negatives or Uniform())


class GraphclModel(CollectionModel):
    """An encoder and a projector at work on two views of each batch."""

    name: ClassVar[str] = "graphcl"

    def __init__(self, settings: GraphViews, graph: Data, rng: Streams, negatives: Strategy):
        batches, views = rng.torch("batches"), rng.torch("views")
        super().__init__(self.name, settings, graph, batches=batches, views=views)
        self.settings = settings
        self.strengths = Strengths(settings.ratio, settings.walk)
        with rng.seeded("init"):
            self.encoder = GinEncoder(
                graph.x.shape[1], settings.hidden, settings.layers, settings.readout
            )
            self.projector = self.heads(self.encoder.width)
            glorot_(self)
        width = self.encoder.width
        self.strategy = built(negatives, width, len(self.collection), rng, self.device)

    def heads(self, width: int) -> nn.Module:
        """What only the loss sees."""
        return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def trained(self) -> list[nn.Parameter]:
        own = [*self.encoder.parameters(), *self.projector.parameters()]
        return [*own, *self.strategy.joint_parameters()]

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        if self.strategy.wants_all(step):
            self.strategy.update(self.pair_of_all(step))
        pair = self.pair(step, batch)
        pair = replace(pair, batch=chosen, nodes=len(self.collection), batched=True)
        self.strategy.update(pair.detached())
        if isinstance(self.strategy, UniformNegatives):
            return self.plain(pair)
        return self.strategy(pair)

    def plain(self, pair: Pair) -> Loss:
        """The loss against plain negatives."""
        if self.settings.objective == "all":
            return UniformNegatives()(pair)
        contrast = others_nce(unit_rows(pair.u), unit_rows(pair.v), pair.tau, pair.block)
        return Loss(contrast, {"contrast": contrast.detach()})

    def pair(self, step: Step, batch: GraphBatch, mixed: bool = True) -> Pair:
        """Two views of a batch, drawn anew, encoded and projected.

        Args:
            mixed: the strategy may mix graphs of the first view. Its graph vectors are mixed: those
                of two graphs side by side whose nodes count by the shares.
        """
        first, kinds = self.view(batch) if self.settings.both else (batch, None)
        u = self.encoded(first)
        mixture = self.strategy.mixture(len(u), u.device) if mixed else None
        u = self.projected(u if mixture is None else mixture.apply(u), kinds)
        second, kinds = self.view(batch)
        v = self.projected(self.encoded(second), kinds)
        return Pair(u, (v,), self.settings.tau, step, intra=False)

    def view(self, batch: GraphBatch) -> tuple[GraphBatch, Tensor]:
        """The batch with an augmentation drawn for each graph, and which it was, (B,)."""
        kinds = self.kinds(batch.graphs)
        return augmented(batch, kinds, self.strengths, self.state["views"]), kinds

    def kinds(self, graphs: int) -> Tensor:
        """An augmentation for each graph, (B,) numbers of `AUGMENTATIONS`."""
        return drawn_kinds(graphs, self.settings.augmentations, self.state["views"])

    def encoded(self, batch: GraphBatch) -> Tensor:
        """The graph vectors of a batch, B×d."""
        return self.encoder.graphs(batch.x, batch.edge_index, batch.graph_of, batch.graphs)

    def projected(self, z: Tensor, kinds: Tensor | None) -> Tensor:
        """What the loss compares, B×d.

        Args:
            kinds: (B,) the augmentation of each graph; None for the graphs themselves.
        """
        return self.projector(z)

    def rows(self, batch: GraphBatch) -> Tensor:
        return self.encoded(batch)

    def embed(self, step: Step) -> Embedding:
        pair = self.pair_of_all(step)
        self.strategy.mixture(len(pair.u), self.device)
        report = self.strategy.report(pair)
        found = contrasted(self.all_rows(), unit_rows(pair.u), unit_rows(pair.v), pair.tau, report)
        # The loss compares what the projector makes of these rows. Their lengths tell sizes.
        return replace(found, geometry="euclidean", encode=self.encode)
