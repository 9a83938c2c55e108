"""The Chebyshev convolution, narrow first."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch_geometric.nn import ChebConv


class NarrowChebConv(ChebConv):
    """torch_geometric's Chebyshev convolution Σ_k T_k(L̂) X Θ_k, where X is mapped first.

    torch_geometric propagates the F columns of X and holds a row of F numbers for each edge. The
    two products commute, so the d columns of X Θ_k are propagated here, by Clenshaw's recurrence
    b_k = X Θ_k + 2 L̂ b_{k+1} − b_{k+2}: memory is O(E·d + K·N·d), for K polynomials. There are no
    batches of graphs and no λ_max but the layer's own.
    """

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """N×d.

        Args:
            x: N×F, dense or compressed rows. edge_index: 2×E. edge_weight: (E,), None for 1.
        """
        edges, norm = self.__norm__(
            edge_index, len(x), edge_weight, self.normalization, dtype=x.dtype
        )

        def laplacian(columns: Tensor) -> Tensor:
            found: Tensor = self.propagate(edges, x=columns, norm=norm)
            return found

        weights = torch.cat([each.weight for each in self.lins])
        first, *rest = linear(x, weights).split(self.out_channels, dim=1)
        if rest:
            one, two = rest[-1], torch.zeros_like(first)
            for term in reversed(rest[:-1]):
                one, two = term + 2 * laplacian(one) - two, one
            first = first + laplacian(one) - two
        return first if self.bias is None else first + self.bias
