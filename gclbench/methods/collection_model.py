"""What methods on collections of graphs share: epochs of shuffled batches of whole graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor

from gclbench.contrast.graph_batch import GraphBatch, GraphCollection
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.trained import LEAST_GRAPHS
from gclbench.negatives.strategy import Pair
from gclbench.nn.sparse import normalised_rows
from gclbench.training.loop import Loss, Model, Step


class Epochs(Protocol):
    """Settings of a method that walks batches."""

    @property
    def epochs(self) -> int: ...

    @property
    def batch_size(self) -> int: ...


class CollectionModel(Model):
    """A model whose iteration is an epoch: one step of the optimiser for each batch of graphs.

    `patience` compares the mean losses of whole epochs. The state that it keeps is the one in which
    the epoch with the lowest loss ends.

    Args:
        name: who takes batches, for messages. settings: its epochs and batch_size.
        graph: a collection; training takes two graphs or more.
        normalise: divide each row of the features by its absolute sum.
        batches: what shuffles the graphs. state: what else changes in an epoch.
    """

    def __init__(
        self,
        name: str,
        settings: Epochs,
        graph: Data,
        *,
        batches: torch.Generator,
        normalise: bool = False,
        **state: Any,
    ):
        super().__init__(settings.epochs, batches=batches, **state)
        self.shown_name, self.graph_name = name, graph.name
        self.normalise, self.size, self.device = normalise, settings.batch_size, graph.x.device
        self.collection = self.prepared(graph)
        self.epoch_loss: Tensor
        self.epoch_final: Tensor
        self.register_buffer("epoch_loss", torch.tensor(torch.nan))
        self.register_buffer("epoch_final", torch.tensor(False))

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        """The loss of a batch of graphs.

        Args:
            chosen: (B,) their numbers.
        """
        raise TypeError(f"{type(self).__name__} defines no loss")

    def cut(self) -> list[Tensor]:
        """The numbers of the graphs of each batch of an epoch: a pass over all graphs, unless a
        model says otherwise."""
        return shuffled(len(self.collection), self.size, self.state["batches"])

    def rows(self, batch: GraphBatch) -> Tensor:
        """What is evaluated of a batch of graphs, B×d."""
        raise TypeError(f"{type(self).__name__} defines no embedding")

    def pair(self, step: Step, batch: GraphBatch, mixed: bool = True) -> Pair:
        """Two views of a batch's graphs, for a strategy for negatives.

        Args:
            mixed: whether the strategy may mix inputs of the first view.
        """
        raise TypeError(f"{type(self).__name__} defines no pair of views")

    def losses(self, step: Step) -> Iterator[Loss]:
        """One for each batch.

        Raises:
            Unsupported: for a collection of one graph, which a trained model embeds all the same.
        """
        if len(self.collection) < 2:
            raise Unsupported(
                f"{self.shown_name} takes batches of two graphs or more, and '{self.graph_name}'"
                " has one; method=graph_statistics embeds a single one"
            )
        total = torch.zeros((), device=self.device)
        parts = [part.to(self.device) for part in self.cut()]
        graphs = sum(len(part) for part in parts)
        batches = self.collection.batches(parts)
        ended, final = bool(self.epoch_final), True
        for place, (chosen, batch) in enumerate(zip(parts, batches, strict=True)):
            loss = self.part(step, chosen, batch)
            noted = loss.value.detach() * (len(chosen) / graphs)
            total = total + noted
            # What the epoch before came to says how good the state is that this one begins with.
            known = place == 0 and bool(torch.isfinite(self.epoch_loss))
            judged = self.epoch_loss.clone() if known else None
            final = final and loss.final
            yield replace(loss, noted=noted, judged=judged, final=known and ended)
        self.epoch_loss = total
        self.epoch_final.fill_(final)

    def outcome(self) -> Tensor | None:
        """The loss of the last epoch, which no later one is there to tell."""
        known = bool(self.epoch_final) and bool(torch.isfinite(self.epoch_loss))
        return self.epoch_loss.clone() if known else None

    def all_rows(self, collection: GraphCollection | None = None) -> Tensor:
        """The rows of all graphs in order, n×d, a batch at a time; of the own collection, or of
        another one."""
        found = collection or self.collection
        order = torch.arange(len(found), device=self.device)
        return torch.cat([self.rows(batch) for batch in found.batches(order.split(self.size))])

    def encode(self, graph: Data) -> Tensor:
        """The rows of the graphs of another collection, n×d, by the model as it is."""
        self.eval()
        with torch.no_grad():
            return self.all_rows(self.prepared(graph))

    def prepared(self, graph: Data) -> GraphCollection:
        """A collection as the model takes it."""
        x, *rest = (part.to(self.device) for part in (graph.x, graph.edge_index, graph.graph_of))
        return GraphCollection(normalised_rows(x) if self.normalise else x, *rest)

    def pair_of_all(self, step: Step) -> Pair:
        """Two views of all graphs in order; eval mode, without gradients, nothing mixed."""
        training = self.training
        self.eval()
        order = torch.arange(len(self.collection), device=self.device)
        with torch.no_grad():
            pairs = [
                self.pair(step, batch, mixed=False)
                for batch in self.collection.batches(order.split(self.size))
            ]
        self.train(training)
        u, v = torch.cat([pair.u for pair in pairs]), torch.cat([pair.v for pair in pairs])
        return replace(pairs[0], u=u, views=(v,), batched=True)

    def evaluated(self, step: Step) -> Embedding:
        return Embedding(self.all_rows())

    def embed(self, step: Step) -> Embedding:
        return replace(self.evaluated(step), encode=self.encode)


def shuffled(graphs: int, size: int, generator: torch.Generator) -> list[Tensor]:
    """The graphs' numbers in random order, cut into batches.

    A last batch of fewer than `LEAST_GRAPHS` graphs joins the one before it.

    Args:
        graphs: G. size: of a batch.
    """
    order = torch.randperm(graphs, generator=generator)
    batches = list(order.split(size))
    if len(batches) > 1 and len(batches[-1]) < LEAST_GRAPHS:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches
