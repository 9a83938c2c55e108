"""GAE: graph auto-encoder (Kipf and Welling 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range
from gclbench.contrast.blocks import BLOCK_ENTRIES, sums_by_blocks
from gclbench.data.pairs import NonEdges, pair_of
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.trained import EpochBy, Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.graph_encoder import GraphEncoder, VariationalEncoder
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams, drawing_from


@METHODS.register("gae")
@dataclass(frozen=True)
class Gae(Trained):
    """GAE: two graph convolutions whose dot products rebuild A + I.

    Attributes:
        epochs: full-graph steps. lr, weight_decay: of Adam.
        hidden: width of the first convolution. dimension: d, of the second.
        pairs: `all`: the loss is over all N² entries. `drawn`: in each step as many pairs as edges,
            drawn anew, stand for all pairs that are none; the same loss on average, in O(E).
        normalize_features: divide each row of the features by its absolute sum.
        epoch_by: the embedding is that of the `last` step, or of the one that the task's
            `validation` part scores best (docs/choices.md).
    """

    version: ClassVar[str] = "2"
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
    pairs: Annotated[str, OneOf("drawn", "all")] = "drawn"
    normalize_features: bool = False
    epoch_by: EpochBy = "last"

    def encoder(self, inputs: int) -> GraphEncoder:
        """From F features to d, without biases."""
        return GraphEncoder(inputs, self.hidden, self.dimension)

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return AutoencoderModel(self, graph, rng)


class AutoencoderModel(Model):
    """An auto-encoder at work on the whole graph.

    Attributes:
        one_way: the edges, each pair once (2×E). others: the pairs that are none.

    Raises:
        Unsupported: when the graph has no edges, or too few other pairs to draw.
    """

    def __init__(self, settings: Gae, graph: Data, rng: Streams):
        pairs: np.random.Generator = rng.numpy("pairs")
        super().__init__(settings.epochs, noise=rng.torch("noise", graph.x.device), pairs=pairs)
        name = type(settings).__name__.lower()
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"{name} rebuilds edges, and '{graph.name}' has none")
        self.all_pairs = settings.pairs == "all"
        self.others = NonEdges(graph.edge_index.cpu().numpy(), graph.num_nodes)
        one_way = torch.from_numpy(np.stack(pair_of(self.others.edges)))
        self.one_way, self.count = one_way.to(graph.x.device), one_way.shape[1]
        if self.others.count < self.count and not self.all_pairs:
            raise Unsupported(
                f"{name} holds {self.count} edges against as many other pairs, and"
                f" '{graph.name}' has {self.others.count}; method.pairs=all draws none"
            )
        self.x = Features(graph.x, normalise=settings.normalize_features)
        entries = Adjacency(graph.edge_index, graph.num_nodes, graph.edge_weight)
        self.propagation = entries.normalised()
        with rng.seeded("init"):
            self.encoder = settings.encoder(self.x.width)

    def loss(self, step: Step) -> Loss:
        return self.reconstructed(*self.coded())

    def coded(self) -> tuple[Tensor, dict[str, Tensor]]:
        """z (N×d) of a training step, and the further terms of its loss, by name."""
        with drawing_from(self.state["noise"]):
            return self.encoder(self.x, self.propagation), {}

    def reconstructed(self, z: Tensor, further: dict[str, Tensor]) -> Loss:
        """How badly z rebuilds A + I, and the further terms."""
        terms = {"reconstruction": self.reconstruction(z), **further}
        value = torch.stack(list(terms.values())).sum()
        return Loss(value, {name: term.detach() for name, term in terms.items()})

    def reconstruction(self, z: Tensor) -> Tensor:
        """norm · the mean of the weighted cross-entropies of all N² entries of A + I.

        With S the sum of A the ones weigh (N² − S)/S and norm is N²/2(N² − S). So the ones are
        summed over 2S, the zeros over 2(N² − S); the diagonal is among the ones, not in S.
        """
        ones = 2 * self.count
        own, edges = z.square().sum(dim=1), dots(z, self.one_way)
        hits = softplus(-own).sum() + 2 * softplus(-edges).sum()
        misses = self.misses(z, own, edges)
        return (hits / ones + misses / (len(z) ** 2 - ones)) / 2

    def misses(self, z: Tensor, own: Tensor, edges: Tensor) -> Tensor:
        """The cross-entropies of the zeros of A + I, summed.

        Args:
            own: z_i · z_i (N). edges: z_i · z_j of the edges (E).
        """
        if self.all_pairs:
            return everywhere(z) - softplus(own).sum() - 2 * softplus(edges).sum()
        others = torch.from_numpy(self.others.draw(self.state["pairs"], self.count))
        return 2 * self.others.count * softplus(dots(z, others.to(z.device))).mean()

    def embed(self, step: Step) -> Embedding:
        return Embedding(self.encoder(self.x, self.propagation))


class VariationalModel(AutoencoderModel):
    """One whose encoder gives a mean and a log deviation: the embedding is the mean."""

    encoder: VariationalEncoder

    def coded(self) -> tuple[Tensor, dict[str, Tensor]]:
        """z, drawn, and its divergence from the standard normal distribution: nodes' mean over N
        (the official code's weight)."""
        with drawing_from(self.state["noise"]):
            mean, log_deviation = self.encoder.both(self.x, self.propagation)
            z = mean + torch.randn_like(mean) * log_deviation.exp()
        parts = mean.square() + (2 * log_deviation).exp() - 2 * log_deviation - 1
        return z, {"prior": parts.sum(dim=1).mean() / (2 * len(z))}


def dots(z: Tensor, pairs: Tensor) -> Tensor:
    """z_i · z_j of pairs (2×P) of rows of z, (P,)."""
    return (z.index_select(0, pairs[0]) * z.index_select(0, pairs[1])).sum(dim=1)


def everywhere(z: Tensor) -> Tensor:
    """Σ softplus(z_i · z_j) over all N² pairs, in blocks of rows; N×N is never stored."""

    def summed(rows: Tensor, numbers: Tensor, z: Tensor) -> Tensor:
        # The sum is symmetric: what is right of the block's own square counts twice.
        found = softplus(rows @ z[int(numbers[0]) :].T)
        return (2 * found.sum() - found[:, : len(rows)].sum())[None]

    block = max(1, BLOCK_ENTRIES // len(z))
    total, _ = sums_by_blocks(summed, (z, torch.arange(len(z))), (z,), block)
    return total
