"""GAE: graph auto-encoder (Kipf and Welling 2016), with torch_geometric's model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn import models

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, Positive, Range
from gclbench.data.pairs import NonEdges
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.trained import EpochBy, Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.graph_encoder import GraphEncoder
from gclbench.nn.sparse import compressed_if_sparse, normalised_rows
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams, drawing_from


@METHODS.register("gae")
@dataclass(frozen=True)
class Gae(Trained):
    """GAE: two graph convolutions whose dot products rebuild the edges.

    Each step holds all edges against as many pairs that are no edges, drawn anew. The paper weighs
    all N² pairs instead.

    Attributes:
        epochs: full-graph steps. lr, weight_decay: of Adam.
        hidden: width of the first convolution. dimension: d, of the second.
        normalize_features: divide each row of the features by its sum.
        epoch_by: the embedding is that of the `last` step, or of the one that the task's
            `validation` part scores best (docs/choices.md).
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it tells edges from pairs that are none, and weighs all alike"

    epochs: Annotated[int, Range(least=0)] = 200
    lr: Positive = 0.01
    weight_decay: NonNegative = 0.0
    hidden: Count = 32
    dimension: Count = 16
    normalize_features: bool = False
    epoch_by: EpochBy = "last"

    def autoencoder(self, inputs: int) -> models.GAE:
        """torch_geometric's model, from F features to d."""
        return models.GAE(GraphEncoder(inputs, self.hidden, self.dimension))

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return AutoencoderModel(self, graph, rng)


class AutoencoderModel(Model):
    """An auto-encoder of torch_geometric at work on the whole graph.

    Raises:
        Unsupported: when the graph has no edges, or too few other pairs.
    """

    variational = False

    def __init__(self, settings: Gae, graph: Data, rng: Streams):
        pairs: np.random.Generator = rng.numpy("pairs")
        super().__init__(settings.epochs, noise=rng.torch("noise", graph.x.device), pairs=pairs)
        name = type(settings).__name__.lower()
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"{name} rebuilds edges, and '{graph.name}' has none")
        self.edges = graph.edges
        edges = graph.edge_index.cpu().numpy()
        self.one_way = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
        self.others = NonEdges(edges, graph.num_nodes)
        self.count = self.one_way.shape[1]
        if self.others.count < self.count:
            raise Unsupported(
                f"{name} holds {self.count} edges against as many other pairs, and"
                f" '{graph.name}' has {self.others.count}"
            )
        x = normalised_rows(graph.x) if settings.normalize_features else graph.x
        self.x = compressed_if_sparse(x)
        with rng.seeded("init"):
            self.autoencoder = settings.autoencoder(x.shape[1])

    def loss(self, step: Step) -> Loss:
        with drawing_from(self.state["noise"]):
            z = self.autoencoder.encode(self.x, *self.edges)
        return self.rebuilt(z)

    def rebuilt(self, z: Tensor) -> Loss:
        """How badly z tells edges from other pairs, and how far it is from the prior."""
        others = torch.from_numpy(self.others.draw(self.state["pairs"], self.count))
        rebuilding = self.autoencoder.recon_loss(z, self.one_way, others.to(z.device))
        terms = {"edges": rebuilding.detach()}
        if not self.variational:
            return Loss(rebuilding, terms)
        divergence = self.autoencoder.kl_loss() / len(z)
        return Loss(rebuilding + divergence, {**terms, "prior": divergence.detach()})

    def embed(self, step: Step) -> Embedding:
        return Embedding(self.autoencoder.encode(self.x, *self.edges))


class VariationalModel(AutoencoderModel):
    """One whose encoder gives a mean and a spread: the embedding is the mean."""

    variational = True
