"""Layers on sparse sums, against torch_geometric's own on lists of entries."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from gclbench.nn.pooled_stack import LAYERS

PATH_AND_ALONE = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
"""A path of four nodes; the fifth has no neighbour."""


@pytest.mark.parametrize("inputs", [3, 8, 20])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_torch_geometrics(name: str, inputs: int) -> None:
    """Values, and gradients to the input and to every parameter."""
    torch.manual_seed(0)
    ours, reads = LAYERS[name].made(inputs, 8), LAYERS[name].reads
    theirs = plain(name, inputs)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(5, inputs, requires_grad=True)
    toward = torch.randn(5, 8)
    found, expected = ours(x, reads(PATH_AND_ALONE, 5)), theirs(x, PATH_AND_ALONE)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    of_ours = torch.autograd.grad((found * toward).sum(), [x, *ours.parameters()])
    of_theirs = torch.autograd.grad((expected * toward).sum(), [x, *theirs.parameters()])
    for a, b in zip(of_ours, of_theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


def plain(name: str, inputs: int) -> nn.Module:
    """torch_geometric's layer of the same shape."""
    if name.startswith("gin"):
        inner = nn.Sequential(nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8))
        return GINConv(inner, train_eps=name == "gin_eps")
    if name == "gat":
        return GATConv(inputs, 2, 4)
    return {"gcn": GCNConv, "graphsage": SAGEConv}[name](inputs, 8)


def test_a_graph_without_edges_has_rows_of_its_own_nodes_alone() -> None:
    for name in LAYERS:
        torch.manual_seed(0)
        layer, reads = LAYERS[name].made(3, 8).eval(), LAYERS[name].reads
        x, none = torch.randn(2, 3), torch.zeros(2, 0, dtype=torch.long)
        both = layer(x, reads(none, 2))
        assert torch.isfinite(both).all(), name
        torch.testing.assert_close(both[:1], layer(x[:1], reads(none, 1)), msg=name)
