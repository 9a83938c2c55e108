"""What DMT, DMAT and DMAT-i share: an encoder trained on shuffled batches of filtered features (paper 000, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

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
        batches = Batches(nodes, self.batch_size, rng.torch("batches"))
        for step in watch.iterations(steps, encoder=encoder, optimiser=optimiser, views=views, batches=batches):
            batch = batches.next().to(x.device)
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


class Batches:
    """Batches without end: the nodes are shuffled, cut into batches, and shuffled again when they are used up.

    Args:
        nodes: node ids. size: of a batch; the last one of a pass is smaller where it does not divide the nodes.
        generator: what shuffles.
    """

    def __init__(self, nodes: Tensor, size: int, generator: torch.Generator):
        self._nodes = nodes
        self._size = size
        self._generator = generator
        self._order = nodes[:0]
        self._given = 0

    def next(self) -> Tensor:
        """Ids of the next batch's nodes."""
        if self._given >= len(self._order):
            self._order = self._nodes[torch.randperm(len(self._nodes), generator=self._generator)]
            self._given = 0
        batch = self._order[self._given : self._given + self._size]
        self._given += self._size
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Where it is in the pass, and the generator that shuffles the next one."""
        return {"order": self._order, "given": self._given, "generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        self._order, self._given = state["order"], int(state["given"])
        self._generator.set_state(state["generator"])
