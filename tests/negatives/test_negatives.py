"""The contract of a strategy, on the base class and on every strategy that is registered."""

from __future__ import annotations

import io
import math
import typing
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Temperature
from gclbench.negatives.strategy import Negatives, Pair
from gclbench.training.streams import Streams

NODES, WIDTH, TOTAL = 24, 6, 8
STRATEGIES = NEGATIVES.names()


def rows(seed: int, count: int = NODES) -> Tensor:
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(seed))


def ring(count: int = NODES) -> Tensor:
    """Every node and its successor, both directions."""
    here = torch.arange(count)
    there = (here + 1) % count
    return torch.cat([torch.stack([here, there]), torch.stack([there, here])], dim=1)


def pair(iteration: int = TOTAL, seed: int = 0, **changes: Any) -> Pair:
    v = rows(seed) + 0.5 * rows(seed + 1)
    return Pair(
        **{
            "u": rows(seed),
            "v": v,
            "tau": 0.5,
            "iteration": iteration,
            "total": TOTAL,
            "edge_index": ring(),
            "nodes": NODES,
            **changes,
        }
    )


def built(name: str, seed: int = 3) -> Negatives:
    return NEGATIVES.load(name)().build(WIDTH, NODES, Streams(seed), torch.device("cpu"))


def step(negatives: Negatives, at: int, **changes: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of iteration `at` and its gradients, as a method's loop gets them."""
    both = pair(at, seed=10 * at, **changes)
    u, v = both.u.requires_grad_(), both.v.requires_grad_()
    negatives.mixture(NODES, torch.device("cpu"))
    negatives.update(both.detached())
    loss = negatives(both)
    loss.backward()
    assert u.grad is not None and v.grad is not None
    return loss.detach(), u.grad, v.grad


class Drawing(Negatives):
    """A strategy with a parameter and an optimiser of its own, and a random stream."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.optimisers["weight"] = torch.optim.Adam([self.weight], lr=0.1)
        self.generators["negatives"] = torch.Generator().manual_seed(0)

    def update(self, pair: Pair) -> None:
        self.weight.grad = torch.rand(2, generator=self.generators["negatives"])
        self.optimisers["weight"].step()


def test_a_pair_of_a_part_of_the_graph_is_a_batch() -> None:
    assert not pair().is_batch
    assert not pair(nodes=None).is_batch
    assert pair(nodes=NODES + 1).is_batch


def test_detached_and_swapped_pairs() -> None:
    both = pair(u=rows(0).requires_grad_(), v=rows(1).requires_grad_())
    detached = both.detached()
    assert not detached.u.requires_grad and not detached.v.requires_grad
    assert detached.u.data_ptr() == both.u.data_ptr()
    swapped = both.swapped()
    assert swapped.u is both.v and swapped.v is both.u
    assert (swapped.tau, swapped.iteration, swapped.edge_index is both.edge_index) == (
        0.5,
        TOTAL,
        True,
    )


def test_the_base_class_learns_mixes_and_reports_nothing() -> None:
    negatives, z = Negatives(), rows(0)
    assert negatives.joint_parameters() == []
    assert negatives.mixture(NODES, torch.device("cpu")) is None
    assert negatives.weights(pair()) is None and negatives.shares(pair()) is None
    assert negatives.embed(z, ring()) is z
    torch.testing.assert_close(negatives.embed(z, ring(), rows(1)), z + rows(1))
    with pytest.raises(TypeError, match="Negatives defines no loss"):
        negatives(pair())


def test_state_holds_parameters_optimisers_and_streams() -> None:
    """Through the bytes of a checkpoint, which are read without unpickling objects."""
    going, fresh = Drawing(), Drawing()
    for _ in range(3):
        going.update(pair())
    buffer = io.BytesIO()
    torch.save(going.state_dict(), buffer)
    buffer.seek(0)
    fresh.load_state_dict(torch.load(buffer, weights_only=True))
    for _ in range(2):
        going.update(pair())
        fresh.update(pair())
        assert torch.equal(going.weight, fresh.weight)
    assert not torch.equal(going.weight, Drawing().weight)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_gives_one_finite_number_that_both_views_feel(name: str) -> None:
    negatives = built(name)
    loss, for_u, for_v = step(negatives, TOTAL)
    assert loss.shape == ()
    assert math.isfinite(loss)
    assert bool(for_u.isfinite().all()) and bool(for_v.isfinite().all())
    assert bool(for_u.any()) and bool(for_v.any())
    parameters = {id(parameter) for parameter in negatives.parameters()}
    assert {id(parameter) for parameter in negatives.joint_parameters()} <= parameters
    embedded = negatives.embed(rows(0), ring())
    assert embedded.shape == (NODES, WIDTH)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("views", ["random", "alike", "opposite", "apart"])
def test_every_strategy_bears_the_smallest_temperature(name: str, views: str) -> None:
    u = rows(0)[:1].expand(NODES, WIDTH).clone() if views == "alike" else rows(0)
    v = {
        "random": rows(1),
        "alike": u,
        "opposite": -u,
        "apart": -rows(0)[:1].expand(NODES, WIDTH) + 1e-3 * rows(1),
    }[views]
    smallest = typing.get_args(Temperature)[1].least
    negatives = built(name)
    for at in (1, TOTAL - 1, TOTAL):
        for found in step(negatives, at, u=u.clone(), v=v.clone(), tau=smallest):
            assert bool(found.isfinite().all())


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_names_terms_that_sum_to_its_loss(name: str) -> None:
    negatives = built(name)
    loss, _, _ = step(negatives, TOTAL)
    assert negatives.terms and not any(term.requires_grad for term in negatives.terms.values())
    assert float(sum(negatives.terms.values())) == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_reruns_to_the_bit(name: str) -> None:
    first, second = built(name), built(name)
    for at in (1, TOTAL - 1, TOTAL):
        for one, other in zip(step(first, at), step(second, at), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_goes_on_from_its_state_to_the_bit(name: str) -> None:
    going = built(name)
    for at in range(1, TOTAL - 1):
        step(going, at)
    buffer = io.BytesIO()
    torch.save(going.state_dict(), buffer)
    buffer.seek(0)
    fresh = built(name)
    fresh.load_state_dict(torch.load(buffer, weights_only=True))
    for at in (TOTAL - 1, TOTAL):
        for one, other in zip(step(going, at), step(fresh, at), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("at", [1, TOTAL])
def test_every_strategy_lets_a_broken_encoder_end_as_a_loss_that_is_not_finite(
    name: str, at: int
) -> None:
    """An exception from somewhere inside would be recorded as a failure of the code instead of as
    `diverged`."""
    negatives = built(name)
    if at > 1:
        step(negatives, TOTAL - 1)
    u = rows(0)
    u[3, 2] = torch.nan
    broken = pair(at, u=u)
    negatives.mixture(NODES, torch.device("cpu"))
    negatives.update(broken)
    assert not math.isfinite(negatives(broken).item())


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategys_reports_are_rows_of_weights_and_shares(name: str) -> None:
    """Weights with mean 1 over a row's negatives, shares that sum to 1, none of them negative; the
    same in any blocks."""
    negatives = built(name)
    step(negatives, TOTAL)
    negatives.eval()
    both = pair().detached()
    weights, shares = negatives.weights(both), negatives.shares(both)
    if weights is not None:
        found = weights(0, NODES)
        assert found.shape == (NODES, NODES)
        assert bool((found >= 0).all())
        off = ~torch.eye(NODES, dtype=torch.bool)
        means = found[off].view(NODES, NODES - 1).mean(dim=1)
        torch.testing.assert_close(means, torch.ones(NODES), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(
            torch.cat([weights(0, 7), weights(7, 20), weights(20, NODES)]), found
        )
    if shares is not None:
        found = shares(0, NODES)
        assert bool((found >= 0).all())
        torch.testing.assert_close(found.sum(dim=1), torch.ones(NODES), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(
            torch.cat([shares(0, 7), shares(7, 20), shares(20, NODES)]), found
        )
