"""M-Mix: the node objective against a plain double loop, the diversity loss, variants and scopes, bad input."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.config import ConfigErrors, load
from gclbench.contrast.mmix import SCOPES, VARIANTS, Mmix, MmixNegatives, diversity_loss
from gclbench.contrast.negatives import Pair
from gclbench.graph import Unsupported
from gclbench.streams import Streams

CPU = torch.device("cpu")
NODES, WIDTH = 6, 4
# Node 5 has no neighbour.
EDGES = torch.tensor([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]).T
EDGE_INDEX = torch.cat([EDGES, EDGES.flip(0)], dim=1)
SETTINGS = [(variant, scope) for variant in VARIANTS for scope in SCOPES if variant != "adjacency" or scope == "wp"]


def made(settings: Mmix, seed: int = 0) -> MmixNegatives:
    strategy = settings.build(WIDTH, NODES, Streams(seed), CPU)
    assert isinstance(strategy, MmixNegatives)
    return strategy.double()


def pair_of(seed: int = 0, **changes: object) -> Pair:
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.randn(NODES, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2))
    return replace(Pair(u, v, 0.7, 1, 10, edge_index=EDGE_INDEX), **changes)  # type: ignore[arg-type]


def plain_shares(strategy: MmixNegatives, z: Tensor) -> Tensor:
    """λ of `mp` and `mo` over neighbours by loops (paper 002, Eqs. 6 and 7)."""
    rows = torch.zeros(NODES, NODES, dtype=torch.float64)
    if strategy.query is not None and strategy.key is not None:
        q, k = normalize(z @ strategy.query.weight.T, dim=1), normalize(z @ strategy.key.weight.T, dim=1)
    for i in range(NODES):
        near = [int(b) for a, b in EDGE_INDEX.T if int(a) == i]
        if strategy.settings.variant == "mp":
            near.append(i)
            total = sum(math.exp(q[i] @ k[j]) for j in near)
            for j in near:
                rows[i, j] = math.exp(q[i] @ k[j]) / total
        else:
            total = sum(math.exp(z[i] @ z[j]) for j in near)
            for j in near:
                rows[i, j] = (1 - strategy.settings.self_share) * math.exp(z[i] @ z[j]) / total
            rows[i, i] = strategy.settings.self_share if near else 1.0
    return rows


@torch.no_grad()
def plain_objective(strategy: MmixNegatives, pair: Pair) -> float:
    """Eqs. 9 and 10 by loops."""
    z, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    g = normalize(strategy.head(plain_shares(strategy, z) @ z), dim=1)
    loss = 0.0
    for a, b in ((g, v), (v, g)):
        for i in range(NODES):
            across = [float(a[i] @ b[j]) / pair.tau for j in range(NODES)]
            within = [float(a[i] @ a[j]) / pair.tau for j in range(NODES) if j != i] if pair.intra else []
            loss += (math.log(sum(map(math.exp, across + within))) - across[i]) / (2 * NODES)
    if strategy.settings.diversity and strategy.query is not None and strategy.key is not None:
        q, k = normalize(z @ strategy.query.weight.T, dim=1), normalize(z @ strategy.key.weight.T, dim=1)
        loss -= float((q - k).square().sum()) / NODES
    return loss


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("variant,diversity", [("mp", True), ("mp", False), ("mo", True)])
def test_the_node_objective_is_the_printed_one(variant: str, diversity: bool, intra: bool) -> None:
    strategy = made(Mmix(variant=variant, diversity=diversity))
    pair = pair_of(intra=intra)
    expected = plain_objective(strategy, pair)
    for block in (None, 1, 2, NODES):
        assert float(strategy(replace(pair, block=block)).detach()) == pytest.approx(expected, abs=1e-10)
    assert set(strategy.terms) == ({"contrast", "diversity"} if variant == "mp" and diversity else {"contrast"})


@pytest.mark.parametrize("variant,scope", SETTINGS)
@pytest.mark.parametrize("gradient", [True, False])
def test_loss_and_gradient_do_not_depend_on_the_block(variant: str, scope: str, gradient: bool) -> None:
    settings = Mmix(variant=variant, scope=scope, threshold=0.1, gradient=gradient)
    found = []
    for block in (None, 1, 4):
        strategy, pair = made(settings), pair_of(block=block)
        pair = replace(pair, u=pair.u.requires_grad_(), v=pair.v.requires_grad_())
        loss = strategy(pair)
        loss.backward()
        assert pair.u.grad is not None and pair.v.grad is not None
        grads = [parameter.grad for parameter in strategy.joint_parameters() if parameter.grad is not None]
        found.append(torch.cat([loss.detach()[None], pair.u.grad.flatten(), pair.v.grad.flatten(), *map(torch.flatten, grads)]))
    assert torch.isfinite(found[0]).all() and float(found[0].abs().max()) > 0
    assert torch.allclose(found[0], found[1], rtol=0, atol=1e-12) and torch.allclose(found[0], found[2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant,scope", [("mp", "wp"), ("mo", "all"), ("mp", "all")])
def test_the_gradient_agrees_with_finite_differences(variant: str, scope: str) -> None:
    strategy, pair = made(Mmix(variant=variant, scope=scope)), pair_of()
    u, v = pair.u.requires_grad_(), pair.v.requires_grad_()
    assert torch.autograd.gradcheck(lambda u, v: strategy(replace(pair, u=u, v=v)), (u, v))


@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_shares_are_rows_that_sum_to_one(variant: str, scope: str) -> None:
    strategy = made(Mmix(variant=variant, scope=scope, threshold=0.5))
    rows = strategy.shares(pair_of())
    whole = rows(0, NODES)
    assert torch.allclose(whole.sum(dim=1), torch.ones(NODES, dtype=torch.float64))
    assert torch.allclose(rows(2, 4), whole[2:4], rtol=0, atol=1e-12)
    assert not whole.requires_grad and float(whole.min()) >= 0
    if scope == "wp":
        assert whole[5].tolist() == [0, 0, 0, 0, 0, 1], "a node without neighbours stays itself"
        assert float(whole[0, 3]) == 0
    if variant in ("mo", "binary") and scope == "all":
        assert torch.allclose(whole.diagonal(), torch.full((NODES,), 0.2 if variant == "mo" else 0.5, dtype=torch.float64))


def test_adjacency_shares_are_those_of_the_neighbourhood() -> None:
    rows = made(Mmix(variant="adjacency")).shares(pair_of())(0, 3)
    third = 1 / 3
    assert torch.allclose(rows[0], torch.tensor([third, third, third, 0, 0, 0], dtype=torch.float64))
    assert torch.allclose(rows[2], torch.tensor([0.25, 0.25, 0.25, 0.25, 0, 0], dtype=torch.float64))


@pytest.mark.parametrize("scope", ["wp", "all"])
def test_random_shares_are_drawn_anew_and_repeat_with_the_seed(scope: str) -> None:
    first, second, other = (made(Mmix(variant="random", scope=scope), seed) for seed in (0, 0, 1))
    draws = [strategy.shares(pair_of())(0, NODES) for strategy in (first, second, other, first)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.allclose(draws[0], draws[2])
    assert not torch.allclose(draws[0], draws[3]), "each iteration has its own"


def test_constant_shares_leave_the_projections_to_the_diversity_loss() -> None:
    frozen = made(Mmix(diversity=False, gradient=False))
    frozen(pair_of()).backward()
    assert frozen.query is not None and frozen.query.weight.grad is None
    learned = made(Mmix(diversity=False))
    learned(pair_of()).backward()
    assert learned.query is not None and learned.query.weight.grad is not None
    assert float(learned.query.weight.grad.abs().max()) > 0


def test_the_diversity_loss_lowers_the_self_share() -> None:
    """Minimised, it pushes q_i and k_i apart, which is what it is for (paper 002, Section 3.2)."""
    strategy = made(Mmix())
    assert strategy.query is not None and strategy.key is not None
    with torch.no_grad():
        strategy.key.weight.copy_(strategy.query.weight + 0.1 * strategy.key.weight)
    pair = pair_of()
    before = strategy.shares(pair)(0, 5).diagonal().mean()
    optimiser = torch.optim.SGD([strategy.query.weight, strategy.key.weight], lr=0.5)
    for _ in range(20):
        optimiser.zero_grad()
        diversity_loss(*strategy._projections(normalize(pair.u, dim=1))).backward()
        optimiser.step()
    assert strategy.shares(pair)(0, 5).diagonal().mean() < before - 0.05


def test_what_is_evaluated_is_the_sum_of_both_branches() -> None:
    strategy, pair = made(Mmix(variant="mo")), pair_of()
    z = normalize(pair.u, dim=1)
    mixed = normalize(strategy.head(plain_shares(strategy, z) @ z), dim=1)
    assert torch.allclose(strategy.embed(pair.u, EDGE_INDEX, pair.v), mixed + normalize(pair.v, dim=1))
    assert torch.allclose(strategy.embed(pair.u, EDGE_INDEX), mixed + z)


def test_a_batch_without_edges_has_no_neighbours_to_mix() -> None:
    with pytest.raises(Unsupported, match=r"negatives\.scope=wp mixes a node with its neighbours.*negatives\.scope=all"):
        made(Mmix())(pair_of(edge_index=None))
    assert torch.isfinite(made(Mmix(scope="all"))(pair_of(edge_index=None)))


def test_a_graph_of_one_node_is_refused() -> None:
    with pytest.raises(Unsupported, match="mixes a node with others, and this graph has one node"):
        Mmix().build(WIDTH, 1, Streams(0), CPU)


@pytest.mark.parametrize(
    "setting,text",
    [
        ("self_share=1", r"negatives\.self_share=1 is out of range: it must be ≥ 0 and < 1"),
        ("self_share=-0.1", r"negatives\.self_share=-0\.1 is out of range"),
        ("threshold=1.5", r"negatives\.threshold=1\.5 is out of range: it must be ≥ -1 and ≤ 1"),
        ("variant=mu", r"negatives\.variant='mu' must be one of mp, mo, binary, random, adjacency"),
    ],
)
def test_settings_out_of_range(setting: str, text: str) -> None:
    with pytest.raises(ConfigErrors, match=text):
        load(["method=grace", "dataset=cora", "negatives=mmix", f"negatives.{setting}"])


def test_fixed_mixing_over_all_nodes_is_refused() -> None:
    with pytest.raises(ConfigErrors, match=r"variant=adjacency mixes neighbours only.*negatives\.scope=wp"):
        load(["method=grace", "dataset=cora", "negatives=mmix", "negatives.variant=adjacency", "negatives.scope=all"])
