"""The contrast of nodes with a summary of the graph, or with whole graphs.

Deep Graph Infomax (Veličković et al. 2019), InfoGraph (Sun et al. 2020); MVGRL uses both.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from gclbench.contrast.blocks import block_rows, by_blocks


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


def nodes_against_graphs(
    nodes: Tensor, graphs: Tensor, graph_of: Tensor, block: int | None = None
) -> Tensor:
    """The Jensen–Shannon objective of nodes against whole graphs, to be minimised.

    InfoGraph (Sun et al. 2020), Eq. 5.

    With scores s_ig = ⟨node_i, graph_g⟩: the mean of softplus(−s) over the nodes with their own
    graph, and that of softplus(s) over the nodes with the other graphs; 2 log 2 less, so that
    scores of 0 give 0.

    Args:
        nodes: M×d. graphs: B×d, two or more. graph_of: (M,) numbers below B.
        block: nodes per tile, chosen by `block_rows` when None.
    """
    rows, columns = len(nodes), len(graphs)

    def sums(start: int, stop: int) -> Tensor:
        own = graph_of[start:stop, None]
        scores = nodes[start:stop] @ graphs.T
        others = softplus(scores.scatter(1, own, -torch.inf)).sum(dim=1)
        return torch.stack([softplus(-scores.gather(1, own)[:, 0]), others], dim=1)

    size = block_rows(rows, columns, per_entry=2) if block is None else block
    own, others = by_blocks(sums, rows, size).sum(dim=0)
    return own / rows + others / (rows * (columns - 1)) - 2 * math.log(2)
