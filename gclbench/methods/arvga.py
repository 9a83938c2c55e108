"""ARVGA: adversarially regularised variational graph auto-encoder (Pan et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch_geometric.nn import models

from gclbench.component.registry import METHODS
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
    """ARVGA: VGAE whose embeddings a discriminator cannot tell from a normal distribution."""

    def autoencoder(self, inputs: int) -> models.GAE:
        """torch_geometric's model, from F features to means and log deviations of d."""
        encoder = VariationalEncoder(inputs, self.hidden, self.dimension)
        return models.ARGVA(encoder, self.judge())

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return VariationalAdversarialModel(self, graph, rng)


class VariationalAdversarialModel(AdversarialModel, VariationalModel):
    """Both at once."""
