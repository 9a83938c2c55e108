"""MLP: the network of GCN without the graph, supervised."""

from __future__ import annotations

from dataclasses import dataclass

from torch.nn.functional import relu

from gclbench.component.registry import METHODS
from gclbench.methods.supervised import Supervised
from gclbench.nn.stack import Stack, WithoutEdges


@METHODS.register("mlp")
@dataclass(frozen=True)
class SupervisedMlp(Supervised):
    """MLP: one hidden layer on the features, trained on the labels of training nodes."""

    def network(self, inputs: int, classes: int) -> Stack:
        first = WithoutEdges(inputs, self.hidden)
        return Stack([first], WithoutEdges(self.hidden, classes), relu, self.dropout)
