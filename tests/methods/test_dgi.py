"""DGI's steps written out with dense matrices, and its early stop."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from gclbench.graph import make_graph
from gclbench.methods.dgi import Dgi
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES, INPUTS, WIDTH = 14, 7, 5


def normalised_adjacency(edge_index: Tensor, nodes: int) -> Tensor:
    a = torch.eye(nodes)
    a[edge_index[1], edge_index[0]] = 1
    scale = a.sum(dim=1).rsqrt()
    return scale[:, None] * a * scale


@pytest.fixture
def graph():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, INPUTS, generator=generator)
    return make_graph(
        x,
        (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1).nonzero().T,
        None,
        "small",
        undirected=True,
    )


def test_five_steps_by_hand(graph):
    watch = Watch()
    found = (
        Dgi(epochs=5, hidden=WIDTH, lr=0.05, patience=0)
        .fit(graph, torch.full((NODES,), -1), Streams(2), watch)
        .z
    )

    rng = Streams(2)
    x = graph.x / graph.x.sum(dim=1, keepdim=True)
    s = normalised_adjacency(graph.edge_index, NODES)
    with rng.seeded("init"):
        weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(INPUTS, WIDTH)))
        bilinear = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, WIDTH, WIDTH)))
    bias, offset, act = nn.Parameter(torch.zeros(WIDTH)), nn.Parameter(torch.zeros(())), nn.PReLU()
    optimiser = torch.optim.Adam([weight, bilinear, bias, offset, *act.parameters()], lr=0.05)
    shuffles = rng.torch("shuffles")
    losses = []
    for _ in range(5):
        order = torch.randperm(NODES, generator=shuffles)
        true, false = (act(s @ rows @ weight + bias) for rows in (x, x[order]))
        c = torch.sigmoid(true.mean(dim=0)).expand(NODES, WIDTH)
        scores = [
            torch.nn.functional.bilinear(h, c, bilinear)[:, 0] + offset for h in (true, false)
        ]
        loss = binary_cross_entropy_with_logits(
            torch.cat(scores), torch.cat([torch.ones(NODES), torch.zeros(NODES)])
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-4)
    torch.testing.assert_close(found, act(s @ x @ weight + bias).detach(), rtol=1e-3, atol=1e-5)


def test_it_stops_when_the_loss_stops_falling_and_embeds_with_its_lowest(graph):
    """A rate this large makes the loss jump up and down."""
    told: list[float] = []
    method = Dgi(epochs=500, hidden=WIDTH, lr=0.5, patience=4)
    found = method.fit(
        graph,
        torch.full((NODES,), -1),
        Streams(0),
        Watch(lambda done, total, loss: told.append(loss)),
    )
    best = told.index(min(told))
    assert len(told) == best + 1 + 4 < 500
    assert all(math.isfinite(loss) for loss in told)
    # The state of the lowest loss is the one before that step: what as many steps without patience
    # leave.
    plain = Dgi(epochs=best, hidden=WIDTH, lr=0.5, patience=0).fit(
        graph, torch.full((NODES,), -1), Streams(0), Watch()
    )
    assert (
        torch.equal(found.z, plain.z)
        and found.findings == {"steps_kept": best}
        and not plain.findings
    )


def test_randomised_slopes_are_drawn_in_training_only(graph):
    """`rrelu_mean` has the mean slope throughout: without a step the two are the same."""

    def fit(activation, epochs):
        method = Dgi(epochs=epochs, hidden=WIDTH, activation=activation, patience=0)
        return method.fit(graph, torch.full((NODES,), -1), Streams(0), Watch()).z

    assert torch.equal(fit("rrelu", 3), fit("rrelu", 3))
    assert torch.equal(fit("rrelu", 0), fit("rrelu_mean", 0))
    assert not torch.allclose(fit("rrelu", 3), fit("rrelu_mean", 3), rtol=1e-6)
