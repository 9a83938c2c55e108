"""Centralities and the dropping probabilities of GCA, against dense algebra and plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gclbench.contrast import centrality
from gclbench.contrast.centrality import (
    capped,
    column_dropping,
    degree,
    edge_dropping,
    eigenvector,
    pagerank,
)


def random_edges(nodes: int, share: float, isolated: int = 0, seed: int = 0) -> Tensor:
    upper = torch.triu(
        torch.rand(nodes, nodes, generator=torch.Generator().manual_seed(seed)) < share, diagonal=1
    )
    upper[:, nodes - isolated :] = False
    return (upper | upper.T).nonzero().T


def adjacency(edge_index: Tensor, nodes: int) -> Tensor:
    matrix = torch.zeros(nodes, nodes, dtype=torch.float64)
    matrix[edge_index[1], edge_index[0]] = 1
    return matrix


def test_degree():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert degree(edges, 4).tolist() == [1, 2, 1, 0]


def test_pagerank_solves_its_equation():
    """σ = 0.85 A D⁻¹ σ + 1, with isolated nodes."""
    edges = random_edges(20, 0.2, isolated=2)
    a = adjacency(edges, 20)
    walk = a / a.sum(dim=0).clamp(min=1)
    expected = torch.linalg.solve(
        torch.eye(20, dtype=torch.float64) - 0.85 * walk, torch.ones(20, dtype=torch.float64)
    )
    found = pagerank(edges, 20)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=0)
    assert found[-2:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("nodes", [30, 90])
def test_eigenvector_is_the_leading_one(nodes):
    """30 nodes go the dense way, 90 through Lanczos iteration; the last two have no edges."""
    edges = random_edges(nodes, 0.2, isolated=2)
    values, vectors = torch.linalg.eigh(adjacency(edges, nodes))
    assert values[-1] > values[-2] + 0.1
    found = eigenvector(edges, nodes)
    torch.testing.assert_close(found - 1e-8, vectors[:, -1].abs(), rtol=1e-6, atol=1e-8)
    assert bool((found > 0).all())
    assert torch.equal(eigenvector(edges, nodes), found)


@pytest.mark.parametrize("parts", [50, 66])
def test_of_equal_components_all_have_the_same_part(parts):
    """Paths of two nodes, and of three: the largest eigenvalue is there once in each."""
    length = 2 if parts == 50 else 3
    first = torch.arange(parts * length).reshape(parts, length)
    one_way = torch.stack([first[:, :-1].flatten(), first[:, 1:].flatten()])
    edges = torch.cat([one_way, one_way.flip(0)], dim=1)
    found = eigenvector(edges, parts * length)
    assert torch.equal(eigenvector(edges, parts * length), found)
    of_a_path = torch.linalg.eigh(adjacency(edges, parts * length)[:length, :length])[1][:, -1]
    expected = of_a_path.abs().repeat(parts) / math.sqrt(parts)
    torch.testing.assert_close(found - 1e-8, expected, rtol=1e-9, atol=1e-12)


def test_few_values_beside_others():
    """A star and an apart path: the star's vector, whatever of the path the start of ones has."""
    star = torch.stack([torch.zeros(80, dtype=torch.long), torch.arange(1, 81)])
    path = torch.stack([torch.arange(81, 89), torch.arange(82, 90)])
    one_way = torch.cat([star, path], dim=1)
    found = eigenvector(torch.cat([one_way, one_way.flip(0)], dim=1), 90)
    assert found[0].item() == pytest.approx(math.sqrt(0.5), rel=1e-6)
    assert found[81:].max().item() == pytest.approx(1e-8, abs=1e-9)


def test_edges_against_a_plain_loop():
    edges = random_edges(12, 0.3)
    score = pagerank(edges, 12)
    logs = [math.log(float(score[sink])) for sink in edges[1].tolist()]
    top, mean = max(logs), sum(logs) / len(logs)
    weights = [(top - s) / (top - mean) for s in logs]
    average = sum(weights) / len(weights)
    expected = [min(0.4 * w / average, 0.7) for w in weights]
    found = capped(edge_dropping(score, edges), 0.4)
    assert found.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert max(expected) == 0.7 and found.dtype == torch.float32
    # The two directions of an edge differ: only the sink counts.
    lowest, highest = int(score[edges[1]].argmin()), int(score[edges[1]].argmax())
    assert found[lowest] > found[highest] == 0


@pytest.mark.parametrize("binary", [True, False])
def test_columns_against_a_plain_loop(binary):
    edges = random_edges(12, 0.3)
    score = degree(edges, 12) + 1
    x = torch.randn(12, 6, generator=torch.Generator().manual_seed(1)) * (
        torch.rand(12, 6, generator=torch.Generator().manual_seed(2)) < 0.5
    )
    logs = []
    for column in range(6):
        total = 0.0
        for node in range(12):
            entry = abs(float(x[node, column]))
            total += float(score[node]) * ((entry != 0) if binary else entry)
        logs.append(math.log(total))
    top, mean = max(logs), sum(logs) / 6
    expected = [min(0.3 * (top - s) / (top - mean), 0.7) for s in logs]
    assert capped(column_dropping(score, x, binary), 0.3).tolist() == pytest.approx(
        expected, rel=1e-5, abs=1e-7
    )


def test_columns_are_summed_in_blocks_of_nodes():
    x = torch.rand(9000, 3, generator=torch.Generator().manual_seed(0))
    score = torch.rand(9000, generator=torch.Generator().manual_seed(1)).double()
    s = (x.double().T @ score).log()
    torch.testing.assert_close(
        column_dropping(score, x, False), (s.max() - s) / (s.max() - s.mean()), rtol=1e-9, atol=1e-9
    )


def test_columns_without_weight_are_the_least_important_and_change_nothing_else():
    x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    score = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    with_empty = capped(column_dropping(score, x, True), 0.2)
    assert with_empty[3] == pytest.approx(0.7)
    torch.testing.assert_close(with_empty[:3], capped(column_dropping(score, x[:, :3], True), 0.2))


def test_equal_centralities_give_everything_the_same_probability():
    ring = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    for measure in centrality.CENTRALITIES.values():
        assert capped(edge_dropping(measure(ring, 3), ring), 0.25).tolist() == pytest.approx(
            [0.25] * 6
        )


def test_a_graph_without_edges_and_a_drop_of_zero():
    none = torch.empty(2, 0, dtype=torch.long)
    assert len(set(eigenvector(none, 100).tolist())) == 1
    for measure in centrality.CENTRALITIES.values():
        assert capped(edge_dropping(measure(none, 3), none), 0.25).tolist() == []
    assert capped(torch.tensor([1.0, math.inf]), 0.0).tolist() == [0.0, 0.0]
