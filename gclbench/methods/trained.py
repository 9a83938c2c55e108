"""What trained methods share: settings that build a model and walk the training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.settings import Machine, OneOf, Range, SameIdAtDefault
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.negatives.strategy import Strategy
from gclbench.tasks.judging import UNJUDGED
from gclbench.training.loop import Model, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

EpochBy = Annotated[str, OneOf("last", "validation"), SameIdAtDefault()]
"""What the number of training steps is chosen by; a setting `epoch_by: EpochBy = "last"` turns the
choice on."""

CourseEvery = Annotated[int, Range(least=0), Machine()]
"""Epochs between two embeddings on the way that the task evaluates too, into the record's
`data.course`; 0 keeps none. They change nothing, so they are no part of a run's identity."""


LEAST_GRAPHS = 3
"""Graphs of the smallest batch. Two negatives are the fewest that a strategy can tell apart."""

BatchOfGraphs = Annotated[int, Range(least=LEAST_GRAPHS)]


class Trained:
    """Base of methods: a frozen dataclass of settings that builds a `Model` and trains it.

    Attributes:
        epochs, lr, weight_decay, patience: of the loop and of Adam, unless a method says otherwise.
        epoch_by: what the number of steps is chosen by: `last` embeds the state in which the
            training ends, `validation` the one that the task's validation part scores best
            (`training.choice`).
        takes_weights: whether the weights of edges do in it what they should; true also where it
            reads no edges (`run.abilities`).
        takes_sparse: whether `graph.x` may be compressed rows (`torch.sparse_csr`); what does not
            say so gets dense features, where they fit the memory.
        inductive: whether trained weights embed another graph of the same features: its model, made
            for that graph, needs nothing else of the training (`run.applied`).
        course: iterations between two embeddings on the way that the task evaluates too, beside
            the run's metrics; 0: none (`training.course`).
    """

    optimiser_class: ClassVar[type[torch.optim.Adam]] = torch.optim.Adam
    inductive: ClassVar[bool] = False
    takes_weights: ClassVar[bool | tuple[str, ...]] = False

    epochs: int
    lr: float
    weight_decay: float = 0.0
    patience: int = 0
    epoch_by: str = "last"
    course: int = 0

    @property
    def reads_validation(self) -> bool:
        """Whether training reads the task's score of its validation nodes or pairs."""
        return self.epoch_by == "validation"

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
        trained = list(model.trained())
        return self.optimiser_class(
            trained,
            lr=self.lr,
            weight_decay=self.weight_decay,
            fused=True,
            # What a CUDA graph needs (training.replay); a processor has none.
            capturable=any(parameter.is_cuda for parameter in trained),
        )

    def score(self, graph: Data) -> Callable[[Embedding], float] | None:
        """What the loop chooses the number of steps by; None keeps the state at the end.

        Raises:
            Unsupported: when it is to read a validation score and the graph has none.
        """
        return validation_of(graph) if self.reads_validation else None

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
        score = self.score(graph)
        model = self.model(graph, labels, rng, negatives).to(graph.x.device)
        return train(model, self.optimiser(model), watch, self.patience, score, self.course)


def validation_of(graph: Data) -> Callable[[Embedding], float]:
    """The task's score of an embedding on its validation nodes or pairs.

    Raises:
        Unsupported: when the graph has none.
    """
    if "validation" not in graph:
        raise Unsupported(UNJUDGED)
    return graph.validation
