"""AUGCL's weights: what they are, when they apply, when they are made anew."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from augcl_loops import (
    NODES,
    SMALL,
    TELLING,
    WIDTH,
    made,
    pair_of,
    plain_weights,
    stretched,
    unit,
    weights_of,
)

from gclbench.negatives.uncertainty import NETWORK_ESTIMATORS


def test_reported_weights_are_those_in_use() -> None:
    """The distance needs no network, and its weights wait for the second half all the same."""
    strategy = made(replace(SMALL, estimator="distance"))
    assert torch.equal(
        weights_of(strategy, pair_of(iteration=5))(0, NODES),
        torch.ones(NODES, NODES, dtype=torch.float64),
    )
    assert not torch.equal(
        weights_of(strategy, pair_of(iteration=6))(0, NODES),
        torch.ones(NODES, NODES, dtype=torch.float64),
    )


def test_only_the_hardest_negatives_are_scored() -> None:
    strategy, pair = made(), pair_of()
    strategy.update(pair)
    rows = weights_of(strategy, pair)(0, NODES)
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
    for direction, wanted in ((pair, forth), (pair.swapped(), back)):
        found = weights_of(strategy, direction)(0, NODES)
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=0)
    assert all(float(rows.max()) > 1.2 and float(rows.min()) < 0.8 for rows in (forth, back))


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
    found = weights_of(strategy, pair_of(u=v[1].repeat(5, 1), views=(v,)))(0, 1)[0]
    assert found.tolist() == pytest.approx([1, 1.2, 1.2, 0.6, 1], rel=1e-6)


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


def test_several_views_have_weights_of_their_own() -> None:
    """Whether an iteration makes weights anew or not."""
    views = (unit(3), unit(4))
    for iteration in (6, 7, 8):
        several, alone = made(replace(SMALL, refresh=3)), made(replace(SMALL, refresh=1))
        for strategy in (several, alone):
            strategy.update(pair_of())
            strategy(pair_of(views=views))
        pair = pair_of(iteration, views=views)
        assert float(several(pair).value) == float(alone(pair).value)


def test_a_checkpoint_between_two_refreshes_goes_on_alike() -> None:
    strategy, other = made(replace(SMALL, refresh=3)), made(replace(SMALL, refresh=3), seed=1)
    strategy.update(pair_of())
    strategy(pair_of())
    other.load_state_dict(strategy.state_dict())
    for iteration in (7, 8, 9):
        pair = pair_of(iteration, seed=iteration)
        assert float(strategy(pair).value) == float(other(pair).value)


@pytest.mark.parametrize("estimator", ["gambler", "distance"])
def test_rows_without_two_groups_have_weight_one(estimator: str) -> None:
    """All similarities are equal: no pair has a group to learn, and nothing is more uncertain than
    the rest."""
    strategy = made(replace(SMALL, estimator=estimator))
    pair = pair_of(
        u=torch.ones(NODES, WIDTH, dtype=torch.float64),
        views=(torch.ones(NODES, WIDTH, dtype=torch.float64),),
    )
    untrained = {
        name: value.clone()
        for name, value in strategy.state_dict().items()
        if name.startswith("network")
    }
    strategy.update(pair)
    assert all(torch.equal(value, strategy.state_dict()[name]) for name, value in untrained.items())
    assert torch.allclose(
        weights_of(strategy, pair)(0, NODES), torch.ones(NODES, NODES, dtype=torch.float64)
    )
    assert float(strategy(pair).value) == pytest.approx(math.log(NODES))
