"""What trained methods share: settings that build a model and walk the training loop."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.embedding import Embedding
from gclbench.negatives.strategy import Strategy
from gclbench.training.loop import Model, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


class Trained:
    """Base of methods: a frozen dataclass of settings that builds a `Model` and trains it.

    Attributes:
        epochs, lr, weight_decay, patience: of the loop and of Adam, unless a method says otherwise.
    """

    optimiser_class: ClassVar[type[torch.optim.Adam]] = torch.optim.Adam

    epochs: int
    lr: float
    weight_decay: float = 0.0
    patience: int = 0

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        """The model at its start.

        Args:
            graph: x (N×F), edge_index (2×E). labels: (N,), −1 where a label may not be seen.
            negatives: settings of the strategy, for a method that takes one.

        Raises:
            Unsupported: when the graph does not suit the method or the strategy.
        """
        raise TypeError(f"{type(self).__name__} defines no model")

    def optimiser(self, model: Model) -> torch.optim.Optimizer:
        """Adam, or the method's own class, at its rate and weight decay."""
        return self.optimiser_class(
            model.trained(), lr=self.lr, weight_decay=self.weight_decay, fused=True
        )

    def fit(
        self,
        graph: Data,
        labels: Tensor,
        rng: Streams,
        watch: Watch,
        negatives: Strategy | None = None,
    ) -> Embedding:
        """Trains the model and embeds every item of the graph.

        Args:
            graph: x (N×F), edge_index (2×E). labels: (N,), −1 where a label may not be seen.
            negatives: settings of the strategy, for a method that takes one.

        Raises:
            Unsupported: when the graph does not suit the method or the strategy.
        """
        model = self.model(graph, labels, rng, negatives).to(graph.x.device)
        return train(model, self.optimiser(model), watch, self.patience)
