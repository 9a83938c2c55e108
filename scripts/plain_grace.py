"""GRACE the plain way, as a reference for `bench_train.py`: PyG layers on dense features, whole N×N
similarity matrices under autograd."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gclbench.methods.grace import Grace
from gclbench.training.streams import Streams


def plain_loss(h1: Tensor, h2: Tensor, tau: float) -> Tensor:
    """GRACE's Eqs. 1 and 2, both directions. Three N×N matrices; the official code makes four."""
    u, v = normalize(h1, dim=1), normalize(h2, dim=1)
    across, among_u, among_v = (torch.exp(a @ b.T / tau) for a, b in ((u, v), (u, u), (v, v)))
    forth = -torch.log(
        across.diagonal() / (across.sum(dim=1) + among_u.sum(dim=1) - among_u.diagonal())
    )
    back = -torch.log(
        across.diagonal() / (across.sum(dim=0) + among_v.sum(dim=1) - among_v.diagonal())
    )
    return (0.5 * (forth + back)).mean()


def train(
    graph: Data, method: Grace, seed: int, report: Callable[[int, int, float], None]
) -> Tensor:
    """The embedding (N×d) after `method.epochs` epochs; initial weights and views are those of
    `Grace.fit` with this seed."""
    rng = Streams(seed)
    widths = [graph.x.shape[1], *method.architecture]
    with rng.seeded("init"):
        drawn = [
            nn.init.xavier_uniform_(torch.empty(before, after))
            for before, after in zip(widths[:-1], widths[1:], strict=True)
        ]
        head = nn.Sequential(
            nn.Linear(widths[-1], method.projector),
            nn.ELU(),
            nn.Linear(method.projector, widths[-1]),
        )
    layers = nn.ModuleList(
        GCNConv(before, after) for before, after in zip(widths[:-1], widths[1:], strict=True)
    )
    activations = nn.ModuleList(
        {"relu": nn.ReLU, "prelu": nn.PReLU}[method.activation]() for _ in layers
    )
    with torch.no_grad():
        for layer, weight in zip(layers, drawn, strict=True):
            layer.lin.weight.copy_(weight.T)
            layer.bias.zero_()

    def encode(x: Tensor, edge_index: Tensor) -> Tensor:
        for layer, activation in zip(layers, activations, strict=True):
            x = activation(layer(x, edge_index))
        return x

    total = graph.x.sum(dim=1, keepdim=True)
    x = graph.x / total.masked_fill(total == 0, 1)
    parameters = [*layers.parameters(), *activations.parameters(), *head.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=method.lr, weight_decay=method.weight_decay)
    views = rng.torch("views")
    for epoch in range(1, method.epochs + 1):
        seen = []
        for edge_drop, feature_drop in zip(method.edge_drop, method.feature_drop, strict=True):
            entries = torch.rand(graph.edge_index.shape[1], generator=views) >= edge_drop
            columns = torch.rand(x.shape[1], generator=views) >= feature_drop
            seen.append(head(encode(x * columns, graph.edge_index[:, entries])))
        loss = plain_loss(seen[0], seen[1], method.tau)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        report(epoch, method.epochs, loss.item())
    with torch.no_grad():
        return encode(x, graph.edge_index)
