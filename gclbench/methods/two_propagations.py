"""The two views of MVGRL: a graph's propagation matrix and its diffusion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from gclbench.contrast.local_global import summary, true_or_shuffled
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import is_sparse, with_features
from gclbench.graph.carrier import Data
from gclbench.negatives.strategy import RowMixture
from gclbench.nn.convolution import Convolution
from gclbench.nn.diffusion import Diffusion, chebyshev_steps
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix, normalised_rows

PROPAGATION_COST = 14
"""A sparse product's time per multiplication over a dense product's, on a CPU with AVX-512 (Cora, d
= 512, one thread)."""

STORED_NODES = 23_000
"""Nodes of a graph whose diffusion may be stored: 2 GiB in float32."""

FEW_ROWS = 0.5
"""Share of the nodes up to which the rows of a sub-graph are taken from the features, before the
product with the weights."""


def cost_per_column(graph: Data, alpha: float) -> int:
    """What the diffusion of one column costs by sparse products, in multiplications of a dense
    one.

    Args:
        graph: x (N×F), edge_index (2×E). alpha: α of the diffusion.
    """
    entries = graph.edge_index.shape[1] + len(graph.x)
    return PROPAGATION_COST * chebyshev_steps(alpha) * entries


def stores_diffusion(graph: Data, alpha: float, sub_graph: int) -> bool:
    """Whether steps on sub-graphs store the diffusion, N×N.

    Args:
        graph: x (N×F), edge_index (2×E). alpha: α of the diffusion. sub_graph: M, nodes of a
            sub-graph; 0 where steps have the whole graph.
    """
    nodes = len(graph.x)
    return 0 < sub_graph < nodes <= STORED_NODES and sub_graph**2 < cost_per_column(graph, alpha)


class TwoPropagations:
    """The two views of one graph: S = D^(−½)(A + I)D^(−½) and its personalised PageRank α (I −
    (1−α) S)⁻¹.

    Each step applies the second, the diffusion, to x W by sparse products. Two cases are cheaper.
    Where features are few for the number of edges, the filter applies it to x once, and a step on
    the whole graph takes one dense product. Where sub-graphs are small for the number of edges, all
    of it is stored, and a step on a sub-graph multiplies by its rows and columns.

    Args:
        graph: x (N×F), edge_index (2×E). alpha: α. normalise: divide each row of the features by
            its sum. sub_graph: M, nodes of the sub-graphs of a step; 0 where it has the whole
            graph.
    """

    def __init__(self, graph: Data, alpha: float, normalise: bool, sub_graph: int = 0):
        x = normalised_rows(graph.x) if normalise else graph.x
        self.features = Features(x)
        self.propagation = Adjacency(
            graph.edge_index, self.features.nodes, graph.edge_weight
        ).normalised()
        self.diffusion = Diffusion(self.propagation, alpha)
        self.smoothed: Features | None = None
        if not is_sparse(x) and x.numel() < cost_per_column(graph, alpha):
            smoothed = (
                GnnBP(alpha=alpha, rrz=0.5)
                .apply(with_features(graph, x).cpu(), device=str(x.device))
                .x
            )
            self.smoothed = Features(smoothed.to(x.device))
        self.stores = stores_diffusion(graph, alpha, sub_graph)

    @cached_property
    def stored(self) -> Tensor | None:
        """All of the diffusion, N×N, made for the first sub-graph; None where it is not stored."""
        return self.diffusion.matrix() if self.stores else None

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
        part = self._part(among)
        here = part.product(first)
        if mixture is not None:
            here = mixture.apply(here)
        return first.activate(part.propagated(here)), second.activate(part.diffused_layer(second))

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
        part = self._part(among)
        here, there = part.product(first), part.product(second)
        order = torch.randperm(len(here), generator=shuffles).to(here.device)
        u = first.activate(part.propagated(here))
        v = second.activate(part.diffused_layer(second, there))
        # Shuffling the rows of x W is shuffling those of x.
        shuffled_u = first.activate(part.propagated(here.index_select(0, order)))
        shuffled_v = second.activate(part.diffused(there.index_select(0, order)))
        of_u, of_v = summary(u), summary(v)
        return true_or_shuffled(
            [discriminator(v, of_u), discriminator(u, of_v)],
            [discriminator(shuffled_v, of_u), discriminator(shuffled_u, of_v)],
        )

    def _part(self, among: Tensor | None) -> Part:
        return WholeGraph(self) if among is None else SubGraph(self, among)


class Part:
    """The products of a step, with all nodes or some."""

    def __init__(self, views: TwoPropagations):
        self.views = views

    def product(self, layer: Convolution) -> Tensor:
        """x W."""
        raise TypeError(f"{type(self).__name__} defines no product")

    def propagated(self, product: Tensor) -> Tensor:
        """S x W from x W."""
        raise TypeError(f"{type(self).__name__} defines no propagation")

    def diffused(self, product: Tensor) -> Tensor:
        """The diffusion of x W from x W."""
        raise TypeError(f"{type(self).__name__} defines no diffusion")

    def diffused_layer(self, layer: Convolution, product: Tensor | None = None) -> Tensor:
        """The diffusion of x W, the cheaper way.

        Args:
            product: x W, where it is there already.
        """
        return self.diffused(self.product(layer) if product is None else product)


class WholeGraph(Part):
    """The products of a step with all nodes."""

    def product(self, layer: Convolution) -> Tensor:
        return layer.product(self.views.features)

    def propagated(self, product: Tensor) -> Tensor:
        return self.views.propagation @ product

    def diffused(self, product: Tensor) -> Tensor:
        return self.views.diffusion @ product

    def diffused_layer(self, layer: Convolution, product: Tensor | None = None) -> Tensor:
        if self.views.smoothed is not None:
            return layer.product(self.views.smoothed)
        return super().diffused_layer(layer, product)


class SubGraph(Part):
    """The products of a step with M nodes (`among`): the matrices without the rows and columns of
    the others."""

    def __init__(self, views: TwoPropagations, among: Tensor):
        super().__init__(views)
        self.among = among
        few = len(among) <= FEW_ROWS * views.features.nodes
        self.features = views.features.rows(among) if few else None
        self.block = None if views.stored is None else views.stored[among[:, None], among]

    def product(self, layer: Convolution) -> Tensor:
        if self.features is not None:
            return layer.product(self.features)
        return layer.product(self.views.features).index_select(0, self.among)

    def propagated(self, product: Tensor) -> Tensor:
        return self._through(self.views.propagation, product)

    def diffused(self, product: Tensor) -> Tensor:
        if self.block is not None:
            return self.block @ product
        return self._through(self.views.diffusion, product)

    def _through(self, operator: SparseMatrix | Diffusion, product: Tensor) -> Tensor:
        """operator·product; the other rows are zero, so that the sub-matrix is never built."""
        placed = product.new_zeros(self.views.features.nodes, product.shape[1])
        placed = placed.index_copy_(0, self.among, product)
        return (operator @ placed).index_select(0, self.among)
