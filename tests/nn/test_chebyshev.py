"""The Chebyshev convolution that maps features first, against torch_geometric's own."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.nn import ChebConv

from gclbench.nn.chebyshev import NarrowChebConv
from gclbench.nn.sparse import compressed_if_sparse

EDGES = torch.tensor([[0, 1, 1, 2, 2, 0, 3, 4, 4, 4], [1, 0, 2, 1, 0, 2, 4, 3, 5, 4]])


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_values_and_gradients_are_those_of_torch_geometric(
    order: int, weighted: bool, sparse: bool
) -> None:
    generator = torch.Generator().manual_seed(order)
    x = torch.randn(7, 9, generator=generator, dtype=torch.float64)
    x = x * (torch.rand(7, 9, generator=generator) < 0.15)
    weight = 0.5 + torch.rand(EDGES.shape[1], generator=generator).double() if weighted else None
    plain = ChebConv(9, 4, order).double()
    narrow = NarrowChebConv(9, 4, order).double()
    narrow.load_state_dict(plain.state_dict())
    given = compressed_if_sparse(x) if sparse else x
    assert (given.layout == torch.sparse_csr) == sparse
    pull = torch.randn(7, 4, generator=generator, dtype=torch.float64)
    for layer, features in ((plain, x), (narrow, given)):
        (layer(features, EDGES, weight) * pull).sum().backward()
    torch.testing.assert_close(narrow(given, EDGES, weight), plain(x, EDGES, weight))
    for mine, theirs in zip(narrow.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_a_fresh_layer_starts_as_torch_geometrics_does() -> None:
    torch.manual_seed(3)
    plain = ChebConv(5, 4, 3)
    torch.manual_seed(3)
    narrow = NarrowChebConv(5, 4, 3)
    for mine, theirs in zip(narrow.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs)
