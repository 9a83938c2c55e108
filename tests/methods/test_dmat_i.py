"""One step of DMAT-i and DMAT written out by hand: Algorithm 1 of their paper."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.views import dropped_columns
from gclbench.graph import make_graph
from gclbench.methods.dmat import Dmat
from gclbench.methods.dmat_i import DmatI
from gclbench.methods.dmt import Dmt
from gclbench.nn.mlp import Mlp
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SETTINGS = {
    "epochs": 5,
    "architecture": (6, 4),
    "batch_size": 8,
    "tau": 0.7,
    "lr": 0.01,
    "weight_decay": 0.1,
    "activation": "selu",
}
NODES, WIDTH = 20, 9


def similarity(a: Tensor, b: Tensor, tau: float) -> Tensor:
    return (normalize(a, dim=1) @ normalize(b, dim=1).T / tau).exp()


def label_free(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """Eq. 7 with whole matrices."""
    both = torch.cat([u, v])
    h = similarity(both, both, tau)
    count = len(u)
    counterpart = torch.cat([torch.diagonal(h, count), torch.diagonal(h, -count)])
    return torch.log((h.sum(dim=1) - h.diagonal()) / counterpart).mean()


def labelled(u: Tensor, v: Tensor, labels: Tensor, tau: float) -> Tensor:
    """Eq. 5 with whole matrices."""
    both, classes = torch.cat([u, v]), labels.repeat(2)
    h = similarity(both, both, tau)
    h = h - torch.diag(h.diagonal())
    return torch.log(h.sum(dim=1) / (h * (classes[:, None] == classes)).sum(dim=1)).mean()


def of_itself(z: Tensor, labels: Tensor, tau: float) -> Tensor:
    """Eq. 4 with whole matrices."""
    h = similarity(z, z, tau)
    return torch.log(h.sum(dim=1) / (h * (labels[:, None] == labels)).sum(dim=1)).mean()


@pytest.mark.parametrize("unit_input", [True, False])
@pytest.mark.parametrize("method", [DmatI, Dmat, Dmt])
def test_five_steps_by_hand(method, unit_input):
    """Plain autograd, real masked copies and an AdamW of its own arrive at the same embedding."""
    x = torch.randn(NODES, WIDTH, generator=torch.Generator().manual_seed(0))
    y = torch.arange(NODES) % 3
    graph = make_graph(x, torch.empty(2, 0, dtype=torch.long), y, "toy")
    settings = {**SETTINGS, "unit_input": unit_input}
    component = (
        method(**settings) if method is Dmt else method(**settings, mask_fraction=0.3, views=2)
    )
    watch = Watch()
    found = component.fit(graph, y, Streams(4), watch).z
    x = x / x.norm(dim=1, keepdim=True) if unit_input else x

    rng = Streams(4)
    with rng.seeded("init"):
        encoder = Mlp(WIDTH, (6, 4), "selu")
    optimiser = torch.optim.AdamW(
        encoder.parameters(), lr=0.01, weight_decay=0.1, foreach=False, fused=False
    )
    views, batches = rng.torch("views"), rng.torch("batches")
    queue: list[Tensor] = []
    losses = []
    for _ in range(5):
        if not queue:
            queue = list(torch.randperm(NODES, generator=batches).split(8))
        batch = queue.pop(0)
        rows = x[batch]
        if method is Dmt:
            loss = of_itself(encoder(rows), y[batch], 0.7)
        else:
            dropped = [dropped_columns(WIDTH, 0.3, views) for _ in range(2)]
            parts = []
            for columns in dropped:
                masked = rows.clone()
                masked[:, columns] = 0.0
                pair = encoder(rows), encoder(masked)
                parts.append(
                    label_free(*pair, 0.7) if method is DmatI else labelled(*pair, y[batch], 0.7)
                )
            loss = (parts[0] + parts[1]) / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-4)
    torch.testing.assert_close(found, encoder(x).detach(), rtol=1e-3, atol=1e-4)
