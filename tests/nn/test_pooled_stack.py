"""Layers on sparse sums, against dense computations and torch_geometric's own on lists of entries;
levels, and the scores that are read from them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from methods.small_collection import small_collection
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINConv

from gclbench.nn.pooled_stack import LAYERS, LevelScores, PooledStack

PATH_AND_ALONE = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
"""A path of four nodes; the fifth has no neighbour."""

NEAR = torch.eye(5).index_put_(tuple(PATH_AND_ALONE), torch.ones(())) > 0
"""Which nodes are neighbours of a node, or itself."""


def mean(x: Tensor) -> Tensor:
    return NEAR.float() @ x / NEAR.sum(dim=1, keepdim=True)


def largest(x: Tensor) -> Tensor:
    return x.expand(5, *x.shape).masked_fill(~NEAR[:, :, None], -torch.inf).amax(dim=1)


@pytest.mark.parametrize("inputs", [3, 8, 20])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("name", "aggregated"), [("mean", mean), ("max", largest)])
def test_a_layer_is_a_linear_map_of_what_a_dense_computation_gives(
    name: str, aggregated: Callable[[Tensor], Tensor], ties: bool, inputs: int
) -> None:
    """Values, and gradients to the input and to both parameters, also where rows are equal."""
    torch.manual_seed(0)
    layer, reads = LAYERS[name].made(inputs, 8), LAYERS[name].reads
    x = torch.randint(0, 2, (5, inputs)).float() if ties else torch.randn(5, inputs)
    x.requires_grad_()
    assert sorted(dict(layer.named_parameters())) == ["linear.bias", "linear.weight"]
    found = layer(x, reads(PATH_AND_ALONE, 5))
    compare(found, layer.linear(aggregated(x)), [x, *layer.parameters()])


@pytest.mark.parametrize("inputs", [3, 8, 20])
@pytest.mark.parametrize("name", ["gin", "gin_eps", "gat"])
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
    found, expected = ours(x, reads(PATH_AND_ALONE, 5)), theirs(x, PATH_AND_ALONE)
    compare(found, expected, [x, *ours.parameters()], [x, *theirs.parameters()])


def compare(
    found: Tensor, expected: Tensor, to: list[Tensor], others: list[Tensor] | None = None
) -> None:
    """Asserts that two tensors are equal but for roundings, and so are their gradients."""
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    toward = torch.randn_like(found)
    ours = torch.autograd.grad((found * toward).sum(), to, retain_graph=True)
    theirs = torch.autograd.grad((expected * toward).sum(), others or to)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


def plain(name: str, inputs: int) -> nn.Module:
    """torch_geometric's layer of the same shape."""
    if name == "gat":
        return GATConv(inputs, 2, 4)
    inner = nn.Sequential(nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8))
    return GINConv(inner, train_eps=name == "gin_eps")


def test_a_graph_without_edges_has_rows_of_its_own_nodes_alone() -> None:
    for name in LAYERS:
        torch.manual_seed(0)
        layer, reads = LAYERS[name].made(3, 8).eval(), LAYERS[name].reads
        x, none = torch.randn(2, 3), torch.zeros(2, 0, dtype=torch.long)
        both = layer(x, reads(none, 2))
        assert torch.isfinite(both).all(), name
        torch.testing.assert_close(both[:1], layer(x[:1], reads(none, 1)), msg=name)
        if name in ("mean", "max"):
            torch.testing.assert_close(both, layer.linear(x), msg=name)


def test_readouts_of_the_input_and_of_all_layers_stand_side_by_side() -> None:
    graph = small_collection()
    features = graph.x.shape[1]
    for layer in LAYERS:
        torch.manual_seed(0)
        stack = PooledStack(layer, features, 8, 3, "sum").eval()
        rows = stack(graph.x, graph.edge_index, graph.graph_of, graph.items)
        assert stack.widths == (features, 8, 8, 8) and stack.width == features + 24
        assert rows.shape == (graph.items, stack.width)
        first = graph.graph_of == 1
        assert torch.equal(rows[1, :features], graph.x[first].sum(dim=0)), layer
        nodes = first.nonzero()[:, 0]
        edges = graph.edge_index[:, first[graph.edge_index[0]]] - nodes[0]
        alone = stack(graph.x[first], edges, torch.zeros(len(nodes), dtype=torch.long), 1)
        assert torch.allclose(rows[1], alone[0], atol=1e-5), layer


def test_scores_are_the_sum_of_the_levels_and_dropout_is_behind_their_maps() -> None:
    torch.manual_seed(0)
    scores = LevelScores((3, 8, 8), 2, dropout=0.5).eval()
    rows = torch.randn(400, 19)
    levels = [
        rows[:, first:last] @ head.weight.T + head.bias
        for head, (first, last) in zip(scores.heads, ((0, 3), (3, 11), (11, 19)), strict=True)
    ]
    torch.testing.assert_close(scores(rows), sum(levels))
    found = scores.train()(rows)
    # Each number of a level is left out or doubled: one of eight sums.
    doubled = torch.cartesian_prod(*[torch.tensor([0.0, 2.0])] * 3)
    sums = torch.einsum("sl,lbc->sbc", doubled, torch.stack(levels))
    distance, which = (sums - found).abs().min(dim=0)
    assert distance.max() < 1e-5
    assert len(which.unique()) == 8 and (which[:, 0] != which[:, 1]).any()
