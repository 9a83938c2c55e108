"""DMAT-i: unsupervised deep metric learning on filtered features.

DMT / DMAT / DMAT-i paper, section 3.3 and Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction, OneOf
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.embedding import Embedding
from gclbench.graph import is_sparse
from gclbench.graph.carrier import Data
from gclbench.methods.contrasted import contrasted
from gclbench.methods.metric_learning import ROWS_AT_ONCE, BatchModel, MetricLearning
from gclbench.negatives.strategy import Pair, Strategy, built
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.nn.sparse import in_groups, rows_of
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.replay import Repeated
from gclbench.training.streams import Streams

ENTRIES_FOR_ANALYSES = 1 << 25
"""Largest N·d of the two views that are kept for analyses: 128 MiB each in float32."""


@METHODS.register("dmat_i")
@dataclass(frozen=True)
class DmatI(MetricLearning):
    """DMAT-i: contrast of batches with column-masked views of GnnBP features, no labels.

    Attributes:
        mask_fraction: fraction of feature columns set to zero in a view. views: views per batch.
        train_on: `all` nodes, or the `labelled` ones only (their labels unused; the first block of
            the paper's Table 2).
    """

    takes_negatives: ClassVar[bool] = True

    mask_fraction: Fraction = 0.2
    views: Count = 3
    train_on: Annotated[str, OneOf("all", "labelled")] = "all"

    @property
    def needs_labels(self) -> bool:
        """True only where the labels say which nodes to train on."""
        return self.train_on == "labelled"

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return DmatIModel(self, graph, labels, rng, negatives or Uniform())


class DmatIModel(BatchModel):
    """The unmasked batch as anchors, its masked views against any strategy for negatives.

    With plain negatives the loss is the paper's Eq. 7.
    """

    settings: DmatI

    def __init__(
        self, settings: DmatI, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy
    ):
        super().__init__(settings, graph, labels, rng)
        self.edge_index = graph.edge_index
        width, nodes = settings.architecture[-1], len(graph.x)
        known = {
            "tau": settings.tau,
            "edge_index": graph.edge_index,
            "features": graph.x,
            "nodes": nodes,
        }
        self.known: dict[str, Any] = known  # what every pair of views knows of the graph
        self.strategy = built(negatives, width, nodes, rng, graph.x.device)
        self.batched = min(settings.batch_size, len(settings.training_nodes(labels))) < nodes

    def trained(self) -> list[nn.Parameter]:
        return [*self.encoder.parameters(), *self.strategy.joint_parameters()]

    def loss(self, step: Step) -> Loss:
        return self.contrast(step, *self.drawn())

    def repeated(self, step: Step) -> Repeated | None:
        """With plain negatives every batch of as many rows is the same work."""
        own = type(self).loss is not DmatIModel.loss
        if own or type(self.strategy) is not UniformNegatives or is_sparse(self.x):
            return None
        return Repeated(self.drawn(), partial(self.contrast, step))

    def drawn(self) -> tuple[Tensor, ...]:
        """The nodes of the next batch, (B,), and the columns that each of its views lacks."""
        batch = self.state["batches"].next().to(self.x.device)
        if self.in_order(batch):
            batch = batch.sort().values
        return batch, *(self.columns() for _ in range(self.settings.views))

    def in_order(self, batch: Tensor) -> bool:
        """Whether a batch, being all nodes, stands in the graph's order."""
        return len(batch) == len(self.x) and self.strategy.by_number

    def contrast(self, step: Step, batch: Tensor, *dropped: Tensor) -> Loss:
        """The loss of a batch of nodes, (B,), against its views without some columns."""
        x = self.inputs(rows_of(self.x, batch))
        mixture = self.strategy.mixture(len(x), x.device)
        mix = None if mixture is None else mixture.apply
        anchor, *masked = self.encoder.views(x, list(dropped), mix)
        if len(x) < 2:
            # A batch's last node alone has no negatives, and its loss no gradient.
            return Loss(anchor.sum() * 0.0)
        ids = None if self.in_order(batch) else batch
        pair = Pair(anchor, tuple(masked), step=step, batch=ids, **self.known)
        self.strategy.update(pair.detached())
        return self.strategy(pair)

    def columns(self) -> Tensor:
        """The columns that a masked view sets to zero."""
        dropped = dropped_columns(self.x.shape[1], self.settings.mask_fraction, self.state["views"])
        return dropped.to(self.x.device)

    def evaluated(self, step: Step) -> Embedding:
        return Embedding(self.strategy.embed(self.encoded(), self.edge_index), geometry="cosine")

    def embed(self, step: Step) -> Embedding:
        z = self.evaluated(step).z
        views = self.last_views()
        if views is None:
            return Embedding(z, geometry="cosine")
        u, v = (unit_rows(view) for view in views)
        pair = Pair(u, (v,), step=step, batched=self.batched, **self.known)
        return contrasted(z, u, v, pair.tau, self.strategy.report(pair))

    def last_views(self) -> tuple[Tensor, Tensor] | None:
        """All nodes unmasked and with one set of columns masked, N×d each.

        The anchors are mixed where the strategy mixes inputs. None for a graph too large to keep
        them.
        """
        mixture = self.strategy.mixture(len(self.x), self.x.device)
        if len(self.x) * self.settings.architecture[-1] > ENTRIES_FOR_ANALYSES:
            return None
        dropped = [self.columns()]
        rows = in_groups(self.x, ROWS_AT_ONCE)
        parts = [self.encoder.views(self.inputs(part), dropped) for part in rows]
        anchor, masked = (torch.cat(view) for view in zip(*parts, strict=True))
        if mixture is not None and is_sparse(self.x):
            # Mixing rows of x·W is mixing those of x, which it would make dense.
            (anchor,) = self.encoder.views(self.inputs(self.x), [], mixture.apply)
        elif mixture is not None:
            mixed = mixture.apply(self.inputs(self.x)).split(ROWS_AT_ONCE)
            anchor = torch.cat([self.encoder(part) for part in mixed])
        return anchor, masked
