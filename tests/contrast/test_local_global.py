"""The contrast of nodes with a summary, against plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from gclbench.contrast.local_global import (
    Discriminator,
    nodes_against_graphs,
    summary,
    true_or_shuffled,
)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_scores_are_those_of_a_bilinear_layer_on_copies_of_the_summary():
    h, c = random(6, 4), random(4, seed=1)
    torch.manual_seed(0)
    discriminator = Discriminator(4).double()
    discriminator.bias.data.fill_(0.3)
    bilinear = nn.Bilinear(4, 4, 1).double()
    bilinear.weight.data[0], bilinear.bias.data[0] = discriminator.weight.data, 0.3
    torch.testing.assert_close(discriminator(h, c), bilinear(h, c.expand(6, 4))[:, 0])


def test_the_weight_starts_in_the_range_of_a_bilinear_layer():
    torch.manual_seed(0)
    weight = Discriminator(50).weight.detach()
    bound = math.sqrt(6 / (50 * 50 + 50))
    assert 0.9 * bound < float(weight.abs().max()) <= bound
    assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_the_summary_is_the_sigmoid_of_the_mean():
    h = random(5, 3)
    expected = [1 / (1 + math.exp(-sum(float(h[i, k]) for i in range(5)) / 5)) for k in range(3)]
    assert summary(h).tolist() == pytest.approx(expected)


def test_the_loss_is_binary_cross_entropy_averaged_over_all_scores():
    true, shuffled = [random(5), random(5, seed=1)], [random(5, seed=2), random(5, seed=3)]
    total = 0.0
    for scores in true:
        total += sum(-math.log(1 / (1 + math.exp(-float(s)))) for s in scores)
    for scores in shuffled:
        total += sum(-math.log(1 - 1 / (1 + math.exp(-float(s)))) for s in scores)
    assert float(true_or_shuffled(true, shuffled)) == pytest.approx(total / 20)


def test_large_scores_give_finite_losses():
    assert float(true_or_shuffled([torch.tensor([-1e4])], [torch.tensor([1e4])])) == pytest.approx(
        1e4
    )


def test_gradients():
    discriminator = Discriminator(3).double()
    inputs = [random(5, 3), random(3, seed=1), random(3, 3, seed=2), random(1, seed=3)[0]]

    def loss(h, c, weight, bias):
        def score(h, c):
            return torch.func.functional_call(
                discriminator, {"weight": weight, "bias": bias}, (h, c)
            )

        return true_or_shuffled([score(h, c)], [score(h.flip(0), summary(h))])

    assert torch.autograd.gradcheck(loss, [x.requires_grad_() for x in inputs])


GRAPH_OF = torch.tensor([0, 0, 1, 2, 2, 2])


def test_nodes_against_graphs_is_the_double_loop():
    nodes, graphs = random(6, 4), random(3, 4, seed=1)
    own, others = 0.0, 0.0
    for i in range(6):
        for g in range(3):
            score = float(nodes[i] @ graphs[g])
            if g == int(GRAPH_OF[i]):
                own += math.log(2) - math.log1p(math.exp(-score))
            else:
                others += math.log1p(math.exp(-score)) + score - math.log(2)
    expected = others / (6 * 2) - own / 6
    found = nodes_against_graphs(nodes, graphs, GRAPH_OF)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_nodes_against_graphs_is_the_same_by_blocks_with_its_gradient():
    nodes, graphs = random(6, 4).requires_grad_(), random(3, 4, seed=1).requires_grad_()
    whole = torch.autograd.grad(nodes_against_graphs(nodes, graphs, GRAPH_OF), (nodes, graphs))
    blocks = nodes_against_graphs(nodes, graphs, GRAPH_OF, block=4)
    for one, other in zip(whole, torch.autograd.grad(blocks, (nodes, graphs)), strict=True):
        torch.testing.assert_close(one, other)


def test_nodes_against_graphs_bears_large_scores():
    nodes, graphs = 1e3 * random(6, 4).float(), 1e3 * random(3, 4, seed=1).float()
    loss = nodes_against_graphs(nodes.requires_grad_(), graphs, GRAPH_OF)
    (gradient,) = torch.autograd.grad(loss, nodes)
    assert torch.isfinite(loss) and torch.isfinite(gradient).all()
