"""What DMT, DMAT and DMAT-i share: an encoder trained on shuffled batches of filtered features (paper 000, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.graph import Embedding, Unsupported
from gclbench.hyperparameters import Count, NonNegative, OneOf, Positive, Range
from gclbench.nn.mlp import ACTIVATIONS, Mlp
from gclbench.streams import Streams
from gclbench.watch import Watch

ROWS_AT_ONCE = 8192
"""Nodes encoded together for the final embedding; bounds memory."""

NO_DIRECTION = 1e-6
"""Length below which a row counts as zero."""


@dataclass(frozen=True)
class MetricLearning:
    """The shared hyper-parameters and training loop.

    Attributes:
        epochs: number of training iterations, `n_epochs` of the paper's Table 8; 0 leaves the encoder untrained.
        epoch_is: what one iteration is: one `batch`, or one `pass` over all batches (docs/choices.md says why `batch`).
        architecture: width of each encoder layer.
        activation: between layers; none after the last.
        tau: temperature t. lr, weight_decay: of AdamW.
        batch_size: nodes per batch; a batch larger than the graph is the graph.
    """

    version: ClassVar[str] = "1"

    epochs: Annotated[int, Range(least=0)] = 300
    epoch_is: Annotated[str, OneOf("batch", "pass")] = "batch"
    architecture: tuple[Count, ...] = (256, 128)
    activation: Annotated[str, OneOf(*ACTIVATIONS)] = "gelu"
    tau: Positive = 1.0
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.02
    batch_size: Annotated[int, Range(least=2)] = 512

    def __post_init__(self) -> None:
        if not self.architecture:
            raise ValueError("architecture needs at least one width, for example method.architecture=[256,128]")

    @property
    def needs_labels(self) -> bool:
        """Whether training reads the labels of training nodes."""
        return True

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Trains the encoder and embeds every node.

        Args:
            graph: x (N×F) is the filtered features. labels: (N,), −1 where a label may not be seen.

        Raises:
            Unsupported: when the method needs labels and sees fewer than two.
        """
        x = graph.x
        nodes = torch.arange(len(x))
        if self.needs_labels:
            nodes = nodes[labels.cpu() >= 0]
            if len(nodes) < 2:
                raise Unsupported(
                    f"{type(self).__name__} learns from labelled nodes and sees {len(nodes)}; "
                    "only task=classification reveals labels, those of its training nodes"
                )
        with rng.seeded("init"):
            encoder = Mlp(x.shape[1], self.architecture, self.activation).to(x.device)
        optimiser = torch.optim.AdamW(encoder.parameters(), lr=self.lr, weight_decay=self.weight_decay, fused=True)
        views = rng.torch("views")
        batches_per_pass = math.ceil(len(nodes) / self.batch_size)
        steps = self.epochs * (batches_per_pass if self.epoch_is == "pass" else 1)
        for step, batch in enumerate(_batches(nodes, self.batch_size, steps, rng.torch("batches")), start=1):
            batch = batch.to(x.device)
            loss = self.objective(encoder, x.index_select(0, batch), labels[batch], views)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            watch(step, steps, loss.detach())
        with torch.inference_mode():
            z = torch.cat([encoder(rows) for rows in x.split(ROWS_AT_ONCE)])
        return Embedding(z.clone(), geometry="cosine")

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """The loss of one batch.

        Args:
            x: B×F. labels: (B,). views: the stream that masks are drawn from.
        """
        raise TypeError(f"{type(self).__name__} defines no objective")


def unit_rows(embeddings: list[Tensor]) -> list[Tensor]:
    """Each M×d embedding with its rows scaled to length 1.

    A row shorter than `NO_DIRECTION` becomes zero and gets no gradient: a node without features, or one whose features are
    all masked in a view, has no direction, and dividing by its length would blow rounding errors up.
    """
    return [_unit(embedding) for embedding in embeddings]


def _unit(embedding: Tensor) -> Tensor:
    length = torch.linalg.vector_norm(embedding, dim=1, keepdim=True)
    nowhere = length < NO_DIRECTION
    scaled = embedding / length.masked_fill(nowhere, 1.0)
    return scaled.masked_fill(nowhere, 0.0)


def _batches(nodes: Tensor, size: int, count: int, generator: torch.Generator) -> Iterator[Tensor]:
    """`count` batches: the nodes are shuffled, cut into batches, and shuffled again when they are used up."""
    given = 0
    while given < count:
        for batch in nodes[torch.randperm(len(nodes), generator=generator)].split(size):
            if given == count:
                return
            given += 1
            yield batch
