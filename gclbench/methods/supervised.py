"""Classifiers that are trained on the labels of training nodes: what gcn, gat, mlp, chebyshev and
jknet share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, Positive, Range
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.machine import precision
from gclbench.methods.labelled import classes_without_node, labelled_nodes, unseen_classes
from gclbench.methods.trained import Trained, validation_of
from gclbench.negatives.strategy import Strategy
from gclbench.nn.sparse import compressed_if_sparse, normalised_rows
from gclbench.nn.stack import Stack
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams, drawing_from

Share = Annotated[float, Range(least=0, below=1)]


@dataclass(frozen=True)
class Supervised(Trained):
    """The shared hyper-parameters; the defaults are those of Kipf and Welling (2017).

    Attributes:
        epochs: full-graph steps at most.
        patience: steps without a smaller cross-entropy on the validation nodes that end the
            training, which then goes back to the state with the smallest; 0: all epochs, the last
            state, and no validation node is read. A state is judged before the step that follows
            it, so that after the last of all epochs is not.
        lr: of Adam. weight_decay: of Adam, on the weights that the method names.
        hidden: width of a hidden layer. dropout: before each layer.
        normalize_features: divide each row of the features by its absolute sum.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True  # first layers multiply x by a weight before all else
    needs_labels: ClassVar[bool] = True
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it learns classes, and contrasts no pairs of nodes"
    unjudged: ClassVar[str] = (
        "a supervised method learns from the labels of training nodes and stops by those of"
        " validation nodes, and this task has neither; only task=classification has"
    )

    epochs: Annotated[int, Range(least=0)] = 200
    patience: Annotated[int, Range(least=0)] = 10
    lr: Positive = 0.01
    weight_decay: NonNegative = 5e-4
    hidden: Count = 16
    dropout: Share = 0.5
    normalize_features: bool = True

    @property
    def reads_validation(self) -> bool:
        """Whether early stopping reads the task's score on validation nodes."""
        return self.patience > 0

    def score(self, graph: Data) -> Callable[[Embedding], float] | None:
        """None: patience itself goes by the validation nodes, after every step."""
        return None

    def network(self, inputs: int, classes: int) -> Stack:
        """The layers, from F features to K class scores."""
        raise TypeError(f"{type(self).__name__} defines no network")

    def decayed(self, network: Stack) -> Iterable[nn.Parameter]:
        """What weight decay acts on: the first layer (Kipf and Welling 2017)."""
        return network.layers[0].parameters()

    def optimiser(self, model: Model) -> torch.optim.Optimizer:
        """Adam with the weight decay on what `decayed` names."""
        own = list(self.decayed(model.network))  # type: ignore[arg-type]
        names = {id(parameter) for parameter in own}
        rest = [parameter for parameter in model.parameters() if id(parameter) not in names]
        groups = [
            {"params": own, "weight_decay": self.weight_decay},
            {"params": rest, "weight_decay": 0.0},
        ]
        return torch.optim.Adam(groups, lr=self.lr, fused=True)

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return SupervisedModel(self, graph, labels, rng)


class SupervisedModel(Model):
    """A network at work on the whole graph: cross-entropy on the training nodes."""

    def __init__(self, settings: Supervised, graph: Data, labels: Tensor, rng: Streams):
        super().__init__(settings.epochs, noise=rng.torch("noise", graph.x.device))
        self.nodes = labelled_nodes(labels, METHODS.name_of(type(settings))).to(graph.x.device)
        self.targets = labels[self.nodes]
        self.unseen = classes_without_node(labels, graph.classes)
        x = normalised_rows(graph.x) if settings.normalize_features else graph.x
        self.x = compressed_if_sparse(x)
        self.edges = graph.edges
        self.validation = validation_of(graph) if settings.reads_validation else None
        with rng.seeded("init"):
            self.network = settings.network(graph.x.shape[1], graph.classes)

    def loss(self, step: Step) -> Loss:
        judged = None
        if self.validation is not None:
            self.eval()
            with torch.no_grad(), precision.exact_products():
                judged = -torch.tensor(self.validation(self.evaluated(step)))
            self.train()
        with drawing_from(self.state["noise"]):
            _, scores = self.network(self.x, *self.edges)
        loss = cross_entropy(scores[self.nodes], self.targets)
        return Loss(loss, {"cross-entropy": loss.detach()}, judged=judged)

    def evaluated(self, step: Step) -> Embedding:
        hidden, scores = self.network(self.x, *self.edges)
        return Embedding(hidden, scores=scores)

    def embed(self, step: Step) -> Embedding:
        found = self.evaluated(step)
        findings: dict[str, Any] = {}
        if self.validation is not None:
            findings["validation"] = self.validation(found)
        return Embedding(found.z, scores=found.scores, **unseen_classes(self.unseen, findings))
