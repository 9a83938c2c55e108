from __future__ import annotations

import pytest
import torch
from torch import nn

from gclbench.nn import autoencoder
from gclbench.nn.autoencoder import Autoencoder
from gclbench.nn.sparse import Features


def made() -> tuple[Autoencoder, torch.Tensor]:
    torch.manual_seed(0)
    return Autoencoder(7, (6, 5), 2), torch.rand(9, 7)


def test_layers_are_those_of_a_sequence() -> None:
    model, x = made()
    relu = torch.relu
    first = relu(x @ model.weight + model.bias)
    second = relu(model.encoder[0](first))
    code = model.encoder[1](second)
    found = model.hidden(x @ model.weight)
    assert [layer.shape[1] for layer in found] == [6, 5, 2]
    for layer, expected in zip(found, (first, second, code), strict=True):
        torch.testing.assert_close(layer, expected)
    back = model.last(relu(model.decoder[1](relu(model.decoder[0](code)))))
    torch.testing.assert_close(model.reconstruction_error(code, x), nn.functional.mse_loss(back, x))


def with_gradients(
    model: Autoencoder, x: torch.Tensor, features: Features | None = None
) -> list[torch.Tensor]:
    """The error, and its gradient in every parameter."""
    model.zero_grad()
    product = x @ model.weight if features is None else features.product(model.weight)
    error = model.reconstruction_error(model.hidden(product)[-1], x, features)
    error.backward()
    return [error.detach(), *(parameter.grad.clone() for parameter in model.parameters())]


def test_blocks_change_neither_the_error_nor_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = made()
    whole = with_gradients(model, x)
    monkeypatch.setattr(autoencoder, "BLOCK_ENTRIES", 7 * 4)
    torch.testing.assert_close(with_gradients(model, x), whole)


def test_the_error_of_sparse_features_without_the_reconstruction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, x = made()
    x = x * (x > 0.85)
    features = Features(x)
    assert features.sparse is not None
    formed = with_gradients(model, x, features)
    monkeypatch.setattr(autoencoder, "GRAM_FROM", x.numel())
    monkeypatch.delattr(Autoencoder, "_squares")
    torch.testing.assert_close(with_gradients(model, x, features), formed)


def test_dense_features_keep_the_reconstruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autoencoder, "GRAM_FROM", 1)
    monkeypatch.delattr(Autoencoder, "_squares_by_products")
    model, x = made()
    code = model.hidden(x @ model.weight)[-1]
    torch.testing.assert_close(
        model.reconstruction_error(code, x, Features(x)), model.reconstruction_error(code, x)
    )
