"""LOCAL-GCL: the loss against a loop over pairs, exact sums against random features, trainings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch_geometric.data import Data

from gclbench.config.validation import experiment_of
from gclbench.contrast.panel import panel
from gclbench.graph import Unsupported, make_graph
from gclbench.methods.local_gcl import LocalGcl, LocalGclModel, _means, localized
from gclbench.nn.sparse import SparseMatrix
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES = 24
SMALL: dict[str, Any] = {"epochs": 30, "architecture": (8, 5), "lr": 0.01}


@pytest.fixture
def graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, 10, generator=generator)
    adjacency = (torch.rand(NODES, NODES, generator=generator) < 0.15).triu(1)
    adjacency[5] = adjacency[:, 5] = False
    return make_graph(x, (adjacency | adjacency.T).nonzero().T, None, "small")


def fit(graph: Data, seed: int = 0, watch: Watch | None = None, **settings: Any) -> Tensor:
    method = LocalGcl(**{**SMALL, **settings})
    return method.fit(graph, torch.full((NODES,), -1), Streams(seed), watch or Watch()).z


def loss(h: Tensor, graph: Data, tau: float) -> Tensor:
    everything = panel(h, h, 1 / tau).rows[0]
    return localized(h, everything, _means(graph.edge_index, NODES), tau)


def random() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(NODES, 4, generator=generator, dtype=torch.float64).requires_grad_()


def reference(z: Tensor, graph: Data, tau: float) -> Tensor:
    """The loss, pair by pair."""
    h = normalize(z, dim=1)
    entries = list(map(tuple, graph.edge_index.T.tolist()))
    own = [1.0] * len(entries) if graph.edge_weight is None else graph.edge_weight.tolist()
    weights = dict(zip(entries, own, strict=True))
    losses = []
    for i in range(NODES):
        total, pull, weight = torch.zeros((), dtype=z.dtype), torch.zeros((), dtype=z.dtype), 0.0
        for j in range(NODES):
            similarity = h[i] @ h[j] / tau
            total = total + torch.exp(similarity)
            if (j, i) in weights:
                pull, weight = pull + weights[j, i] * similarity, weight + weights[j, i]
        losses.append(torch.log(total) - (pull / weight if weight else 0.0))
    return torch.stack(losses).mean()


def with_exact_shares(weighted: bool) -> Data:
    """A graph of nodes with 4, 1, 2 and no neighbours. The weights around each sum to a power of
    two: each neighbour's share, which is in float32, is then exact."""
    ring = [(i, (i + step) % 12, w) for i in range(12) for step, w in ((1, 1.5), (2, 0.5))]
    pairs = [(i, i + 1, 0.25) for i in (12, 14, 16)]
    small = [(18 + i, 18 + (i + 1) % 5, 2.0) for i in range(5)]
    first, second, weights = zip(*ring, *pairs, *small, strict=True)
    return make_graph(
        torch.rand(NODES, 3, generator=torch.Generator().manual_seed(2)),
        torch.tensor([first, second]),
        None,
        "exact",
        undirected=True,
        edge_weight=torch.tensor(weights) if weighted else None,
    )


def given_rows(graph: Data, z: Tensor, tau: float) -> LocalGclModel:
    """The model, in float64, with z for what its encoder makes."""
    model = LocalGclModel(LocalGcl(**SMALL, tau=tau), graph, Streams(0))
    near = model.neighbours
    model.neighbours = SparseMatrix(near.matrix.double(), near.transposed.double())
    model.encoder.forward = lambda *_: z
    return model


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("block", [1, 5, NODES])
def test_sums_by_blocks_are_those_of_a_loop_over_pairs(block, kept, weighted, monkeypatch):
    """Their tiles are kept for the backward pass, or made again."""
    monkeypatch.setattr("gclbench.contrast.panel.TILE_ROWS", block)
    if not kept:
        monkeypatch.setattr("gclbench.contrast.panel.KEPT_BYTES", 0)
    graph, z = with_exact_shares(weighted), random()
    found = given_rows(graph, z, 0.3).loss(Step(1, 1)).value
    wanted = reference(z, graph, 0.3)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        torch.autograd.grad(found, z), torch.autograd.grad(wanted, z), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("kept", [True, False])
def test_the_gradient_equals_finite_differences(kept, monkeypatch):
    monkeypatch.setattr("gclbench.contrast.panel.TILE_ROWS", 5)
    if not kept:
        monkeypatch.setattr("gclbench.contrast.panel.KEPT_BYTES", 0)
    graph = with_exact_shares(weighted=True)
    assert torch.autograd.gradcheck(
        lambda z: given_rows(graph, z, 0.3).loss(Step(1, 1)).value, random()
    )


def test_in_single_precision_too_the_loss_is_that_of_a_loop_over_pairs(graph):
    """Node 5 has no neighbours, and no second term."""
    z = random()
    wanted = reference(z, graph, 0.3)
    found = loss(normalize(z, dim=1).float(), graph, 0.3)
    torch.testing.assert_close(found, wanted.float(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        torch.autograd.grad(found, z),
        torch.autograd.grad(wanted, z),
        rtol=1e-4,
        atol=1e-6,
    )


def test_with_many_features_the_loss_is_the_exact_one(graph):
    rng, losses = Streams(0), {}
    for sums in ("exact", "features"):
        model = LocalGclModel(LocalGcl(**SMALL, sums=sums, features=4096), graph, rng)
        losses[sums] = model.loss(Step(1, 1)).value.item()
    assert losses["features"] == pytest.approx(losses["exact"], abs=0.01)
    assert losses["features"] != losses["exact"]


@pytest.mark.parametrize("sums", ["exact", "features"])
def test_trainings_lower_the_loss_and_rerun_to_the_bit(graph, sums):
    watch = Watch()
    first = fit(graph, watch=watch, sums=sums)
    losses = [value for _, value in watch.curve]
    assert losses[-1] < losses[0] - 0.1
    assert torch.equal(fit(graph, sums=sums), first)
    assert not torch.equal(fit(graph, seed=1, sums=sums), first)


def test_it_shows_its_contrast_without_weights(graph):
    method = LocalGcl(**SMALL)
    found = method.fit(graph, torch.full((NODES,), -1), Streams(0), Watch())
    assert found.geometry == "cosine" and found.contrast is not None
    assert found.contrast.u is found.contrast.v and found.contrast.weights is None


def test_a_graph_without_edges_and_an_encoder_without_layers_are_refused():
    bare = make_graph(torch.rand(3, 2), torch.zeros(2, 0, dtype=torch.int64), None, "bare")
    with pytest.raises(Unsupported, match="takes neighbours for positives, and 'bare' has no"):
        LocalGcl().model(bare, torch.full((3,), -1), Streams(0))
    with pytest.raises(ValueError, match="architecture needs at least one width"):
        LocalGcl(architecture=())


def test_one_setting_serves_all_datasets():
    found = [
        experiment_of(["method=local_gcl", f"dataset={name}"]).settings["method"]
        for name in ("cora", "amazon_photo")
    ]
    assert found[0] == found[1]
    assert (found[0]["architecture"], found[0]["tau"], found[0]["sums"]) == (
        [512, 256],
        0.5,
        "exact",
    )
