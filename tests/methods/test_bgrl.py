"""BGRL: its step written out, its schedules, its moving average."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from gclbench.contrast.bootstrap import bootstrap
from gclbench.graph import make_graph
from gclbench.methods.bgrl import Bgrl, BgrlModel, follow
from gclbench.nn.gcn import GcnEncoder
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES = 16


def test_the_loss_against_a_plain_loop():
    p, t = (
        torch.randn(6, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for seed in (0, 1)
    )
    total = 0.0
    for i in range(6):
        dot = sum(float(p[i, k] * t[i, k]) for k in range(4))
        total += 1 - dot / math.sqrt(sum(float(a * a) for a in p[i])) / math.sqrt(
            sum(float(a * a) for a in t[i])
        )
    assert float(bootstrap(p, t)) == pytest.approx(total / 6, rel=1e-12)
    assert torch.autograd.gradcheck(lambda prediction: bootstrap(prediction, t), p.requires_grad_())


def model_of(method: Bgrl) -> BgrlModel:
    pair = make_graph(torch.eye(2), torch.tensor([[0], [1]]), None, "pair", undirected=True)
    made = method.model(pair, torch.full((2,), -1), Streams(0))
    assert isinstance(made, BgrlModel) and made.iterations == method.epochs
    return made


def after(done: int, total: int) -> Step:
    """The iteration before which so many are done."""
    return Step(done + 1, total)


def test_the_learning_rate_rises_linearly_and_falls_as_a_cosine():
    def rates(*done: int) -> list[float]:
        return [model.rate(after(each, 10000)) for each in done]

    model = model_of(Bgrl(epochs=10000, warmup=0.1))
    assert rates(0, 500, 1000) == pytest.approx([0.0, 0.5, 1.0])
    assert rates(3250, 5500, 7750) == pytest.approx(
        [0.5 * (1 + math.cos(math.pi / 4)), 0.5, 0.5 * (1 - math.cos(math.pi / 4))]
    )
    assert rates(10000) == pytest.approx([0.0], abs=1e-12)
    assert model_of(Bgrl(epochs=10, warmup=0.0)).rate(after(0, 10)) == 1.0


@pytest.mark.parametrize(("done", "keeping"), [(0, 0.9), (50, 0.95), (100, 1.0)])
def test_the_average_slows_down_as_a_cosine(done, keeping):
    """From an average of zeros and a network of ones, the new average is what it does not keep."""
    model = model_of(Bgrl(epochs=100, momentum=0.9))
    with torch.no_grad():
        for slow, fast in zip(model.target.parameters(), model.encoder.parameters(), strict=True):
            slow.fill_(0.0)
            fast.fill_(1.0)
    model.after(after(done, 100))
    for slow in model.target.parameters():
        torch.testing.assert_close(slow, torch.full_like(slow, 1 - keeping))


def test_the_average_takes_parameters_and_leaves_buffers():
    torch.manual_seed(0)
    online, target = (GcnEncoder(3, (4,), "prelu", batch_norm=True) for _ in range(2))
    target.norms[0].running_mean.fill_(5.0)
    before = copy.deepcopy(target.state_dict())
    follow(target, online, 0.75)
    for name, slow in target.named_parameters():
        torch.testing.assert_close(
            slow, 0.75 * before[name] + 0.25 * dict(online.named_parameters())[name]
        )
    assert target.norms[0].running_mean.tolist() == [5.0] * 4


def test_three_steps_by_hand():
    """Plain modules, an average with weights of its own, AdamW with a scheduled rate."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, 6, generator=generator)
    graph = make_graph(
        x,
        (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1).nonzero().T,
        None,
        "small",
        undirected=True,
    )
    watch = Watch()
    settings = {"edge_drop": (0.3, 0.5), "feature_drop": (0.2, 0.4)}
    method = Bgrl(
        epochs=3, warmup=0.4, lr=0.05, architecture=(5, 4), predictor=6, momentum=0.8, **settings
    )  # type: ignore[arg-type]
    found = method.fit(graph, torch.full((NODES,), -1), Streams(3), watch).z

    rng = Streams(3)
    features, adjacency = Features(x, normalise=True), Adjacency(graph.edge_index, NODES)
    with rng.seeded("init"):
        encoder = GcnEncoder(6, (5, 4), "prelu", batch_norm=True)
        predictor = nn.Sequential(nn.Linear(4, 6), nn.PReLU(), nn.Linear(6, 4))
    with rng.seeded("target"):
        target = GcnEncoder(6, (5, 4), "prelu", batch_norm=True)
    assert not torch.equal(target.weights[0], encoder.weights[0])
    optimiser = torch.optim.AdamW(
        [*encoder.parameters(), *predictor.parameters()], lr=0.05, weight_decay=1e-5, fused=False
    )
    views = rng.torch("views")
    losses = []
    for step in range(3):
        optimiser.param_groups[0]["lr"] = 0.05 * (
            step / 1.2 if step < 1.2 else 0.5 * (1 + math.cos(math.pi * (step - 1.2) / 1.8))
        )
        drawn = []
        for edge, column in ((0.3, 0.2), (0.5, 0.4)):
            keep = torch.rand(graph.edge_index.shape[1], generator=views) >= edge
            drawn.append((adjacency.normalised(keep), torch.rand(6, generator=views) >= column))
        t1, t2 = (normalize(target(features, *view), dim=1).detach() for view in drawn)
        q1, q2 = (normalize(predictor(encoder(features, *view)), dim=1) for view in drawn)
        loss = 2 - (q1 * t2).sum(dim=1).mean() - (q2 * t1).sum(dim=1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        keeping = 1 - 0.2 * (1 + math.cos(math.pi * step / 3)) / 2
        for slow, fast in zip(target.parameters(), encoder.parameters(), strict=True):
            slow.data = keeping * slow.data + (1 - keeping) * fast.data
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-4)
    encoder.eval()
    torch.testing.assert_close(
        found, encoder(features, adjacency.normalised()).detach(), rtol=1e-3, atol=1e-4
    )
