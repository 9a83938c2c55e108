"""JOAO: GraphCL that chooses its augmentations during the training (You et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.component.settings import Fraction, NonNegative, OneOf, Positive, Range
from gclbench.contrast.graph_batch import GraphBatch
from gclbench.contrast.graph_views import AUGMENTATIONS, augmented, drawn_kinds
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.collection_model import shuffled
from gclbench.methods.graphcl import GraphclModel, GraphViews
from gclbench.negatives.strategy import Pair, Strategy
from gclbench.negatives.uniform import Uniform
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams

SAMPLED = 5
"""The loss of an augmentation is read off one batch in so many, and one more."""


@METHODS.register("joao")
@dataclass(frozen=True)
class Joao(GraphViews):
    """JOAO: GraphCL whose shares of augmentations follow the losses that they lead to.

    After each epoch p ← the point of the simplex nearest to p + loss − γ·(p − 1/k), with the plain
    loss of each of the k augmentations (JOAO paper, Eqs. 8 and 9).

    Attributes:
        gamma: γ, the pull towards equal shares.
    """

    augmentations: tuple[str, ...] = AUGMENTATIONS
    ratio: Fraction = 0.2
    walk: Fraction = 0.8
    gamma: NonNegative = 0.1

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return JoaoModel(self, graph, rng, negatives or Uniform())


@METHODS.register("joaov2")
@dataclass(frozen=True)
class Joaov2(Joao):
    """JOAOv2: JOAO with a projector for each augmentation.

    Attributes:
        projectors: `sample`: each graph goes through that of its own augmentation, and a graph as
            it is through that of `identity` (the paper). `epoch`: as released, where one projector
            is drawn for all views of an epoch, and the graphs themselves and the choice of the
            shares always go through the first.
    """

    epochs: Annotated[int, Range(least=0)] = 40
    lr: Positive = 1e-3
    projectors: Annotated[str, OneOf("sample", "epoch")] = "sample"

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return Joaov2Model(self, graph, rng, negatives or Uniform())


class JoaoModel(GraphclModel):
    """GraphCL's model with shares of its augmentations.

    Attributes:
        shares: p, in the order of `settings.augmentations`.
    """

    name: ClassVar[str] = "joao"
    settings: Joao

    def __init__(self, settings: Joao, graph: Data, rng: Streams, negatives: Strategy):
        super().__init__(settings, graph, rng, negatives)
        self.state["shares"] = rng.torch("shares")
        count = len(settings.augmentations)
        self.shares: Tensor
        self.register_buffer("shares", torch.full((count,), 1 / count))

    def kinds(self, graphs: int) -> Tensor:
        names, generator = self.settings.augmentations, self.state["views"]
        return drawn_kinds(graphs, names, generator, self.shares.cpu())

    def after(self, step: Step) -> None:
        """The shares follow the losses."""
        losses = self.losses_by_augmentation(step)
        pull = self.settings.gamma * (self.shares - 1 / len(self.shares))
        self.shares = nearest_shares(self.shares + losses - pull)

    def losses_by_augmentation(self, step: Step) -> Tensor:
        """The plain loss where all graphs have the same augmentation, (k,), on a few batches.

        In eval mode and without gradients, so that running averages stay as they are.
        """
        generator = self.state["shares"]
        batches = shuffled(len(self.collection), self.size, generator)
        batches = batches[: len(batches) // SAMPLED + 1]
        self.eval()
        with torch.no_grad():
            gathered = [*self.collection.batches([part.to(self.device) for part in batches])]
            names = self.settings.augmentations
            found = [self.loss_under(name, gathered, step) for name in names]
        self.train()
        return torch.stack(found)

    def loss_under(self, name: str, batches: list[GraphBatch], step: Step) -> Tensor:
        """The mean plain loss over the graphs of some batches, all augmented in one way."""
        total = torch.zeros((), device=self.device)
        for batch in batches:
            kinds = torch.full((batch.graphs,), AUGMENTATIONS.index(name))
            view = augmented(batch, kinds, self.strengths, self.state["shares"])
            u = self.judged(self.encoded(batch), None)
            v = self.judged(self.encoded(view), kinds)
            pair = Pair(u, (v,), self.settings.tau, step, intra=False)
            total = total + self.plain(pair).value * batch.graphs
        return total / sum(batch.graphs for batch in batches)

    def judged(self, z: Tensor, kinds: Tensor | None) -> Tensor:
        """`projected` where the losses of the augmentations are compared."""
        return self.projected(z, kinds)

    def embed(self, step: Step) -> Embedding:
        found = super().embed(step)
        names = (f"joao_{name}" for name in self.settings.augmentations)
        shares = dict(zip(names, self.shares.tolist(), strict=True))
        return replace(found, findings={**found.findings, **shares})


class Joaov2Model(JoaoModel):
    """JOAO's model with a projector for each of `AUGMENTATIONS`."""

    name: ClassVar[str] = "joaov2"
    settings: Joaov2
    projector: nn.ModuleList

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        # Which augmentation the epoch drew: the last one's projector is used again at the end.
        self.state["drawn"] = torch.tensor(0)

    def heads(self, width: int) -> nn.Module:
        return nn.ModuleList(GraphclModel.heads(self, width) for _ in AUGMENTATIONS)

    def losses(self, step: Step) -> Iterator[Loss]:
        names, generator = self.settings.augmentations, self.state["views"]
        if self.settings.projectors == "epoch":
            self.state["drawn"].copy_(drawn_kinds(1, names, generator, self.shares.cpu())[0])
        yield from super().losses(step)

    def judged(self, z: Tensor, kinds: Tensor | None) -> Tensor:
        return self.projected(z, None if self.settings.projectors == "epoch" else kinds)

    def projected(self, z: Tensor, kinds: Tensor | None) -> Tensor:
        if self.settings.projectors == "epoch":
            return self.projector[0 if kinds is None else int(self.state["drawn"])](z)
        if kinds is None:
            return self.projector[AUGMENTATIONS.index("identity")](z)
        every = torch.stack([head(z) for head in self.projector])
        return every[kinds.to(z.device), torch.arange(len(z), device=z.device)]


def nearest_shares(point: Tensor) -> Tensor:
    """The point of the simplex (entries ≥ 0 that sum to 1) nearest to a given one, (k,)."""
    falling = point.double().sort(descending=True).values
    over = (falling.cumsum(0) - 1) / torch.arange(1, len(point) + 1, device=point.device)
    # The entries above their own threshold come first.
    threshold = over[int((falling > over).sum()) - 1]
    return (point.double() - threshold).clamp(min=0).to(point.dtype)
