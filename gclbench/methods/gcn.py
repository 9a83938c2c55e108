"""GCN: graph convolutional network (Kipf and Welling 2017), supervised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch.nn.functional import relu
from torch_geometric.nn import GCNConv

from gclbench.component.registry import METHODS
from gclbench.methods.supervised import Supervised
from gclbench.nn.stack import Stack


@METHODS.register("gcn")
@dataclass(frozen=True)
class Gcn(Supervised):
    """GCN: two graph convolutions, trained on the labels of training nodes."""

    for_graphs: ClassVar[str] = "gcn_graphs"

    def network(self, inputs: int, classes: int) -> Stack:
        first = GCNConv(inputs, self.hidden, cached=True)
        return Stack([first], GCNConv(self.hidden, classes, cached=True), relu, self.dropout)
