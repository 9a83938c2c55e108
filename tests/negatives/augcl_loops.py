"""AUGCL on twelve nodes: strategies, pairs, and weights and loss by plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.negatives.augcl import Augcl, AugclNegatives
from gclbench.negatives.strategy import Pair, WeightRows
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

CPU = torch.device("cpu")


NODES, WIDTH = 12, 4


SMALL = Augcl(hardest=5, pairs=8, passes=3, batch_size=32)


TELLING = replace(SMALL, passes=10)
"""Passes after which the network tells negatives apart."""


def unit(seed: int, count: int = NODES) -> Tensor:
    return normalize(
        torch.randn(
            count, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        ),
        dim=1,
    )


def made(settings: Augcl = SMALL, seed: int = 0, nodes: int = NODES) -> AugclNegatives:
    strategy = settings.build(WIDTH, nodes, Streams(seed), CPU)
    assert isinstance(strategy, AugclNegatives)
    return strategy.double()


def pair_of(iteration: int = 6, seed: int = 0, **changes: object) -> Pair:
    return replace(Pair(unit(seed), (unit(seed + 1),), 0.5, Step(iteration, 10)), **changes)  # type: ignore[arg-type]


def weights_of(strategy: AugclNegatives, pair: Pair) -> WeightRows:
    rows = strategy.report(pair).weights
    assert rows is not None
    return rows


def stretched(pair: Pair) -> Pair:
    """The same directions, rows of any length."""
    lengths = (
        torch.rand(2, NODES, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        + 0.5
    )
    return replace(pair, u=pair.u * lengths[0], views=(pair.v * lengths[1],))


def with_gradients(pair: Pair) -> Pair:
    v = pair.v.clone().requires_grad_()
    return replace(pair, u=pair.u.clone().requires_grad_(), views=(v,))


def other_group(row: list[float], i: int) -> list[int]:
    """Candidates of the anchor i that two-means puts into another group than i; none where all
    similarities are equal."""
    if min(row) == max(row):
        return []
    ordered = sorted(row)
    split = min(
        range(1, len(row)),
        key=lambda k: sum(
            (x - sum(part) / len(part)) ** 2 for part in (ordered[:k], ordered[k:]) for x in part
        ),
    )
    threshold = (ordered[split - 1] + ordered[split]) / 2
    return [j for j in range(len(row)) if (row[j] > threshold) != (row[i] > threshold)]


def doubt(estimator: str, logits: list[float]) -> float:
    """u of one pair (AUGCL paper, Eqs. 1 and 2): share of abstention, 1 − max p, or −Σ p log p."""
    total = sum(map(math.exp, logits))
    p = [math.exp(logit) / total for logit in logits]
    if estimator == "gambler":
        return p[2]
    return 1 - max(p) if estimator == "softmax_response" else -sum(x * math.log(x) for x in p)


@torch.no_grad()
def plain_weights(strategy: AugclNegatives, anchors: Tensor, candidates: Tensor) -> Tensor:
    """w_ij pair by pair: the value of the pair [anchor_i ; candidate_j] over the mean of those that
    have one, 1 elsewhere.

    These are the hardest negatives, with φ's uncertainty; or for the distance the other group, with
    the reciprocal.
    """
    network, settings = strategy.network, strategy.settings
    anchors, candidates = normalize(anchors, dim=1), normalize(candidates, dim=1)
    rows = torch.ones(NODES, NODES, dtype=torch.float64)
    for i, row in enumerate((anchors @ candidates.T).tolist()):
        if network is None:
            values = {
                j: 1 / float((anchors[i] - candidates[j]).norm()) for j in other_group(row, i)
            }
        else:
            scored = sorted((j for j in range(NODES) if j != i), key=lambda j: -row[j])[
                : settings.hardest
            ]
            hidden = {
                j: network.first(torch.cat([anchors[i], candidates[j]])).relu() for j in scored
            }
            logits = {j: network.last(network.second(h).relu()).tolist() for j, h in hidden.items()}
            values = {j: doubt(settings.estimator, of_pair) for j, of_pair in logits.items()}
        for j, value in values.items():
            rows[i, j] = value / (sum(values.values()) / len(values))
    return rows


def plain_loss(pair: Pair, forth: Tensor, back: Tensor) -> Tensor:
    """AUGCL paper, Eq. 5, pair by pair; the mean of both directions."""
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    losses = []
    for anchors, candidates, weights in ((u, v, forth), (v, u, back)):
        for i in range(NODES):
            own = torch.exp(anchors[i] @ candidates[i] / pair.tau)
            others = (
                weights[i, j] * torch.exp(anchors[i] @ candidates[j] / pair.tau)
                for j in range(NODES)
                if j != i
            )
            losses.append(-torch.log(own / (own + sum(others))))
    return torch.stack(losses).mean()
