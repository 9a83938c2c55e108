"""DGI: Deep Graph Infomax (Veličković et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range, SameIdAtDefault
from gclbench.contrast.local_global import Discriminator, summary, true_or_shuffled
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.convolution import Convolution
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.gcn import GCN_ACTIVATIONS
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@METHODS.register("dgi")
@dataclass(frozen=True)
class Dgi(Trained):
    """DGI: tells nodes from those with shuffled features, given a summary of the graph.

    Attributes:
        epochs: full-graph steps at most. patience: steps without a new lowest training loss that
            end the training; 0: all epochs.
        lr, weight_decay: of Adam.
        hidden: width d of the one GCN layer. activation: after it.
        normalize_features: divide each row of the features by its absolute sum.
        propagation: what the convolution propagates over: the normalised `adjacency`, or its
            `diffusion` by personalised PageRank, which makes it a layer on diffused features (DGI†
            of the M-Mix paper).
        alpha: teleport probability of the diffusion α (I − (1−α) S)⁻¹.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    inductive: ClassVar[bool] = True
    no_negatives: ClassVar[str] = (
        "it compares nodes with one summary of the graph, not with other nodes"
    )

    epochs: Annotated[int, Range(least=0)] = 10000
    patience: Annotated[int, Range(least=0)] = 20
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    hidden: Count = 512
    activation: Annotated[str, OneOf(*GCN_ACTIVATIONS)] = "prelu"
    normalize_features: bool = True
    propagation: Annotated[str, OneOf("adjacency", "diffusion"), SameIdAtDefault()] = "adjacency"
    alpha: Annotated[float, Range(above=0, most=1), SameIdAtDefault()] = 0.2

    def propagates(self, adjacency: Adjacency) -> SparseMatrix | Diffusion:
        """What the convolution propagates over, of a graph or a view of it."""
        normalised = adjacency.normalised()
        return Diffusion(normalised, self.alpha) if self.propagation == "diffusion" else normalised

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return DgiModel(self, graph, rng)


class DgiModel(Model):
    """One graph convolution, and a discriminator of nodes and a summary."""

    def __init__(self, settings: Dgi, graph: Data, rng: Streams):
        super().__init__(settings.epochs, shuffles=rng.torch("shuffles"), noise=rng.torch("noise"))
        self.features = Features(graph.x, settings.normalize_features)
        self.propagation = settings.propagates(
            Adjacency(graph.edge_index, self.features.nodes, graph.edge_weight)
        )
        with rng.seeded("init"):
            self.encoder = Convolution(self.features.width, settings.hidden, settings.activation)
            self.discriminator = Discriminator(settings.hidden)
        self.encoder.use(self.state["noise"])

    def loss(self, step: Step) -> Loss:
        order = torch.randperm(self.features.nodes, generator=self.state["shuffles"])
        product = self.encoder.product(self.features)
        true = self.encoder.activate(self.propagation @ product)
        # Shuffling the rows of x W is shuffling those of x.
        shuffled = product.index_select(0, order.to(product.device))
        false = self.encoder.activate(self.propagation @ shuffled)
        score = self.judge(product, true)
        loss = true_or_shuffled([score(true)], [score(false)])
        return Loss(loss, {"discrimination": loss.detach()})

    def judge(self, product: Tensor, true: Tensor) -> Callable[[Tensor], Tensor]:
        """What scores nodes (N×d → N), given x W and the true nodes' embeddings (N×d each): against
        the summary of the graph."""
        c = summary(true)
        return lambda h: self.discriminator(h, c)

    def embed(self, step: Step) -> Embedding:
        product = self.encoder.product(self.features)
        return Embedding(self.encoder.activate(self.propagation @ product))
