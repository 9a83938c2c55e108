"""VGAE: variational graph auto-encoder (Kipf and Welling 2016)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.graph.carrier import Data
from gclbench.methods.gae import Gae, VariationalModel
from gclbench.negatives.strategy import Strategy
from gclbench.nn.graph_encoder import VariationalEncoder
from gclbench.training.loop import Model
from gclbench.training.streams import Streams


@METHODS.register("vgae")
@dataclass(frozen=True)
class Vgae(Gae):
    """VGAE: GAE whose embeddings are normal distributions, drawn towards a standard one."""

    def encoder(self, inputs: int) -> VariationalEncoder:
        """From F features to means and log deviations of d, without biases."""
        return VariationalEncoder(inputs, self.hidden, self.dimension)

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return VariationalModel(self, graph, rng)
