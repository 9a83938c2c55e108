"""AGE: adaptive graph encoder for attributed graph embedding (Cui et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction, OneOf, Positive, Range, SameIdAtDefault
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.clusters import number_of_clusters
from gclbench.methods.pair_ranking import least_similar, pair_products, ranked
from gclbench.methods.spectral import davies_bouldin, spectral_clusters
from gclbench.methods.trained import Trained, validation_of
from gclbench.negatives.strategy import Strategy
from gclbench.nn.sparse import compressed
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams

Share = Annotated[float, Range(above=0, most=1)]


@METHODS.register("age")
@dataclass(frozen=True)
class Age(Trained):
    """AGE: a linear encoder of smoothed features, trained on its own most and least similar pairs.

    Its clusters are spectral, on ZZᵀ. It ranks the pairs anew every few epochs. Of these epochs it
    keeps the one whose clusters have the least Davies–Bouldin index; no label has a part in that.
    With `epoch_by=validation`, as in its official script for link prediction, it keeps the one that
    the task's validation pairs, or nodes, score best.

    Attributes:
        epochs: passes over the most similar pairs. update_every: epochs between two rankings.
        lr: of Adam. hidden: width of the embedding. batch_size: pairs of each kind in a batch.
        upper_start, upper_end: share u of the N² pairs that are positives, at the start and at the
            end.
        lower_start, lower_end: l; negatives are drawn from the least similar 1 − l of the pairs.
        clusters: number of clusters; None takes the dataset's number of classes. n_init: restarts
            of their k-means.
        epoch_by: what the epoch is taken by, `clusters` or `validation`; with the second it has no
            clusters of its own.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "its least similar pairs are its negatives"

    epochs: Annotated[int, Range(least=0)] = 400
    update_every: Count = 10
    lr: Positive = 1e-3
    hidden: Count = 500
    batch_size: Count = 10000
    upper_start: Share = 0.0015
    upper_end: Share = 0.001
    lower_start: Fraction = 0.1
    lower_end: Fraction = 0.5
    clusters: Count | None = None
    n_init: Count = 10
    epoch_by: Annotated[str, OneOf("clusters", "validation"), SameIdAtDefault()] = "clusters"

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return AgeModel(self, graph, rng)

    def score(self, graph: Data) -> None:
        """None: its model keeps the best of its epochs itself, those at which it ranks pairs."""

    def judge(self, graph: Data, rng: Streams) -> Callable[[Tensor], tuple[Tensor | None, float]]:
        """From an embedding to its clusters, if any, and the number of which the least is best."""
        if self.epoch_by == "clusters":
            k, seed = number_of_clusters(graph, self.clusters, "age"), rng.integer("kmeans_in_fit")

            def by_clusters(z: Tensor) -> tuple[Tensor | None, float]:
                clusters = spectral_clusters(z, k, self.n_init, seed)
                return clusters, davies_bouldin(z, clusters)

            return by_clusters
        validation = validation_of(graph)
        return lambda z: (None, -validation(Embedding(z, geometry="cosine")))

    def thresholds(self, epoch: int) -> tuple[float, float]:
        """u and l from an epoch's ranking on; straight lines from start to end."""
        part = min(1.0, epoch / max(1, self.epochs))
        return (
            self.upper_start + part * (self.upper_end - self.upper_start),
            self.lower_start + part * (self.lower_end - self.lower_start),
        )


class AgeModel(Model):
    """A linear encoder, the pairs it learns from, and its best embedding so far."""

    def __init__(self, settings: Age, graph: Data, rng: Streams):
        judge = settings.judge(graph, rng)
        rows = normalize(graph.x, dim=1)
        pairs = Pairs(rows, *settings.thresholds(0), generator=rng.torch("pairs"))
        super().__init__(settings.epochs, pairs=pairs, best=Best())
        self.settings, self.x, self.judge = settings, graph.x, judge
        with rng.seeded("init"):
            self.encoder = ScaledLinear(graph.x.shape[1], settings.hidden)

    def losses(self, step: Step) -> Iterator[Loss]:
        pairs = self.state["pairs"]
        for most in pairs.most.split(self.settings.batch_size):
            least = pairs.least(len(most))
            loss = self.pair_loss(torch.cat([most, least]), len(most))
            yield Loss(loss, noted=loss.detach() * len(most) / len(pairs.most))

    def pair_loss(self, ids: Tensor, positives: int) -> Tensor:
        """Binary cross-entropy, the cosine as logit, the first `positives` pairs being positive."""
        x = self.x
        ends = torch.cat([ids // len(x), ids % len(x)])
        # Every node of the batch is encoded once, however many pairs it is in.
        nodes, place = torch.unique(ends, return_inverse=True)
        z = self.encoder(x if len(nodes) == len(x) else x.index_select(0, nodes))
        target = (torch.arange(len(ids), device=x.device) < positives).to(z.dtype)
        one, other = place.chunk(2)
        return binary_cross_entropy_with_logits(PairProducts.apply(z, one, other), target)

    def after(self, step: Step) -> None:
        """Judges the embedding and ranks the pairs anew, every so many epochs."""
        if step.iteration % self.settings.update_every == 0:
            z = encoded(self.encoder, self.x)
            self.state["best"].offer(z, *self.judge(z))
            if step.iteration < step.total:
                self.state["pairs"].rank(z, *self.settings.thresholds(step.iteration))

    def embed(self, step: Step) -> Embedding:
        best = self.state["best"]
        if best.z is None:
            z = encoded(self.encoder, self.x)
            best.offer(z, *self.judge(z))
        return Embedding(best.z, geometry="cosine", clusters=best.clusters)


class ScaledLinear(nn.Module):
    """One linear layer, each row then scaled to [0, 1] by its own least and largest entry, and to
    length 1.

    A row whose entries are all the same becomes zero.

    Args:
        inputs: F. width: d.
    """

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.linear = nn.Linear(inputs, width)

    def forward(self, x: Tensor) -> Tensor:
        """B×F → B×d."""
        h = self.linear(x)
        least, largest = h.aminmax(dim=1, keepdim=True)
        extent = largest - least
        return normalize((h - least) / torch.where(extent > 0, extent, 1.0), dim=1)


class PairProducts(torch.autograd.Function):
    """z_i · z_j of listed pairs (P) of rows of z (N×d).

    The gradient is one product with the sparse N×N matrix of the pairs' own.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, one: Tensor, other: Tensor) -> Tensor:
        ctx.save_for_backward(z, one, other)
        return pair_products(z, one, other)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        z, one, other = ctx.saved_tensors
        rows, columns, values = (
            torch.cat([one, other]),
            torch.cat([other, one]),
            torch.cat([gradient, gradient]),
        )
        order = torch.argsort(rows * len(z) + columns, stable=True)
        matrix = compressed(rows[order], columns[order], values[order], (len(z), len(z)))
        return torch.sparse.mm(matrix, z), None, None


ROWS_AT_ONCE = 8192
"""Nodes encoded together for a ranking; bounds memory."""


@torch.no_grad()
def encoded(encoder: nn.Module, x: Tensor) -> Tensor:
    """The embedding of every node."""
    return torch.cat([encoder(rows) for rows in x.split(ROWS_AT_ONCE)])


class Pairs:
    """The pairs a stretch of epochs learns from.

    Args:
        z: N×d unit rows whose cosines are ranked. upper, lower: u and l. generator: what shuffles
            and draws.

    Attributes:
        most: ids i·N + j of the u·N² most similar pairs, in an order of their own, the same in
            every epoch until the next ranking.
    """

    def __init__(self, z: Tensor, upper: float, lower: float, generator: torch.Generator):
        self._generator = generator
        self.rank(z, upper, lower)

    def rank(self, z: Tensor, upper: float, lower: float) -> None:
        """Ranks the pairs by the cosines of other rows."""
        squared = len(z) ** 2
        found = ranked(z, max(1, round(upper * squared)), max(1, round((1.0 - lower) * squared)))
        order = torch.randperm(len(found.most), generator=self._generator).to(z.device)
        self.most, self._threshold, self._z = found.most[order], found.threshold, z

    def least(self, count: int) -> Tensor:
        """Ids of `count` pairs drawn from the (1 − l)·N² least similar ones."""
        return least_similar(self._z, self._threshold, count, self._generator)

    def state_dict(self) -> dict[str, Any]:
        """All of it."""
        return {
            "most": self.most,
            "threshold": self._threshold,
            "z": self._z,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        device = self._z.device
        self.most, self._z = state["most"].to(device), state["z"].to(device)
        self._threshold = float(state["threshold"])
        self._generator.set_state(state["generator"])


class Best:
    """The embedding with the least index so far, of equal ones the latest.

    Attributes:
        index: its index. z, clusters: it and its clusters, None before the first; no clusters where
            the index needs none.
    """

    def __init__(self) -> None:
        self.index = math.inf
        self.z: Tensor | None = None
        self.clusters: Tensor | None = None

    def offer(self, z: Tensor, clusters: Tensor | None, index: float) -> None:
        """Takes it if its index is not larger."""
        if index <= self.index:
            self.index, self.z, self.clusters = index, z, clusters

    def state_dict(self) -> dict[str, Any]:
        """All of it."""
        return {"index": self.index, "z": self.z, "clusters": self.clusters}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        self.index, self.z, self.clusters = float(state["index"]), state["z"], state["clusters"]
