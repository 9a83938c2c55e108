"""JKNet: jumping knowledge network (Xu et al. 2018), supervised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from torch import nn
from torch.nn.functional import relu
from torch_geometric.nn import GCNConv, JumpingKnowledge

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, OneOf, Positive
from gclbench.methods.supervised import Supervised
from gclbench.nn.stack import Stack, WithoutEdges


@METHODS.register("jknet")
@dataclass(frozen=True)
class JkNet(Supervised):
    """JKNet: a linear layer on what all graph convolutions found, trained on training labels.

    Weight decay acts on all weights.

    Attributes:
        layers: graph convolutions. jump: the layers' outputs side by side (`cat`) or their largest
            entries (`max`).
    """

    lr: Positive = 5e-3
    hidden: Count = 32
    layers: Count = 4
    jump: Annotated[str, OneOf("cat", "max")] = "cat"

    def network(self, inputs: int, classes: int) -> Stack:
        widths = [inputs, *[self.hidden] * self.layers]
        layers = [
            GCNConv(before, after, cached=True)
            for before, after in zip(widths[:-1], widths[1:], strict=True)
        ]
        width = self.hidden * (self.layers if self.jump == "cat" else 1)
        return Stack(
            layers, WithoutEdges(width, classes), relu, self.dropout, JumpingKnowledge(self.jump)
        )

    def decayed(self, network: Stack) -> Iterable[nn.Parameter]:
        """All weights and biases."""
        return network.parameters()
