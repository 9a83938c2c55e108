"""The GCN against PyTorch Geometric's convolution, its hooks, its random activation's stream."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gclbench.nn.gcn import RRELU_SLOPE, GcnEncoder, Projector, RandomisedReLU
from gclbench.nn.sparse import Adjacency, Features

NODES, INPUTS = 9, 7


def features(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(NODES, INPUTS, generator=generator) * (
        torch.rand(NODES, INPUTS, generator=generator) < 0.5
    )


def edges() -> Tensor:
    generator = torch.Generator().manual_seed(5)
    dense = (torch.rand(NODES, NODES, generator=generator) < 0.3).triu(1)
    dense[NODES - 1] = dense[:, NODES - 1] = False
    return (dense | dense.T).nonzero().T


def reference(
    encoder: GcnEncoder, x: Tensor, edge_index: Tensor, activations: list[nn.Module]
) -> Tensor:
    """PyG's layers with the encoder's weights, on a graph that has the kept entries only."""
    h = x
    for weight, bias, activation in zip(encoder.weights, encoder.biases, activations, strict=True):
        layer = GCNConv(weight.shape[0], weight.shape[1])
        layer.lin.weight, layer.bias = nn.Parameter(weight.T), nn.Parameter(bias)
        h = activation(layer(h, edge_index))
    return h


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("dropped", [False, True])
def test_equals_pyg_under_masked_columns_and_dropped_directions(last: bool, dropped: bool) -> None:
    torch.manual_seed(0)
    encoder = GcnEncoder(INPUTS, (6, 5, 4), "elu", last=last)
    for bias in encoder.biases:
        nn.init.normal_(bias)
    x, edge_index = features(), edges()
    columns = torch.tensor([True, False, True, True, True, False, True])
    entries = torch.rand(edge_index.shape[1], generator=torch.Generator().manual_seed(1)) > 0.4
    assert 0 < int(entries.sum()) < len(entries)
    masked, kept = (x * columns, edge_index[:, entries]) if dropped else (x, edge_index)
    found = encoder(
        Features(x),
        Adjacency(edge_index, NODES).normalised(entries if dropped else None),
        columns if dropped else None,
    )
    wanted = reference(
        encoder, masked, kept, [nn.ELU(), nn.ELU(), nn.ELU() if last else nn.Identity()]
    )
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    pull = torch.randn(found.shape, generator=torch.Generator().manual_seed(2))
    parameters = [*encoder.weights, *encoder.biases]
    gradients = torch.autograd.grad((found * pull).sum(), parameters)

    # The reference holds transposed copies of the weights, so it is differentiated with respect to
    # those of the encoder anew.
    def dense(*values: Tensor) -> Tensor:
        propagation = Adjacency(kept, NODES).normalised().matrix.to_dense()
        h = masked
        for index in range(3):
            h = propagation @ h @ values[index] + values[3 + index]
            h = h if index == 2 and not last else nn.functional.elu(h)
        return h

    torch.testing.assert_close(dense(*parameters), wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        torch.autograd.grad((dense(*parameters) * pull).sum(), parameters),
        gradients,
        rtol=1e-4,
        atol=1e-5,
    )


def test_mixing_after_the_first_product_is_mixing_the_features() -> None:
    torch.manual_seed(0)
    encoder = GcnEncoder(INPUTS, (6, 4), "relu")
    x, propagation = features(), Adjacency(edges(), NODES).normalised()
    share = torch.rand(NODES, 1, generator=torch.Generator().manual_seed(1))
    partner = torch.randperm(NODES, generator=torch.Generator().manual_seed(2))
    columns = torch.tensor([True, False, True, True, True, False, True])

    def mix(rows: Tensor) -> Tensor:
        return share * rows + (1 - share) * rows[partner]

    found = encoder(Features(x), propagation, columns, mix)
    torch.testing.assert_close(
        found, encoder(Features(mix(x)), propagation, columns), rtol=1e-5, atol=1e-6
    )
    assert not torch.allclose(found, encoder(Features(x), propagation, columns))


def test_batch_normalisation_stands_before_the_activation() -> None:
    torch.manual_seed(0)
    encoder = GcnEncoder(INPUTS, (4,), "relu", batch_norm=True)
    before = Adjacency(edges(), NODES).normalised() @ Features(features()).product(
        encoder.weights[0]
    )
    wanted = torch.relu(
        (before - before.mean(dim=0)) / (before.var(dim=0, unbiased=False) + 1e-5).sqrt()
    )
    torch.testing.assert_close(
        encoder(Features(features()), Adjacency(edges(), NODES).normalised()), wanted
    )


def test_random_slopes_come_from_the_generator_alone() -> None:
    activation = RandomisedReLU()
    x = torch.linspace(-4, 4, 400)
    state = torch.random.get_rng_state()
    with pytest.raises(RuntimeError, match="give it one with `use`"):
        activation(x)
    activation.generator = torch.Generator().manual_seed(0)
    first, second = activation(x), activation(x)
    assert not torch.equal(first, second), "a fresh draw per pass"
    activation.generator.manual_seed(0)
    assert torch.equal(activation(x), first)
    assert torch.equal(torch.random.get_rng_state(), state), "the global stream is left alone"
    slopes = (first / x)[x < 0]
    assert 1 / 8 <= float(slopes.min()) < 0.14 and 0.32 < float(slopes.max()) <= 1 / 3 + 1e-6
    assert float(slopes.mean()) == pytest.approx(RRELU_SLOPE, abs=0.015)
    assert torch.equal(first[x > 0], x[x > 0])
    activation.eval()
    torch.testing.assert_close(activation(x), nn.RReLU().eval()(x))
    torch.testing.assert_close(activation(x), torch.where(x < 0, x * RRELU_SLOPE, x))


def test_the_encoder_hands_its_stream_to_every_random_activation() -> None:
    encoder = GcnEncoder(INPUTS, (6, 4), "rrelu", last=False)
    x, propagation = Features(features()), Adjacency(edges(), NODES).normalised()
    encoder.use(torch.Generator().manual_seed(0))
    first = encoder(x, propagation)
    assert not torch.equal(encoder(x, propagation), first)
    encoder.use(torch.Generator().manual_seed(0))
    assert torch.equal(encoder(x, propagation), first)
    encoder.eval()
    assert torch.equal(encoder(x, propagation), encoder(x, propagation)), (
        "nothing is random outside training"
    )


def test_initial_weights_follow_torch_s_seed_and_biases_are_zero() -> None:
    torch.manual_seed(3)
    first = GcnEncoder(50, (40,), "relu")
    torch.manual_seed(3)
    assert torch.equal(GcnEncoder(50, (40,), "relu").weights[0], first.weights[0])
    assert not bool(first.biases[0].any())
    limit = (6 / 90) ** 0.5
    assert 0.95 * limit < float(first.weights[0].detach().abs().max()) <= limit, (
        "Glorot's uniform interval"
    )


def test_projector() -> None:
    torch.manual_seed(0)
    head = Projector(4, 3)
    x = torch.randn(5, 4)
    first, _, second = head
    hidden = x @ first.weight.T + first.bias
    hidden = torch.where(hidden > 0, hidden, hidden.exp() - 1)
    torch.testing.assert_close(head(x), hidden @ second.weight.T + second.bias)
    assert torch.equal(Projector(4, 0)(x), x)
    assert list(Projector(4, 0).parameters()) == []
