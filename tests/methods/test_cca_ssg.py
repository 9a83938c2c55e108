"""CCA-SSG's loss against plain loops, and its steps written out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gclbench.graph import make_graph
from gclbench.methods.cca_ssg import CcaSsg, canonical_correlation, standardised
from gclbench.nn.feature_mlp import FeatureMlp
from gclbench.nn.gcn import GcnEncoder
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def column(h: Tensor, k: int) -> list[float]:
    values = [float(value) for value in h[:, k]]
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return [(value - mean) / deviation for value in values]


def test_both_terms_against_a_plain_loop():
    u, v = random(7, 3) * 4 + 1, random(7, 3, seed=1)

    def correlation(a: Tensor, b: Tensor, k: int, m: int) -> float:
        return sum(p * q for p, q in zip(column(a, k), column(b, m), strict=True)) / 7

    alignment = -sum(correlation(u, v, k, k) for k in range(3))
    apart = sum(
        ((k == m) - correlation(h, h, k, m)) ** 2
        for h in (u, v)
        for k in range(3)
        for m in range(3)
    )
    terms = canonical_correlation(u, v)
    assert float(terms["alignment"]) == pytest.approx(alignment)
    assert float(terms["decorrelation"]) == pytest.approx(apart)


def test_gradients():
    def loss(u: Tensor, v: Tensor) -> Tensor:
        terms = canonical_correlation(u, v)
        return terms["alignment"] + 0.1 * terms["decorrelation"]

    assert torch.autograd.gradcheck(
        loss, (random(6, 3).requires_grad_(), random(6, 3, seed=1).requires_grad_())
    )


def test_a_constant_column_becomes_zero_and_has_a_gradient():
    h = random(6, 3)
    h[:, 1] = 2.5
    h.requires_grad_()
    scaled = standardised(h)
    assert scaled[:, 1].tolist() == [0.0] * 6
    scaled.square().sum().backward()
    assert h.grad is not None and bool(torch.isfinite(h.grad).all())


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_three_steps_by_hand(encoder):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(15, 6, generator=generator)
    graph = make_graph(
        x,
        (torch.rand(15, 15, generator=generator) < 0.2).triu(1).nonzero().T,
        None,
        "small",
        undirected=True,
    )
    watch = Watch()
    method = CcaSsg(
        epochs=3,
        lr=0.02,
        encoder=encoder,
        architecture=(5, 4),
        decorrelation=0.01,
        edge_drop=0.3,
        feature_drop=0.2,
        weight_decay=1e-3,
    )
    found = method.fit(graph, torch.full((15,), -1), Streams(1), watch).z

    rng = Streams(1)
    rows = x / x.sum(dim=1, keepdim=True)
    adjacency = Adjacency(graph.edge_index, 15)
    with rng.seeded("init"):
        network = (
            GcnEncoder(6, (5, 4), "relu", last=False) if encoder == "gcn" else FeatureMlp(6, (5, 4))
        )
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=1e-3, fused=False)
    views = rng.torch("views")

    def encoded(masked: Tensor, keep: Tensor | None) -> Tensor:
        if encoder == "mlp":
            return network.rest(masked @ network.weight)  # type: ignore[union-attr, operator]
        s = adjacency.normalised(keep).matrix.to_dense()
        hidden = torch.relu(s @ masked @ network.weights[0] + network.biases[0])  # type: ignore[union-attr]
        return s @ hidden @ network.weights[1] + network.biases[1]  # type: ignore[union-attr]

    losses = []
    for _ in range(3):
        pair = []
        for _ in range(2):
            keep = torch.rand(graph.edge_index.shape[1], generator=views) >= 0.3
            h = encoded(rows * (torch.rand(6, generator=views) >= 0.2), keep)
            pair.append((h - h.mean(dim=0)) / h.std(dim=0))
        loss = -torch.diagonal(pair[0].T @ pair[1] / 15).sum()
        for z in pair:
            loss = loss + 0.01 * (torch.eye(4) - z.T @ z / 15).square().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-3)
    network.eval()
    # Their last bias wanders with the rounding of a gradient that is zero; ours stays.
    expected = encoded(rows, None).detach()
    torch.testing.assert_close(
        found - found.mean(dim=0), expected - expected.mean(dim=0), rtol=1e-2, atol=1e-4
    )


def test_the_mlp_is_a_product_with_the_kept_features():
    x = torch.rand(10, 4, generator=torch.Generator().manual_seed(0))
    features = Features(x)
    torch.manual_seed(0)
    network = FeatureMlp(4, (3,))
    torch.testing.assert_close(network(features), x @ network.weight)
    torch.testing.assert_close(
        network(features, torch.tensor([True, False, True, True])),
        x[:, [0, 2, 3]] @ network.weight[[0, 2, 3]],
    )
