"""DGI: Deep Graph Infomax (Veličković et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range
from gclbench.contrast.local_global import Discriminator, summary, true_or_shuffled
from gclbench.embedding import Embedding
from gclbench.nn.convolution import Convolution
from gclbench.nn.gcn import GCN_ACTIVATIONS
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.patience import Patience
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@METHODS.register("dgi")
@dataclass(frozen=True)
class Dgi:
    """DGI: tells the nodes of the graph from those of one with shuffled features, given a summary of the graph.

    Attributes:
        epochs: full-graph steps at most. patience: steps without a new lowest training loss that
            end the training; 0: all epochs.
        lr, weight_decay: of Adam.
        hidden: width d of the one GCN layer. activation: after it.
        normalize_features: divide each row of the features by its sum.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
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

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Trains the encoder until the loss no longer falls and embeds every node with the state of
        the lowest loss.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read.
        """
        features = Features(graph.x, self.normalize_features)
        propagation = Adjacency(graph.edge_index, features.nodes).normalised()
        with rng.seeded("init"):
            encoder = Convolution(features.width, self.hidden, self.activation)
            model = nn.ModuleDict(
                {"encoder": encoder, "discriminator": Discriminator(self.hidden)}
            ).to(graph.x.device)
        optimiser = torch.optim.Adam(
            model.parameters(), lr=self.lr, weight_decay=self.weight_decay, fused=True
        )
        patience = Patience(self.patience, model)
        shuffles, noise = rng.torch("shuffles"), rng.torch("noise")
        encoder.use(noise)
        state = {
            "model": model,
            "optimiser": optimiser,
            "patience": patience,
            "shuffles": shuffles,
            "noise": noise,
        }
        for epoch in watch.iterations(self.epochs, **state):
            order = torch.randperm(features.nodes, generator=shuffles).to(graph.x.device)
            product = encoder.product(features)
            true = encoder.activate(propagation @ product)
            # Shuffling the rows of x W is shuffling those of x.
            shuffled = encoder.activate(propagation @ product.index_select(0, order))
            c = summary(true)
            loss = true_or_shuffled(
                [model["discriminator"](true, c)], [model["discriminator"](shuffled, c)]
            )
            watch(epoch, self.epochs, loss.detach(), {"discrimination": loss.detach()})
            if patience.spent(float(loss.detach()), epoch - 1):
                break
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        patience.restore()
        model.eval()
        with torch.no_grad():
            return Embedding(
                encoder.activate(propagation @ encoder.product(features)), **patience.told()
            )
