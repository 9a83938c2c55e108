"""What DMT, DMAT and DMAT-i share: an encoder trained on shuffled batches of filtered features.

DMT / DMAT / DMAT-i paper, Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range, Temperature
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.batches import Batches
from gclbench.methods.labelled import labelled_nodes
from gclbench.methods.trained import CourseEvery, EpochBy, Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.mlp import ACTIVATIONS, Mlp
from gclbench.nn.sparse import in_groups, rows_of
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams

ROWS_AT_ONCE = 8192
"""Nodes encoded together for the final embedding; bounds memory."""


@dataclass(frozen=True)
class MetricLearning(Trained):
    """The shared hyper-parameters.

    Attributes:
        epochs: number of training iterations, `n_epochs` of the paper's Table 8; 0 leaves the
            encoder untrained.
        epoch_is: what one iteration is: one `batch`, or one `pass` over all batches
            (docs/choices.md says why `batch`).
        architecture: width of each encoder layer.
        activation: between layers; none after the last.
        unit_input: scale the filtered features' rows to length 1 first, so that the embedding
            depends on their directions alone.
        tau: temperature t. lr, weight_decay: of AdamW.
        batch_size: nodes per batch; a batch larger than the graph is the graph.
        epoch_by: the embedding is that of the `last` iteration, or of the one that the task's
            `validation` part scores best (docs/choices.md).
        course: iterations between two embeddings that the task evaluates besides.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    optimiser_class: ClassVar[type[torch.optim.Adam]] = torch.optim.AdamW
    inductive: ClassVar[bool] = True
    no_negatives: ClassVar[str] = "labels say which of its pairs are negatives"

    epochs: Annotated[int, Range(least=0)] = 300
    epoch_is: Annotated[str, OneOf("batch", "pass")] = "batch"
    architecture: tuple[Count, ...] = (256, 128)
    activation: Annotated[str, OneOf(*ACTIVATIONS)] = "gelu"
    unit_input: bool = True
    tau: Temperature = 1.0
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.02
    batch_size: Annotated[int, Range(least=2)] = 512
    epoch_by: EpochBy = "last"
    course: CourseEvery = 0

    def __post_init__(self) -> None:
        if not self.architecture:
            raise ValueError(
                "architecture needs at least one width, for example method.architecture=[256,128]"
            )

    @property
    def needs_labels(self) -> bool:
        """Whether training reads the labels of training nodes."""
        return True

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return BatchModel(self, graph, labels, rng)

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """The loss of one batch.

        Args:
            x: B×F. labels: (B,). views: the stream that masks are drawn from.
        """
        raise TypeError(f"{type(self).__name__} defines no objective")

    def training_nodes(self, labels: Tensor) -> Tensor:
        """The nodes that batches are made of: those with a label, where the method needs labels.

        Raises:
            Unsupported: when it needs labels and sees fewer than two.
        """
        if not self.needs_labels:
            return torch.arange(len(labels))
        return labelled_nodes(labels, METHODS.name_of(type(self)))


class BatchModel(Model):
    """The encoder at work on one batch per iteration."""

    def __init__(self, settings: MetricLearning, graph: Data, labels: Tensor, rng: Streams):
        nodes = settings.training_nodes(labels)
        passes = settings.epoch_is == "pass"
        per_epoch = math.ceil(len(nodes) / settings.batch_size) if passes else 1
        batches = Batches(nodes, settings.batch_size, rng.torch("batches"))
        super().__init__(settings.epochs * per_epoch, views=rng.torch("views"), batches=batches)
        self.settings, self.x, self.labels = settings, graph.x, labels
        with rng.seeded("init"):
            self.encoder = Mlp(graph.x.shape[1], settings.architecture, settings.activation)

    def loss(self, step: Step) -> Loss:
        batch = self.state["batches"].next().to(self.x.device)
        x, labels = self.inputs(rows_of(self.x, batch)), self.labels[batch]
        loss = self.settings.objective(self.encoder, x, labels, self.state["views"])
        return Loss(loss, {"contrast": loss.detach()})

    def inputs(self, rows: Tensor) -> Tensor:
        """What the encoder reads of filtered features, M×F."""
        return unit_rows(rows) if self.settings.unit_input else rows

    def encoded(self) -> Tensor:
        """The embedding of every node, N×d."""
        parts = [self.encoder(self.inputs(rows)) for rows in in_groups(self.x, ROWS_AT_ONCE)]
        return torch.cat(parts)

    def embed(self, step: Step) -> Embedding:
        return Embedding(self.encoded(), geometry="cosine")
