"""Chebyshev: spectral convolutions by polynomials (Defferrard et al. 2016), supervised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch.nn.functional import relu

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count
from gclbench.methods.supervised import Supervised
from gclbench.nn.chebyshev import NarrowChebConv
from gclbench.nn.stack import Stack


@METHODS.register("chebyshev")
@dataclass(frozen=True)
class Chebyshev(Supervised):
    """Chebyshev: two spectral convolutions, trained on the labels of training nodes.

    Attributes:
        order: polynomials T_0 … T_(order−1) of each convolution.
    """

    version: ClassVar[str] = "2"

    order: Count = 3

    def network(self, inputs: int, classes: int) -> Stack:
        first = NarrowChebConv(inputs, self.hidden, self.order)
        return Stack([first], NarrowChebConv(self.hidden, classes, self.order), relu, self.dropout)
