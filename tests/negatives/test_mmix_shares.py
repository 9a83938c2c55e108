"""The shares of M-Mix's mixtures against plain loops, in every variant and scope."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from mmix_loops import (
    NODES,
    SETTINGS,
    THRESHOLD,
    WIDTH,
    cosines,
    made,
    pair_of,
    plain_shares,
    shares_of,
)
from scipy import stats
from torch.nn.functional import normalize

from gclbench.negatives.mmix import SCOPES, Mmix, MmixNegatives
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams


@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_shares_are_those_of_a_plain_loop(variant: str, scope: str) -> None:
    strategy, pair = made(Mmix(variant=variant, scope=scope, threshold=THRESHOLD)), pair_of()
    expected = plain_shares(strategy, normalize(pair.u, dim=1))
    torch.testing.assert_close(shares_of(strategy, pair)(0, NODES), expected)


@pytest.mark.parametrize("variant", ["mp", "mo", "binary", "random"])
def test_beyond_the_threshold_are_some_of_some_rows_and_all_of_others(variant: str) -> None:
    """What the comparisons with a plain loop rest on: rows with both kinds of candidates, and a row
    that is left alone."""
    strategy, pair = made(Mmix(variant=variant, scope="op", threshold=THRESHOLD)), pair_of()
    passes = cosines(strategy, normalize(pair.u, dim=1)) >= THRESHOLD
    counts = (passes & ~torch.eye(NODES, dtype=torch.bool)).sum(dim=1).tolist()
    assert min(counts) == 0 and 1 < max(counts) < NODES - 1
    mixed = shares_of(strategy, pair)(0, NODES) > 0
    if variant == "binary":
        assert mixed.sum(dim=1).tolist() == [min(2, 1 + count) for count in counts]
    else:
        assert torch.equal(mixed, passes | torch.eye(NODES, dtype=torch.bool))


@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_shares_are_rows_that_sum_to_one(variant: str, scope: str) -> None:
    strategy = made(Mmix(variant=variant, scope=scope, threshold=0.5))
    rows = shares_of(strategy, pair_of())
    whole = rows(0, NODES)
    assert torch.allclose(whole.sum(dim=1), torch.ones(NODES, dtype=torch.float64))
    assert torch.allclose(rows(2, 4), whole[2:4], rtol=0, atol=1e-12)
    assert not whole.requires_grad and float(whole.min()) >= 0
    if scope == "wp":
        assert whole[5].tolist() == [0, 0, 0, 0, 0, 1], "a node without neighbours stays itself"
        assert float(whole[0, 3]) == 0
    if variant in ("mo", "binary") and scope == "all":
        assert torch.allclose(
            whole.diagonal(),
            torch.full((NODES,), 0.2 if variant == "mo" else 0.5, dtype=torch.float64),
        )


def test_adjacency_shares_are_those_of_the_neighbourhood() -> None:
    rows = shares_of(made(Mmix(variant="adjacency")), pair_of())(0, 3)
    third = 1 / 3
    assert torch.allclose(
        rows[0], torch.tensor([third, third, third, 0, 0, 0], dtype=torch.float64)
    )
    assert torch.allclose(
        rows[2], torch.tensor([0.25, 0.25, 0.25, 0.25, 0, 0], dtype=torch.float64)
    )


@pytest.mark.parametrize("scope", ["wp", "all"])
def test_random_shares_are_drawn_anew_and_repeat_with_the_seed(scope: str) -> None:
    first, second, other = (made(Mmix(variant="random", scope=scope), seed) for seed in (0, 0, 1))
    draws = [shares_of(strategy, pair_of())(0, NODES) for strategy in (first, second, other, first)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.allclose(draws[0], draws[2])
    assert not torch.allclose(draws[0], draws[3]), "each iteration has its own"


@pytest.mark.parametrize("scope", SCOPES)
def test_random_shares_are_a_softmax_of_independent_normal_deviates(scope: str) -> None:
    """Hence log λ_ij − log λ_ik ~ N(0, 2)."""
    nodes = 40
    strategy = MmixNegatives(
        Mmix(variant="random", scope=scope, threshold=-1.0), WIDTH, Streams(0)
    ).double()
    u = torch.randn(nodes, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    everything = torch.ones(nodes, nodes).fill_diagonal_(0).nonzero().T
    pair = Pair(u, (u,), 0.7, Step(1, 10), edge_index=everything)
    logs = shares_of(strategy, pair)(0, nodes).log()
    differences = (logs[:, ::2] - logs[:, 1::2]).flatten()
    assert stats.kstest(differences.numpy(), stats.norm(scale=math.sqrt(2)).cdf).pvalue > 1e-3


def test_scope_op_says_how_many_nodes_have_anything_to_be_mixed_with() -> None:
    z = torch.eye(4, WIDTH, dtype=torch.float64).repeat_interleave(
        torch.tensor([3, 1, 2, 1]), dim=0
    )
    settings = Mmix(variant="mo", scope="op", threshold=0.5)

    def findings(settings: Mmix) -> dict[str, float]:
        strategy = MmixNegatives(settings, WIDTH, Streams(0)).double()
        return dict(strategy.report(Pair(z, (z,), 1.0, Step(1, 1))).findings)

    assert findings(settings) == {"mmix_mixed": 5 / 7}
    assert findings(replace(settings, threshold=-1.0)) == {"mmix_mixed": 1.0}
    at_the_threshold = findings(replace(settings, threshold=1.0))
    assert at_the_threshold == {"mmix_mixed": 5 / 7}, "equal nodes have a cosine of exactly 1"
    assert findings(replace(settings, scope="all")) == {}


@pytest.mark.parametrize(
    ("copies", "share", "remarks"),
    [
        (
            9,
            0.009,
            ["M-Mix mixed next to nothing: few nodes have another above negatives.threshold"],
        ),
        (10, 0.01, []),
    ],
)
def test_a_remark_says_that_next_to_nothing_is_mixed(
    copies: int, share: float, remarks: list[str]
) -> None:
    """1,000 nodes on a circle, so many of them in one place."""
    angle = torch.arange(1000, dtype=torch.float64).mul(2 * math.pi / 1000)
    angle[:copies] = 0.0
    z = torch.stack([angle.cos(), angle.sin()], dim=1)
    settings = Mmix(variant="mo", scope="op", threshold=1 - 1e-9)
    strategy = MmixNegatives(settings, 2, Streams(0)).double()
    report = strategy.report(Pair(z, (z,), 1.0, Step(1, 1)))
    assert report.findings == {"mmix_mixed": share}
    assert list(report.remarks) == remarks
