"""The two views of MVGRL: a graph's propagation matrix and its diffusion."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gclbench.contrast.local_global import summary, true_or_shuffled
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import is_sparse, with_features
from gclbench.graph.carrier import Data
from gclbench.negatives.strategy import RowMixture
from gclbench.nn.convolution import Convolution
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix, normalised_rows

PROPAGATION_COST = 14
"""A sparse product's time per multiplication over a dense product's, on a CPU with AVX-512 (Cora, d
= 512, one thread)."""


class TwoPropagations:
    """The two views of one graph: S = D^(−½)(A + I)D^(−½) and its personalised PageRank α (I −
    (1−α) S)⁻¹.

    The second, the diffusion, is not stored. Each step applies it to x W by sparse products. Where
    features are few for the number of edges, the filter applies it to x once, and a step on the
    whole graph takes one dense product.

    Args:
        graph: x (N×F), edge_index (2×E). alpha: α. normalise: divide each row of the features by
            its sum.
    """

    def __init__(self, graph: Data, alpha: float, normalise: bool):
        x = normalised_rows(graph.x) if normalise else graph.x
        self.features = Features(x)
        self.propagation = Adjacency(
            graph.edge_index, self.features.nodes, graph.edge_weight
        ).normalised()
        self.diffusion = Diffusion(self.propagation, alpha)
        entries = graph.edge_index.shape[1] + self.features.nodes
        self.smoothed: Features | None = None
        if not is_sparse(x) and x.numel() < PROPAGATION_COST * self.diffusion.steps * entries:
            smoothed = (
                GnnBP(alpha=alpha, rrz=0.5)
                .apply(with_features(graph, x).cpu(), device=str(x.device))
                .x
            )
            self.smoothed = Features(smoothed.to(x.device))

    def nodes(
        self,
        first: Convolution,
        second: Convolution,
        mixture: RowMixture | None = None,
        among: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The nodes' embeddings in either view, each N×d; the first view's inputs mixed where
        asked.

        Args:
            among: (M,) the nodes of a sub-graph, for M×d: both views' matrices without the other
                nodes' rows and columns.
        """
        here = _chosen(first.product(self.features), among)
        if mixture is not None:
            here = mixture.apply(here)
        return first.activate(self._applied(self.propagation, here, among)), second.activate(
            self._diffused(second, among)
        )

    def local_global(
        self,
        first: Convolution,
        second: Convolution,
        discriminator: Callable[[Tensor, Tensor], Tensor],
        shuffles: torch.Generator,
        among: Tensor | None = None,
    ) -> Tensor:
        """The paper's loss: nodes of either view, true and with shuffled features, against the
        summary of the other (Eq. 4)."""
        here, there = (_chosen(layer.product(self.features), among) for layer in (first, second))
        order = torch.randperm(len(here), generator=shuffles).to(here.device)
        u = first.activate(self._applied(self.propagation, here, among))
        v = second.activate(self._diffused(second, among, there))
        # Shuffling the rows of x W is shuffling those of x.
        shuffled_u = first.activate(
            self._applied(self.propagation, here.index_select(0, order), among)
        )
        shuffled_v = second.activate(
            self._applied(self.diffusion, there.index_select(0, order), among)
        )
        of_u, of_v = summary(u), summary(v)
        return true_or_shuffled(
            [discriminator(v, of_u), discriminator(u, of_v)],
            [discriminator(shuffled_v, of_u), discriminator(shuffled_u, of_v)],
        )

    def _diffused(
        self, convolution: Convolution, among: Tensor | None, product: Tensor | None = None
    ) -> Tensor:
        """The diffusion of x W of the graph or a sub-graph, the cheaper way."""
        if self.smoothed is not None and among is None:
            return convolution.product(self.smoothed)
        product = _chosen(convolution.product(self.features), among) if product is None else product
        return self._applied(self.diffusion, product, among)

    def _applied(
        self, operator: SparseMatrix | Diffusion, product: Tensor, among: Tensor | None
    ) -> Tensor:
        """operator·product. On a sub-graph the other rows are zero, so the sub-matrix is never
        built."""
        if among is None:
            return operator @ product
        placed = product.new_zeros(self.features.nodes, product.shape[1]).index_copy_(
            0, among, product
        )
        return (operator @ placed).index_select(0, among)


def _chosen(rows: Tensor, among: Tensor | None) -> Tensor:
    return rows if among is None else rows.index_select(0, among)
