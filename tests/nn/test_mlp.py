"""The encoder: layers, initialisation, and masked views without masked copies."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from gclbench.nn.mlp import ACTIVATIONS, Mlp


def encoder(
    widths: tuple[int, ...] = (7, 4), activation: str = "gelu", inputs: int = 10, seed: int = 0
) -> Mlp:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Mlp(inputs, widths, activation)


def features(rows: int = 6, width: int = 10) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_forward_is_linear_activation_linear(activation):
    made, x = encoder((7, 5, 4), activation), features()
    act = ACTIVATIONS[activation]()
    hidden = x @ made.weight
    linears = [layer for layer in made.rest if isinstance(layer, torch.nn.Linear)]
    assert len(linears) == 2
    for layer in linears:
        hidden = functional.linear(act(hidden), layer.weight)
    torch.testing.assert_close(made(x), hidden)
    assert made(x).shape == (6, 4)


def test_one_layer_has_no_activation():
    made, x = encoder((4,), "relu"), features()
    torch.testing.assert_close(made(x), x @ made.weight)
    assert bool((made(x) < 0).any())


def test_initialisation_is_glorot_without_biases():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = Mlp(200, (100, 50), "gelu")
    assert made.weight.shape == (200, 100)
    limit = math.sqrt(6 / 300)
    assert 0.98 * limit < float(made.weight.detach().abs().max()) <= limit
    layer = made.rest[-1]
    assert layer.bias is None
    assert not bool(made(torch.zeros(1, 200)).any())
    limit = math.sqrt(6 / 150)
    assert 0.98 * limit < float(layer.weight.detach().abs().max()) <= limit


@pytest.mark.parametrize("widths", [(4,), (7, 4), (7, 5, 4)])
def test_views_equal_the_encoding_of_masked_copies(widths):
    x = features()
    sets = [[], [2], [0, 1, 2, 3, 5, 6, 7, 9]]
    copies = [x.clone() for _ in sets]
    for copy, columns in zip(copies, sets):
        copy[:, columns] = 0.0
    engine, plain = encoder(widths), encoder(widths)
    found = engine.views(x, [torch.tensor(columns, dtype=torch.int64) for columns in sets])
    wanted = [plain(rows) for rows in (x, *copies)]
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    sum(output.square().sum() for output in found).backward()
    sum(output.square().sum() for output in wanted).backward()
    for a, b in zip(engine.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)


def test_views_without_any_view_is_forward():
    made, x = encoder(), features()
    (only,) = made.views(x, [])
    torch.testing.assert_close(only, made(x))


def test_every_parameter_is_registered():
    assert (
        sum(parameter.numel() for parameter in Mlp(10, (7, 4), "gelu").parameters())
        == 10 * 7 + 7 * 4
    )
