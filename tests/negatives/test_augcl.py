"""AUGCL: the weighted loss, when its weights apply and what they are, bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind, values_of
from gclbench.config.validation import ConfigErrors, load
from gclbench.contrast.objectives import inter_view_nce
from gclbench.graph import Unsupported
from gclbench.negatives import augcl
from gclbench.negatives.augcl import Augcl, AugclNegatives, weighted_nce
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uncertainty import NETWORK_ESTIMATORS, PairNetwork
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
    return replace(Pair(unit(seed), unit(seed + 1), 0.5, iteration, 10), **changes)  # type: ignore[arg-type]


def stretched(pair: Pair) -> Pair:
    """The same directions, rows of any length."""
    lengths = (
        torch.rand(2, NODES, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        + 0.5
    )
    return replace(pair, u=pair.u * lengths[0], v=pair.v * lengths[1])


def with_gradients(pair: Pair) -> Pair:
    return replace(pair, u=pair.u.clone().requires_grad_(), v=pair.v.clone().requires_grad_())


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
    return Pair(u, v, 0.5, 6, 10)


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


def doubt(estimator: str, logits: list[float]) -> float:
    """u of one pair (004, Eqs.

    1 and 2; METHODS 7): the share of abstention, 1 − max p, or −Σ p log p.
    """
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
    """004, Eq. 5 pair by pair, the mean of both directions."""
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
    pair = stretched(pair_of(u=u, v=v))
    assert other_group((u @ v.T)[0].tolist(), 0) == [] and all(
        other_group(row, i) for i, row in enumerate((v @ u.T).tolist())
    )
    strategy, untrained = made(settings), made(settings)
    strategy.update(pair)
    assert strategy.network is not None and untrained.network is not None
    found, start = list(strategy.network.parameters()), list(untrained.network.parameters())
    torch.testing.assert_close(found, list(trained_by_hand(settings, pair).parameters()))
    assert all(not torch.allclose(after, before) for after, before in zip(found, start))


@pytest.mark.parametrize("block", [None, 1, 5])
def test_the_weighted_loss_against_a_double_loop(block: int | None) -> None:
    u, v = unit(0), unit(1)
    w = torch.rand(
        NODES, NODES, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    ).fill_diagonal_(1.0)
    expected = 0.0
    for i in range(NODES):
        terms = [math.exp(float(u[i] @ v[j]) / 0.3) * float(w[i, j]) for j in range(NODES)]
        expected -= math.log(math.exp(float(u[i] @ v[i]) / 0.3) / sum(terms)) / NODES
    rows = lambda start, stop: w[start:stop]  # noqa: E731
    assert float(weighted_nce(u, v, 0.3, rows, block)) == pytest.approx(expected, abs=1e-12)
    assert torch.autograd.gradcheck(
        lambda u, v: weighted_nce(u, v, 0.3, rows, block), (u.requires_grad_(), v.requires_grad_())
    )


def test_the_base_phase_is_plain_inter_view_contrast() -> None:
    strategy, pair = made(), pair_of(iteration=5)
    strategy.update(pair)
    assert not strategy.trained
    assert float(strategy(pair)) == pytest.approx(float(inter_view_nce(pair.u, pair.v, pair.tau)))
    assert torch.equal(strategy.weights(pair)(0, 3), torch.ones(3, NODES, dtype=torch.float64))


def test_reported_weights_are_those_in_use() -> None:
    """The distance needs no network, and its weights wait for the second half all the same."""
    strategy = made(replace(SMALL, estimator="distance"))
    assert torch.equal(
        strategy.weights(pair_of(iteration=5))(0, NODES),
        torch.ones(NODES, NODES, dtype=torch.float64),
    )
    assert not torch.equal(
        strategy.weights(pair_of(iteration=6))(0, NODES),
        torch.ones(NODES, NODES, dtype=torch.float64),
    )


@pytest.mark.parametrize("estimator", ["gambler", "softmax_response", "entropy", "distance"])
def test_after_the_base_phase_both_directions_are_weighted(estimator: str) -> None:
    strategy, pair = made(replace(SMALL, estimator=estimator)), pair_of()
    strategy.update(pair)
    forth, back = strategy.weights(pair), strategy.weights(pair.swapped())
    expected = 0.5 * (
        weighted_nce(pair.u, pair.v, 0.5, forth) + weighted_nce(pair.v, pair.u, 0.5, back)
    )
    for block in (None, 1, 5):
        assert float(strategy(replace(pair, block=block))) == pytest.approx(
            float(expected), abs=1e-10
        )
    assert float(expected) != pytest.approx(float(inter_view_nce(pair.u, pair.v, 0.5)), abs=1e-6)
    for direction in (forth, back):
        rows = direction(0, NODES)
        assert torch.equal(rows.diagonal(), torch.ones(NODES, dtype=torch.float64))
        assert torch.allclose(rows.mean(dim=1), torch.ones(NODES, dtype=torch.float64)), (
            "mean 1 over the negatives"
        )
        assert torch.allclose(direction(3, 5), rows[3:5])


def test_only_the_hardest_negatives_are_scored() -> None:
    strategy, pair = made(), pair_of()
    strategy.update(pair)
    rows = strategy.weights(pair)(0, NODES)
    similarities = (pair.u @ pair.v.T).fill_diagonal_(-2)
    for i in range(NODES):
        scored = set(similarities[i].topk(5).indices.tolist())
        assert {j for j in range(NODES) if float(rows[i, j]) != 1.0} <= scored
    assert int((rows != 1).sum()) > NODES


@pytest.mark.parametrize("hardest", [5, NODES - 1, 256])
@pytest.mark.parametrize("estimator", [*NETWORK_ESTIMATORS, "distance"])
def test_weights_are_those_of_a_double_loop(estimator: str, hardest: int) -> None:
    strategy, pair = (
        made(replace(TELLING, estimator=estimator, hardest=hardest)),
        stretched(pair_of()),
    )
    strategy.update(pair)
    forth, back = plain_weights(strategy, pair.u, pair.v), plain_weights(strategy, pair.v, pair.u)
    torch.testing.assert_close(strategy.weights(pair)(0, NODES), forth, rtol=1e-9, atol=0)
    torch.testing.assert_close(strategy.weights(pair.swapped())(0, NODES), back, rtol=1e-9, atol=0)
    assert all(float(rows.max()) > 1.2 and float(rows.min()) < 0.8 for rows in (forth, back))


@pytest.mark.parametrize("block,most_kept", [(None, 1 << 24), (5, 1 << 24), (None, 1), (5, 1)])
@pytest.mark.parametrize("estimator", [*NETWORK_ESTIMATORS, "distance"])
def test_loss_and_gradient_are_those_of_a_double_loop(
    estimator: str, block: int | None, most_kept: int, monkeypatch: Any
) -> None:
    """The weights are constants: in the first weighted iteration of this very pair, in the next
    still of the first one's."""
    monkeypatch.setattr(augcl, "KEPT_ENTRIES", most_kept)
    strategy, first = made(replace(TELLING, estimator=estimator)), stretched(pair_of())
    strategy.update(first)
    forth, back = (
        plain_weights(strategy, first.u, first.v),
        plain_weights(strategy, first.v, first.u),
    )
    for pair in (first, stretched(pair_of(iteration=7, seed=3))):
        ours, plain = with_gradients(replace(pair, block=block)), with_gradients(pair)
        loss, wanted = strategy(ours), plain_loss(plain, forth, back)
        torch.testing.assert_close(loss, wanted)
        torch.testing.assert_close(
            torch.autograd.grad(loss, (ours.u, ours.v)),
            torch.autograd.grad(wanted, (plain.u, plain.v)),
        )


def test_a_copy_of_the_anchor_counts_as_a_thousandth_away() -> None:
    def away(distance: float, around: float = 0.0) -> list[float]:
        """A unit row so far from the one at the angle `around`."""
        angle = around + 2 * math.asin(distance / 2)
        return [math.cos(angle), math.sin(angle), 0.0, 0.0]

    v = torch.tensor(
        [away(0.0, math.pi), away(0.0), away(5e-4), away(2e-3), away(0.1, math.pi)],
        dtype=torch.float64,
    )
    strategy = made(replace(SMALL, estimator="distance"), nodes=5)
    found = strategy.weights(pair_of(u=v[1].repeat(5, 1), v=v))(0, 1)[0]
    assert found.tolist() == pytest.approx([1, 1.2, 1.2, 0.6, 1], rel=1e-6)


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
    strategy(replace(pair, u=u)).backward()
    assert u.grad is not None and strategy.joint_parameters() == []
    assert all(parameter.grad is None for parameter in strategy.parameters())
    assert all(torch.equal(value, strategy.state_dict()[name]) for name, value in before.items())


def test_weights_are_refreshed_every_few_iterations() -> None:
    strategy = made(replace(SMALL, refresh=3))
    strategy.update(pair_of())
    losses = {}
    for iteration in (6, 7, 8, 9):
        pair = pair_of(iteration, seed=iteration)
        strategy(pair)
        assert strategy._weights is not None
        losses[iteration] = strategy._weights[0](0, NODES)
    assert torch.equal(losses[6], losses[7]) and torch.equal(losses[6], losses[8])
    assert not torch.equal(losses[6], losses[9])


def test_a_checkpoint_between_two_refreshes_goes_on_alike() -> None:
    strategy, other = made(replace(SMALL, refresh=3)), made(replace(SMALL, refresh=3), seed=1)
    strategy.update(pair_of())
    strategy(pair_of())
    other.load_state_dict(strategy.state_dict())
    for iteration in (7, 8, 9):
        pair = pair_of(iteration, seed=iteration)
        assert float(strategy(pair)) == float(other(pair))


def test_the_same_seed_gives_the_same_network() -> None:
    first, second, third = made(), made(), made(seed=1)
    for strategy in (first, second, third):
        strategy.update(pair_of())
    assert float(first(pair_of())) == float(second(pair_of())) != float(third(pair_of()))


def test_a_batch_is_scored_by_itself() -> None:
    """Rows are other nodes in each batch, so weights of an earlier one mean nothing."""
    strategy = made(replace(SMALL, refresh=3), nodes=100)
    for iteration in (6, 7):
        pair = pair_of(iteration, seed=iteration, nodes=100)
        strategy.update(pair)
        expected = 0.5 * (
            weighted_nce(pair.u, pair.v, 0.5, strategy.weights(pair))
            + weighted_nce(pair.v, pair.u, 0.5, strategy.weights(pair.swapped()))
        )
        assert float(strategy(pair)) == pytest.approx(float(expected))


@pytest.mark.parametrize("estimator", ["gambler", "distance"])
def test_rows_without_two_groups_have_weight_one(estimator: str) -> None:
    """All similarities are equal: no pair has a group to learn, and nothing is more uncertain than
    the rest."""
    strategy = made(replace(SMALL, estimator=estimator))
    pair = pair_of(
        u=torch.ones(NODES, WIDTH, dtype=torch.float64),
        v=torch.ones(NODES, WIDTH, dtype=torch.float64),
    )
    untrained = {
        name: value.clone()
        for name, value in strategy.state_dict().items()
        if name.startswith("network")
    }
    strategy.update(pair)
    assert all(torch.equal(value, strategy.state_dict()[name]) for name, value in untrained.items())
    assert torch.allclose(
        strategy.weights(pair)(0, NODES), torch.ones(NODES, NODES, dtype=torch.float64)
    )
    assert float(strategy(pair)) == pytest.approx(math.log(NODES))


def test_unimodal_rows_are_counted() -> None:
    strategy = AugclNegatives(replace(SMALL, passes=1, pairs=1), 64, 300, Streams(0)).double()
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(300, 64, generator=generator, dtype=torch.float64) for _ in range(2))
    strategy.update(Pair(u, v, 0.5, 6, 10))
    assert float(strategy.ratio[0]) == pytest.approx(math.pi / 2 - 1, rel=0.1), (
        "similarities of random rows are one bell"
    )
    # Of a bell's ratios half are above its own.
    assert float(strategy.ratio[1]) == pytest.approx(0.5, abs=0.15)
    told = strategy.findings(Pair(u, v, 0.5, 10, 10))
    assert [told[name] for name in ("augcl_ratio", "augcl_unimodal")] == strategy.ratio.tolist()
    assert strategy.remarks({"augcl_unimodal": 0.51})[0].startswith(
        "AUGCL found no two groups in most rows"
    )
    assert strategy.remarks({"augcl_unimodal": 0.5}) == strategy.remarks({}) == []
    assert AugclNegatives(SMALL, 64, 300, Streams(0)).findings(Pair(u, v, 0.5, 1, 10)) == {}, (
        "nothing is trained yet"
    )


@pytest.mark.parametrize(
    "setting,text",
    [
        ("reward=1", r"negatives\.reward=1 is out of range: it must be > 1 and ≤ 2"),
        ("reward=2.1", r"negatives\.reward=2\.1 is out of range"),
        ("base=1.2", r"negatives\.base=1\.2 is out of range"),
        ("hardest=0", r"negatives\.hardest=0 is out of range: it must be ≥ 1"),
        (
            "estimator=distances",
            (
                r"must be one of gambler, softmax_response, entropy, distance\. Did you mean"
                r" 'distance'"
            ),
        ),
    ],
)
def test_settings_out_of_range(setting: str, text: str) -> None:
    with pytest.raises(ConfigErrors, match=text):
        load(["method=augcl", "dataset=cora", f"negatives.{setting}"])


@pytest.mark.parametrize(
    "values,iteration",
    [({"reward": 2}, 6), ({"base": 0}, 1), ({"base": 1}, 10), ({"hardest": 1, "refresh": 1}, 6)],
    ids=str,
)
def test_the_ends_of_the_ranges_are_accepted_and_give_finite_losses(
    values: dict[str, Any], iteration: int
) -> None:
    errors: list[str] = []
    settings = bind(Augcl, {**values_of(SMALL), **values}, "negatives", errors)
    assert errors == []
    strategy, pair = made(settings), with_gradients(pair_of(iteration))
    strategy.update(pair.detached())
    loss = strategy(pair)
    assert all(
        bool(torch.isfinite(found).all())
        for found in (loss, *torch.autograd.grad(loss, (pair.u, pair.v)))
    )
    assert bool(strategy.trained) == (values.get("base") != 1)


def test_a_graph_of_two_nodes_is_refused() -> None:
    with pytest.raises(
        Unsupported,
        match=(
            "in two groups, hence needs three nodes, and this graph has 2; negatives=uniform"
            " needs two"
        ),
    ):
        made(nodes=2)
