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


def test_the_loss_equals_that_of_a_loop_over_pairs(graph):
    """Node 5 has no neighbours, and no second term."""
    z = torch.randn(NODES, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z.requires_grad_()
    h = normalize(z, dim=1)
    edges = set(map(tuple, graph.edge_index.T.tolist()))
    losses = []
    for i in range(NODES):
        near = [h[i] @ h[j] / 0.3 for j in range(NODES) if (i, j) in edges]
        total = sum(torch.exp(h[i] @ h[k] / 0.3) for k in range(NODES))
        losses.append(torch.log(total) - (sum(near) / len(near) if near else 0.0))
    wanted = torch.stack(losses).mean()
    # The mean over neighbours is a product in float32.
    found = loss(h.float(), graph, 0.3)
    torch.testing.assert_close(found, wanted.float(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        torch.autograd.grad(found, z, retain_graph=True),
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
