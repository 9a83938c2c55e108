"""GRACE against a plain whole-matrix implementation, and its settings."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gclbench.component.registry import METHODS
from gclbench.config.validation import experiment_of
from gclbench.graph import make_graph
from gclbench.methods.grace import Grace
from gclbench.negatives.uniform import Uniform
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES, INPUTS = 26, 12
SETTINGS = {
    "epochs": 6,
    "architecture": (8, 5),
    "projector": 7,
    "lr": 0.01,
    "weight_decay": 0.02,
    "tau": 0.6,
}


def small_graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(NODES, INPUTS, generator=generator) < 0.15).float()
    x[:, 0] = 1
    adjacency = (torch.rand(NODES, NODES, generator=generator) < 0.15).triu(1)
    return make_graph(x, (adjacency | adjacency.T).nonzero().T, None, "small")


def plain_loss(h1: Tensor, h2: Tensor, tau: float) -> Tensor:
    """Both directions with whole N×N matrices: e^{θ_ii/τ} over all inter-view pairs and the
    intra-view ones of others."""
    u, v = normalize(h1, dim=1), normalize(h2, dim=1)
    across, among_u, among_v = (u @ v.T / tau).exp(), (u @ u.T / tau).exp(), (v @ v.T / tau).exp()
    forth = -torch.log(
        across.diagonal() / (across.sum(dim=1) + among_u.sum(dim=1) - among_u.diagonal())
    )
    back = -torch.log(
        across.diagonal() / (across.sum(dim=0) + among_v.sum(dim=1) - among_v.diagonal())
    )
    return (0.5 * (forth + back)).mean()


def plain_training(graph: Data, method: Grace, seed: int) -> tuple[list[float], Tensor]:
    """Losses and embedding: PyG layers, masked copies of features and edges, plain Adam."""
    rng = Streams(seed)
    activation = {"relu": nn.ReLU, "prelu": nn.PReLU}[method.activation]
    with rng.seeded("init"):
        widths = [INPUTS, *method.architecture]
        drawn = [
            nn.init.xavier_uniform_(torch.empty(before, after))
            for before, after in zip(widths, widths[1:])
        ]
        last = method.architecture[-1]
        projector = nn.Sequential(
            nn.Linear(last, method.projector), nn.ELU(), nn.Linear(method.projector, last)
        )
    layers = nn.ModuleList(GCNConv(before, after) for before, after in zip(widths, widths[1:]))
    activations = nn.ModuleList(activation() for _ in layers)
    with torch.no_grad():
        for layer, weight in zip(layers, drawn):
            layer.lin.weight.copy_(weight.T)
            layer.bias.zero_()

    def encode(x: Tensor, edge_index: Tensor) -> Tensor:
        for layer, act in zip(layers, activations):
            x = act(layer(x, edge_index))
        return x

    x = graph.x / graph.x.sum(dim=1, keepdim=True)
    optimiser = torch.optim.Adam(
        [*layers.parameters(), *activations.parameters(), *projector.parameters()],
        lr=method.lr,
        weight_decay=method.weight_decay,
    )
    views = rng.torch("views")
    losses = []
    for _ in range(method.epochs):
        seen = []
        for edge_drop, feature_drop in zip(method.edge_drop, method.feature_drop):
            entries = torch.rand(graph.edge_index.shape[1], generator=views) >= edge_drop
            columns = torch.rand(INPUTS, generator=views) >= feature_drop
            seen.append(projector(encode(x * columns, graph.edge_index[:, entries])))
        loss = plain_loss(*seen, method.tau)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, encode(x, graph.edge_index)


@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_a_training_equals_a_plain_whole_matrix_one(activation: str) -> None:
    graph = small_graph()
    method = Grace(**SETTINGS, activation=activation)
    heard: list[float] = []
    embedding = method.fit(
        graph,
        torch.full((NODES,), -1),
        Streams(4),
        Watch(lambda done, total, loss: heard.append(loss)),
        negatives=Uniform(),
    )
    losses, z = plain_training(graph, method, seed=4)
    assert heard == pytest.approx(losses, rel=1e-5)
    torch.testing.assert_close(embedding.z, z, rtol=1e-3, atol=1e-5)
    assert embedding.geometry == "cosine"


def test_the_loss_falls() -> None:
    heard: list[float] = []
    Grace(**{**SETTINGS, "epochs": 60, "weight_decay": 0.0}).fit(
        small_graph(),
        torch.full((NODES,), -1),
        Streams(0),
        Watch(lambda done, total, loss: heard.append(loss)),
        negatives=Uniform(),
    )
    assert sum(heard[-10:]) < sum(heard[:10]) - 0.5


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (
            "cora",
            {
                "lr": 5e-4,
                "architecture": (256, 128),
                "tau": 0.4,
                "epochs": 200,
                "activation": "relu",
            },
        ),
        (
            "citeseer",
            {
                "lr": 1e-3,
                "architecture": (512, 256),
                "tau": 0.9,
                "epochs": 200,
                "activation": "prelu",
            },
        ),
        (
            "pubmed",
            {"edge_drop": (0.4, 0.1), "feature_drop": (0.0, 0.2), "tau": 0.7, "epochs": 1500},
        ),
        (
            "dblp_citation",
            {"edge_drop": (0.1, 0.4), "feature_drop": (0.1, 0.0), "epochs": 1000, "projector": 256},
        ),
        ("amazon_photo", {"lr": 5e-4, "architecture": (256, 128), "projector": 128}),
    ],
)
def test_settings_of_the_official_code(dataset: str, expected: dict[str, object]) -> None:
    method = experiment_of(["method=grace", f"dataset={dataset}"]).components.method
    assert {name: getattr(method, name) for name in expected} == expected


def test_registered() -> None:
    assert METHODS.load("grace") is Grace
