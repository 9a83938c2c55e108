"""The network that AUGCL trains: its steps written out, what it learns, when."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from augcl_loops import (
    NODES,
    SMALL,
    WIDTH,
    made,
    other_group,
    pair_of,
    stretched,
    unit,
)
from torch.nn.functional import normalize

from gclbench.negatives.augcl import Augcl, AugclNegatives
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uncertainty import PairNetwork
from gclbench.training.loop import Step
from gclbench.training.streams import Streams


def clusters() -> Pair:
    """Two views of 200 nodes in two clear clusters."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[1.0, 0, 0, 0], [-0.5, 0.8, 0, 0]], dtype=torch.float64).repeat(100, 1)
    u, v = (
        normalize(
            centres + 0.15 * torch.randn(200, WIDTH, generator=generator, dtype=torch.float64),
            dim=1,
        )
        for _ in range(2)
    )
    return Pair(u, (v,), 0.5, Step(6, 10))


def trained_by_hand(settings: Augcl, pair: Pair) -> PairNetwork:
    """The network after `passes` over pairs drawn as `made` draws them, one direction in one step,
    the other in the next."""
    strategy = made(settings)
    network, generator = strategy.network, strategy.generators["negatives"]
    assert network is not None
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.lr)
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    directions = [
        (a, b, [other_group(row, i) for i, row in enumerate((a @ b.T).tolist())])
        for a, b in ((u, v), (v, u))
    ]
    steps = settings.passes * math.ceil(NODES * settings.pairs / settings.batch_size)
    for step in range(steps):
        anchors, candidates, other = directions[step % 2]
        drawn = torch.randint(NODES, (2, settings.batch_size), generator=generator).T.tolist()
        losses = []
        for i, j in [(i, j) for i, j in drawn if other[i]]:
            together = network.first(torch.cat([anchors[i], candidates[j]]))
            p = network.last(network.second(together.relu()).relu()).softmax(dim=0)
            kept = p[2] / settings.reward if settings.estimator == "gambler" else 0.0
            losses.append(-torch.log(p[int(j in other[i])] + kept))
        optimiser.zero_grad()
        torch.stack(losses).mean().backward()
        optimiser.step()
    return network


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"estimator": "softmax_response"},
        {"estimator": "entropy"},
        {"reward": 1.2},
        {"passes": 2},
        {"pairs": 5},
        {"batch_size": 20},
        {"lr": 0.003},
    ],
    ids=str,
)
def test_the_training_of_the_network_is_the_written_out_one(changes: dict[str, Any]) -> None:
    """Of rows of any length; the first anchor has the same similarity with every candidate, so its
    pairs are left out."""
    settings = replace(SMALL, **changes)
    u, v = unit(0), unit(1)
    u[0], v[:, 3] = torch.eye(4, dtype=torch.float64)[3], 0
    pair = stretched(pair_of(u=u, views=(v,)))
    assert other_group((u @ v.T)[0].tolist(), 0) == [] and all(
        other_group(row, i) for i, row in enumerate((v @ u.T).tolist())
    )
    strategy, untrained = made(settings), made(settings)
    strategy.update(pair)
    assert strategy.network is not None and untrained.network is not None
    found, start = list(strategy.network.parameters()), list(untrained.network.parameters())
    torch.testing.assert_close(found, list(trained_by_hand(settings, pair).parameters()))
    assert all(not torch.allclose(after, before) for after, before in zip(found, start))


def test_the_network_learns_the_groups_and_doubts_what_lies_between() -> None:
    strategy = AugclNegatives(
        Augcl(hardest=199, pairs=64, batch_size=512), WIDTH, 200, Streams(0)
    ).double()
    pair = clusters()
    strategy.update(pair)
    network = strategy.network
    assert network is not None and strategy.trained
    assert float(strategy.ratio[0]) < 0.1 and float(strategy.ratio[1]) == 0
    middle = normalize(pair.v[0] + pair.v[1], dim=0)
    with torch.no_grad():
        own, other, between = (
            network(network.anchors(pair.u[0]) + network.candidates(z)).softmax(dim=0)
            for z in (pair.v[2], pair.v[1], middle)
        )
    assert own[0] > 0.9 and other[1] > 0.9
    assert between[2] > 2 * max(own[2], other[2]), "abstention is where the groups meet"


def test_the_network_is_trained_once_and_not_by_the_encoders_loss() -> None:
    strategy, pair = made(), pair_of()
    strategy.update(pair)
    before = {
        name: value.clone()
        for name, value in strategy.state_dict().items()
        if name.startswith("network")
    }
    strategy.update(pair_of(iteration=7, seed=5))
    u = pair.u.requires_grad_()
    strategy.network.zero_grad()  # type: ignore[union-attr]
    strategy(replace(pair, u=u)).value.backward()
    assert u.grad is not None and strategy.joint_parameters() == []
    assert all(parameter.grad is None for parameter in strategy.parameters())
    assert all(torch.equal(value, strategy.state_dict()[name]) for name, value in before.items())


def test_the_same_seed_gives_the_same_network() -> None:
    first, second, third = made(), made(), made(seed=1)
    for strategy in (first, second, third):
        strategy.update(pair_of())
    losses = [float(strategy(pair_of()).value) for strategy in (first, second, third)]
    assert losses[0] == losses[1] != losses[2]


def test_unimodal_rows_are_counted() -> None:
    strategy = AugclNegatives(replace(SMALL, passes=1, pairs=1), 64, 300, Streams(0)).double()
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(300, 64, generator=generator, dtype=torch.float64) for _ in range(2))
    strategy.update(Pair(u, (v,), 0.5, Step(6, 10)))
    assert float(strategy.ratio[0]) == pytest.approx(math.pi / 2 - 1, rel=0.1), (
        "similarities of random rows are one bell"
    )
    # Of a bell's ratios half are above its own.
    assert float(strategy.ratio[1]) == pytest.approx(0.5, abs=0.15)
    last = Pair(u, (v,), 0.5, Step(10, 10))
    found = strategy.report(last).findings
    assert [found[name] for name in ("augcl_ratio", "augcl_unimodal")] == strategy.ratio.tolist()
    noise = (
        "AUGCL found no two groups in most rows of similarities: what its network was trained on"
        " is noise"
    )
    for share, remarks in ((0.51, [noise]), (0.5, [])):
        strategy.ratio[1] = share
        assert list(strategy.report(last).remarks) == remarks
    untrained = AugclNegatives(SMALL, 64, 300, Streams(0)).report(Pair(u, (v,), 0.5, Step(1, 10)))
    assert (untrained.findings, list(untrained.remarks)) == ({}, []), "nothing is trained yet"
