"""The operator's matrices, its order of rows, and what it says about components."""

from __future__ import annotations

import pytest
import torch
from dense_filter import edges_of, graphs, random_graph, signed_features, two_parts_and_loners

from gclbench.filters import operator as operators
from gclbench.filters.operator import Operator


def dense_adjacency(edge_index: torch.Tensor, nodes: int, self_loops: bool) -> torch.Tensor:
    adjacency = torch.zeros(nodes, nodes, dtype=torch.float64)
    adjacency[edge_index[0], edge_index[1]] = 1.0
    return adjacency + torch.eye(nodes, dtype=torch.float64) if self_loops else adjacency


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("shape", graphs())
def test_matrices(shape: str, self_loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    edge_index, nodes = graphs()[shape]
    adjacency = dense_adjacency(edge_index, nodes, self_loops)
    for chunk in (1, 5, 1 << 22):
        monkeypatch.setattr(operators, "_ENTRIES", chunk)
        operator = Operator(edge_index, nodes, self_loops)
        here = adjacency[operator.order][:, operator.order]
        assert operator.entries == int(adjacency.sum())
        degree = here.sum(dim=1)
        assert torch.equal(operator.degree, degree)
        assert torch.equal(operator.order[operator.rank], torch.arange(nodes))
        assert operator.columns.dtype == torch.int32
        assert operator.pointers.dtype == torch.int64
        safe = degree.clamp(min=1)
        torch.testing.assert_close(
            operator.transition(torch.float64).to_dense(), here / safe[:, None]
        )
        torch.testing.assert_close(
            operator.symmetric().to_dense(), here / (safe[:, None] * safe).sqrt()
        )
        torch.testing.assert_close(operator.power(0.3, torch.float64)[:, 0], safe**0.3)


def test_rows_come_by_falling_degree_and_equal_ones_in_the_order_of_nodes() -> None:
    operator = Operator(edges_of([(3, 0), (3, 1), (3, 2), (1, 2)]), 5, False)
    assert operator.order.tolist() == [3, 1, 2, 0, 4]


def test_the_order_of_edges_does_not_matter() -> None:
    edge_index = random_graph(40, 0, 5.0)
    shuffled = edge_index[
        :, torch.randperm(edge_index.shape[1], generator=torch.Generator().manual_seed(0))
    ]
    one, other = Operator(edge_index, 40, True), Operator(shuffled, 40, True)
    assert torch.equal(one.columns, other.columns)
    assert torch.equal(one.order, other.order)


def test_more_nodes_than_columns_can_name() -> None:
    with pytest.raises(
        ValueError,
        match="numbers nodes in 32 bits, so at most 2147483647; this graph has 2147483648",
    ):
        Operator(edges_of([(0, 1)]), 2**31, False)


@pytest.mark.parametrize("self_loops", [True, False])
def test_means_of_components(self_loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 3)
    for chunk, counted in ((1, 2**31), (2, 3), (1024, 12), (1024, 2**31)):
        monkeypatch.setattr(operators.Components, "_CHUNK", chunk)
        monkeypatch.setattr(operators, "_COUNTED", counted)
        operator = Operator(edge_index, nodes, self_loops)
        components = operator.components
        assert components.count == 4
        found = components.means(x[operator.order])[components.label.long()][operator.rank]
        degree = dense_adjacency(edge_index, nodes, self_loops).sum(dim=1).float()
        for part in (range(9), range(9, 16), [16], [17]):
            inside = torch.tensor(list(part))
            weight = degree[inside]
            mean = (
                (weight[:, None] * x[inside]).sum(dim=0) / weight.sum()
                if weight.sum()
                else torch.zeros(3)
            )
            torch.testing.assert_close(
                found[inside], mean.expand(len(inside), 3), rtol=1e-5, atol=1e-6
            )


def test_summing_error_bounds_any_order_of_summation() -> None:
    """u (Σ_j t_j ‖w_j‖²)^½ is at least the bound row by row: n_i u mean_j |w_j|."""
    edge_index = random_graph(60, 3, 9.0)
    operator = Operator(edge_index, 60, True)
    w = signed_features(60, 4).double()
    lengths = operator.pointers.diff().double()[:, None]
    by_row = (lengths + 2) * (operator.transition(torch.float64) @ w.abs())
    direct = float((operator.degree[:, None] * by_row.square()).sum().sqrt())
    free = float(torch.dot(operator.summing_error, w.square().sum(dim=1)).sqrt())
    assert direct <= free <= 4 * direct
