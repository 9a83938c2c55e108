"""The contrast of nodes with a summary of the graph.

Deep Graph Infomax (Veličković et al. 2019); MVGRL uses it, too.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


def summary(h: Tensor) -> Tensor:
    """sigmoid of the mean node embedding: (d,) from N×d (DGI, Eq. 3)."""
    return torch.sigmoid(h.mean(dim=0))


class Discriminator(nn.Module):
    """Scores of nodes against a summary: hᵀ W c + b (DGI, Eq. 4).

    The summary is one vector, so W c is computed first and the cost is O(N·d + d²); a bilinear
    layer on N copies of c may need N×d×d.

    Args:
        width: d.
    """

    def __init__(self, width: int):
        super().__init__()
        # Glorot's range for a bilinear layer of one output, whose fan-in is d²: far narrower than
        # that of a d×d layer.
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width, width))[0])
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, h: Tensor, c: Tensor) -> Tensor:
        """(N,) from h (N×d) and c (d,)."""
        return h @ (self.weight @ c) + self.bias


def true_or_shuffled(true: list[Tensor], shuffled: list[Tensor]) -> Tensor:
    """Binary cross-entropy of telling scores of true nodes from those of shuffled ones, averaged
    over all of them (DGI, Eq. 1).

    Args:
        true, shuffled: score vectors (logits) of any lengths.
    """
    losses = [softplus(-scores) for scores in true] + [softplus(scores) for scores in shuffled]
    return torch.cat(losses).mean()
