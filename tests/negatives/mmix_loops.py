"""M-Mix on six nodes: strategies, pairs, and the shares by plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.negatives.mmix import SCOPES, VARIANTS, Mmix, MmixNegatives
from gclbench.negatives.strategy import Pair, WeightRows
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

CPU = torch.device("cpu")


NODES, WIDTH, THRESHOLD = 6, 4, 0.4


# Node 5 has no neighbour.
EDGES = torch.tensor([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]).T


EDGE_INDEX = torch.cat([EDGES, EDGES.flip(0)], dim=1)


SETTINGS = [
    (variant, scope)
    for variant in VARIANTS
    for scope in SCOPES
    if variant != "adjacency" or scope == "wp"
]


def made(settings: Mmix, seed: int = 0) -> MmixNegatives:
    strategy = settings.build(WIDTH, NODES, Streams(seed), CPU)
    assert isinstance(strategy, MmixNegatives)
    return strategy.double()


def pair_of(seed: int = 0, **changes: object) -> Pair:
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.randn(NODES, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2))
    return replace(Pair(u, (v,), 0.7, Step(1, 10), edge_index=EDGE_INDEX), **changes)  # type: ignore[arg-type]


def shares_of(strategy: MmixNegatives, pair: Pair) -> WeightRows:
    rows = strategy.report(pair).mixture
    assert rows is not None
    return rows


@torch.no_grad()
def cosines(strategy: MmixNegatives, z: Tensor) -> Tensor:
    """What `mp` compares, the two projections, or the embeddings themselves."""
    if strategy.query is None or strategy.key is None:
        return z @ z.T
    return (
        normalize(z @ strategy.query.weight.T, dim=1)
        @ normalize(z @ strategy.key.weight.T, dim=1).T
    )


def next_normals(strategy: MmixNegatives) -> Tensor:
    """The N×N normal deviates of the coming draw, 0 where none is needed: one per entry of A + I,
    or a row from each node's seed."""
    generator = torch.Generator()
    generator.set_state(strategy.generators["negatives"].get_state())
    if strategy.settings.scope != "wp":
        seeds = torch.randint(2**31, (NODES,), generator=generator).tolist()
        return torch.stack(
            [
                torch.randn(NODES, generator=generator.manual_seed(seed), dtype=torch.float64)
                for seed in seeds
            ]
        )
    entries = torch.tensor(sorted([*EDGE_INDEX.T.tolist(), *([i, i] for i in range(NODES))])).T
    rows = torch.zeros(NODES, NODES, dtype=torch.float64)
    rows[entries[0], entries[1]] = torch.randn(
        entries.shape[1], generator=generator, dtype=torch.float64
    )
    return rows


def plain_shares(strategy: MmixNegatives, z: Tensor) -> Tensor:
    """λ by loops (M-Mix paper, KDD 2022, Eqs. 6 and 7); of `random` those of the coming draw."""
    settings, similar = strategy.settings, cosines(strategy, z)
    own = {"mo": settings.self_share, "binary": 0.5}.get(settings.variant)
    scores = {"random": next_normals(strategy), "adjacency": torch.zeros_like(similar)}.get(
        settings.variant, similar
    )
    edges = torch.zeros(NODES, NODES, dtype=torch.bool)
    edges[EDGE_INDEX[0], EDGE_INDEX[1]] = True
    allowed = {"wp": edges, "all": torch.ones_like(edges), "op": similar >= settings.threshold}[
        settings.scope
    ]
    rows = torch.zeros(NODES, NODES, dtype=torch.float64)
    for i in range(NODES):
        mixed = [j for j in range(NODES) if (j != i and allowed[i, j]) or (j == i and own is None)]
        if settings.variant == "binary" and mixed:
            mixed = [max(mixed, key=scores[i].tolist().__getitem__)]
        total = sum(math.exp(scores[i, j]) for j in mixed)
        for j in mixed:
            rows[i, j] = (1 - (own or 0.0)) * math.exp(scores[i, j]) / total
        if own is not None:
            rows[i, i] = own if mixed else 1.0
    return rows
