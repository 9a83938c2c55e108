"""GCA's adaptive views."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.contrast.centrality import CENTRALITIES, capped, column_dropping, edge_dropping
from gclbench.graph import make_graph, with_features
from gclbench.methods.drops import Drops
from gclbench.methods.gca import Gca
from gclbench.methods.grace import Grace
from gclbench.negatives.uniform import Uniform
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES = 16


@pytest.fixture
def graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(NODES, 9, generator=generator) < 0.15).float()
    star = torch.stack([torch.zeros(NODES - 1, dtype=torch.long), torch.arange(1, NODES)])
    more = (torch.rand(NODES, NODES, generator=generator) < 0.1).triu(1).nonzero().T
    return make_graph(x, torch.cat([star, more], dim=1), None, "star", undirected=True)


def tensors(drops: Drops) -> tuple[Tensor, Tensor]:
    assert isinstance(drops.edges, Tensor) and isinstance(drops.columns, Tensor)
    return drops.edges, drops.columns


@pytest.mark.parametrize("name", CENTRALITIES)
def test_views_take_their_probabilities_from_the_centrality(graph, name):
    first, second = Gca(centrality=name, edge_drop=(0.3, 0.5), feature_drop=(0.1, 0.2)).drops(graph)
    score = CENTRALITIES[name](graph.edge_index, NODES)
    for drops, edge, column in ((first, 0.3, 0.1), (second, 0.5, 0.2)):
        edges, columns = tensors(drops)
        assert torch.equal(edges, capped(edge_dropping(score, graph.edge_index), edge))
        assert torch.equal(columns, capped(column_dropping(score, graph.x, binary=True), column))


def test_edges_to_the_hub_are_kept_and_those_away_from_it_are_not(graph):
    edges, _ = tensors(Gca(edge_drop=(0.4, 0.4)).drops(graph)[0])
    to_hub = graph.edge_index[1] == 0
    assert float(edges[to_hub].max()) == 0.0
    assert float(edges[~to_hub].min()) > 0.2


def test_dense_features_count_by_size_and_sparse_ones_by_presence(graph):
    dense = torch.rand(NODES, 9, generator=torch.Generator().manual_seed(3)) + 0.1
    score = CENTRALITIES["degree"](graph.edge_index, NODES)
    rows = dense / dense.sum(dim=1, keepdim=True)
    for normalise, x in ((True, rows), (False, dense)):
        method = Gca(feature_drop=(0.3, 0.3), normalize_features=normalise)
        _, columns = tensors(method.drops(with_features(graph, dense))[0])
        torch.testing.assert_close(columns, capped(column_dropping(score, x, binary=False), 0.3))
    sparse = Gca(feature_drop=(0.3, 0.3)).drops(graph)[0]
    scaled = Gca(feature_drop=(0.3, 0.3)).drops(with_features(graph, graph.x * 7))[0]
    assert torch.equal(tensors(sparse)[1], tensors(scaled)[1])


def test_on_a_regular_graph_without_feature_dropping_it_is_grace():
    ring = torch.stack([torch.arange(NODES), (torch.arange(NODES) + 1) % NODES])
    x = torch.rand(NODES, 5, generator=torch.Generator().manual_seed(0))
    graph = make_graph(x, ring, None, "ring", undirected=True)
    settings = {
        "epochs": 3,
        "architecture": (6, 4),
        "projector": 4,
        "edge_drop": (0.2, 0.4),
        "feature_drop": (0.0, 0.0),
    }
    nothing = torch.full((NODES,), -1)
    found = Gca(**settings).fit(graph, nothing, Streams(0), Watch(), Uniform())  # type: ignore[arg-type]
    plain = Grace(**settings).fit(graph, nothing, Streams(0), Watch(), Uniform())  # type: ignore[arg-type]
    assert torch.equal(found.z, plain.z)
