"""ARGA: adversarially regularised graph auto-encoder (Pan et al. 2018), torch_geometric's model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn
from torch_geometric.nn import models

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Positive
from gclbench.graph.carrier import Data
from gclbench.methods.gae import AutoencoderModel, Gae
from gclbench.negatives.strategy import Strategy
from gclbench.nn.graph_encoder import GraphEncoder
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams, drawing_from


@METHODS.register("arga")
@dataclass(frozen=True)
class Arga(Gae):
    """ARGA: GAE whose embeddings a discriminator cannot tell from a normal distribution.

    In each iteration first the discriminator takes a step, then the encoder.

    Attributes:
        discriminator: widths of the discriminator's two hidden layers.
    """

    lr: Positive = 1e-3
    dimension: Count = 32
    discriminator: tuple[Count, ...] = (16, 64)

    def autoencoder(self, inputs: int) -> models.GAE:
        """torch_geometric's model, from F features to d."""
        return models.ARGA(GraphEncoder(inputs, self.hidden, self.dimension), self.judge())

    def judge(self) -> nn.Module:
        """The discriminator: d to one logit."""
        widths = [self.dimension, *self.discriminator, 1]
        return models.MLP(widths, act="relu", norm=None)

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return AdversarialModel(self, graph, rng)


class AdversarialModel(AutoencoderModel):
    """An auto-encoder and its discriminator in turn."""

    def losses(self, step: Step) -> Iterator[Loss]:
        judge = self.autoencoder.discriminator
        with drawing_from(self.state["noise"]):
            z = self.autoencoder.encode(self.x, *self.edges)
            telling = self.autoencoder.discriminator_loss(z)
        yield Loss(telling, {"discriminator": telling.detach()})
        # The encoder's step leaves the discriminator as it is.
        judge.requires_grad_(False)
        loss = self.rebuilt(z)
        fooling = self.autoencoder.reg_loss(z)
        yield Loss(
            loss.value + fooling,
            {**loss.terms, "fooling": fooling.detach(), "discriminator": telling.detach()},
        )
        judge.requires_grad_(True)
