"""The graph isomorphism network, against PyG's own layers."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool

from gclbench.nn.gin import GinEncoder, SummedGin, summing
from gclbench.nn.residual_mlp import ResidualMlp, glorot_

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
GRAPH_OF = torch.tensor([0, 0, 0, 1, 1, 2])


def features(width: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(6, width, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("inputs", [3, 9], ids=["widening", "narrowing"])
def test_a_layer_and_its_gradients_are_pygs(inputs: int) -> None:
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(inputs, 5), nn.ReLU(), nn.Linear(5, 5)).double()
    # To make a layer of PyG's draws its weights anew.
    ours, pygs = SummedGin(mlp).double(), GINConv(mlp).double()
    x = features(inputs).requires_grad_()
    matrix = summing(EDGES, 6)
    matrix.matrix = matrix.transposed = matrix.matrix.double()
    results = []
    for found in (ours(x, matrix), pygs(x, EDGES)):
        gradients = torch.autograd.grad(found.square().sum(), [x, *mlp.parameters()])
        results.append([found, *gradients])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_layers_are_normalised_behind_the_activation_and_stand_side_by_side() -> None:
    torch.manual_seed(0)
    x, encoder = features(3).float(), GinEncoder(3, 4, 2)
    nodes, graphs = encoder(x, EDGES, GRAPH_OF, 3)
    h, expected = x, []
    for layer in encoder.layers:
        pygs = GINConv(copy.deepcopy(layer.nn))
        pygs.load_state_dict(layer.state_dict())
        h = pygs(h, EDGES).relu()
        h = (h - h.mean(dim=0)) / (h.var(dim=0, unbiased=False) + 1e-5).sqrt()
        expected.append(h)
    torch.testing.assert_close(nodes, torch.cat(expected, dim=1))
    torch.testing.assert_close(graphs, global_add_pool(nodes, GRAPH_OF, 3))
    assert encoder.width == graphs.shape[1] == 8


def test_in_eval_mode_a_batch_equals_its_graphs_one_by_one() -> None:
    torch.manual_seed(0)
    x, encoder = features(3).float(), GinEncoder(3, 4, 3)
    encoder(x, EDGES, GRAPH_OF, 3)
    encoder.eval()
    together = encoder.graphs(x, EDGES, GRAPH_OF, 3)
    for graph in range(3):
        own = (graph == GRAPH_OF).nonzero()[:, 0]
        inside = EDGES[:, GRAPH_OF[EDGES[0]] == graph] - own[0]
        alone = encoder.graphs(x[own], inside, torch.zeros(len(own), dtype=torch.long), 1)
        torch.testing.assert_close(together[graph : graph + 1], alone)


@pytest.mark.parametrize(("readout", "expected"), [("sum", 6.0), ("mean", 3.0), ("max", 4.0)])
def test_readouts(readout: str, expected: float) -> None:
    encoder = GinEncoder(1, 1, 1, readout)
    rows = torch.tensor([[2.0], [4.0]])
    found = encoder.readout(rows, torch.tensor([0, 0]), 1)
    assert found.tolist() == [[expected]]


def test_the_residual_head_written_out() -> None:
    torch.manual_seed(0)
    head = ResidualMlp(3, 5, nn.ReLU)
    glorot_(head)
    x = features(3).float()
    first, _, second, _, third, _ = head.layers
    h = third(second(first(x).relu()).relu()).relu()
    torch.testing.assert_close(head(x), h + head.shortcut(x))
    assert all(not layer.bias.detach().any() for layer in (first, second, third))
