"""GAT: graph attention network (Veličković et al. 2018), supervised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import nn
from torch.nn.functional import elu
from torch_geometric.nn import GATConv

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Positive, Range
from gclbench.methods.supervised import Share, Supervised
from gclbench.nn.stack import Stack


@METHODS.register("gat")
@dataclass(frozen=True)
class Gat(Supervised):
    """GAT: two layers of attention over neighbours, trained on the labels of training nodes.

    Weight decay acts on all weights.

    Attributes:
        hidden: width of each head. heads: of the first layer, side by side. output_heads: of the
            second, averaged. dropout: before each layer and of the attention.
    """

    for_graphs: ClassVar[str] = "gat_graphs"
    takes_weights: ClassVar[bool] = False  # attention says how much a neighbour counts

    epochs: Annotated[int, Range(least=0)] = 1000
    patience: Annotated[int, Range(least=0)] = 100
    lr: Positive = 5e-3
    hidden: Count = 8
    dropout: Share = 0.6
    heads: Count = 8
    output_heads: Count = 1

    def network(self, inputs: int, classes: int) -> Stack:
        first = GATConv(inputs, self.hidden, self.heads, dropout=self.dropout)
        head = GATConv(
            self.hidden * self.heads,
            classes,
            self.output_heads,
            concat=False,
            dropout=self.dropout,
        )
        return Stack([first], head, elu, self.dropout)

    def decayed(self, network: Stack) -> Iterable[nn.Parameter]:
        """All weights, biases left out."""
        return [value for name, value in network.named_parameters() if not name.endswith("bias")]
