"""ARVGA: adversarially regularised variational graph auto-encoder (Pan et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import NonNegative
from gclbench.graph.carrier import Data
from gclbench.methods.arga import AdversarialModel, Arga
from gclbench.methods.gae import VariationalModel
from gclbench.negatives.strategy import Strategy
from gclbench.nn.graph_encoder import VariationalEncoder
from gclbench.training.loop import Model
from gclbench.training.streams import Streams


@METHODS.register("arvga")
@dataclass(frozen=True)
class Arvga(Arga):
    """ARVGA: VGAE whose embeddings a discriminator cannot tell from a normal distribution.

    The step that fools the discriminator has no other aim.
    """

    noise: NonNegative = 0.0

    def encoder(self, inputs: int) -> VariationalEncoder:
        """From F features to means and log deviations of d, without biases."""
        return VariationalEncoder(inputs, self.hidden, self.dimension, self.noise)

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return VariationalAdversarialModel(self, graph, rng)


class VariationalAdversarialModel(AdversarialModel, VariationalModel):
    """Both at once."""

    generator_reconstructs: ClassVar[bool] = False
