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
from gclbench.negatives.strategy import Negatives, Pair, Report, RowMixture, mean_of
from gclbench.training.loop import Loss, Step
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
            "views": (v,),
            "tau": 0.5,
            "step": Step(iteration, TOTAL),
            "edge_index": ring(),
            "features": rows(99).abs(),
            **changes,
        }
    )


def built(name: str, seed: int = 3) -> Negatives:
    return NEGATIVES.load(name)().build(WIDTH, NODES, Streams(seed), torch.device("cpu"))


def taken(negatives: Negatives, at: int, **changes: Any) -> tuple[Loss, Tensor, Tensor]:
    """The loss of iteration `at` and its gradients, as a method's loop gets them."""
    both = pair(at, seed=10 * at, **changes)
    u, v = both.u.requires_grad_(), both.v.requires_grad_()
    negatives.mixture(NODES, torch.device("cpu"))
    negatives.update(both.detached())
    loss = negatives(both)
    loss.value.backward()
    assert u.grad is not None and v.grad is not None
    return loss, u.grad, v.grad


def step(negatives: Negatives, at: int, **changes: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The number that the loss is, and its gradients."""
    loss, for_u, for_v = taken(negatives, at, **changes)
    return loss.value.detach(), for_u, for_v


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
    assert pair(batch=torch.arange(NODES), nodes=NODES + 1).is_batch
    assert pair(batched=True).is_batch, "all nodes, in a training that walks batches"


def test_detached_and_swapped_pairs() -> None:
    both = pair(u=rows(0).requires_grad_(), views=(rows(1).requires_grad_(),))
    detached = both.detached()
    assert not detached.u.requires_grad and not detached.v.requires_grad
    assert detached.u.data_ptr() == both.u.data_ptr()
    assert detached.kept is both.kept, "what is computed for one serves the other"
    swapped = both.swapped()
    assert swapped.u is both.v and swapped.v is both.u and len(swapped.views) == 1
    assert (swapped.tau, swapped.step) == (0.5, Step(TOTAL, TOTAL))
    assert swapped.edge_index is both.edge_index
    assert swapped.kept is not both.kept, "what is kept is of u's nodes as anchors"


def test_each_of_several_views_is_a_pair_and_what_is_kept_goes_with_the_first() -> None:
    several = pair(views=(rows(1), rows(2), rows(3)), intra=False, block=5)
    several.kept["anything"] = 1
    assert several.v is several.views[0]
    each = list(several.each())
    assert [len(one.views) for one in each] == [1, 1, 1]
    for one, view in zip(each, several.views, strict=True):
        assert one.u is several.u and one.v is view
        assert (one.tau, one.step, one.intra, one.block) == (0.5, several.step, False, 5)
    assert each[0].kept is several.kept
    assert [one.kept for one in each[1:]] == [{}, {}]
    each[1].kept["other"] = 2
    assert several.kept == {"anything": 1} and each[2].kept == {}


def test_the_edges_of_a_batch_are_found_once_for_all_its_views() -> None:
    """M-Mix prepares the neighbourhoods of an edge list once, as long as it is the same tensor."""
    views = (rows(1, 3), rows(2, 3), rows(3, 3))
    batch = torch.tensor([4, 1, 3])
    several = pair(u=rows(0, 3), views=views, batch=batch, nodes=5, edge_index=ring(5))
    several.kept["anything"] = 1
    found = [(one.edges, one) for one in several.each()]
    assert all(edges is several.edges for edges, _ in found)
    assert [one.kept.keys() for _, one in found] == [{"anything", "edges"}, {"edges"}, {"edges"}]


def test_several_views_are_detached_together() -> None:
    several = pair(views=tuple(rows(seed).requires_grad_() for seed in (1, 2, 3)))
    detached = several.detached()
    assert len(detached.views) == 3 and not any(view.requires_grad for view in detached.views)


def test_edges_of_a_batch_are_numbered_by_their_place_in_it_and_found_once() -> None:
    """The nodes 4, 1, 3 of a ring of five: 3 and 4 are neighbours."""
    part = pair(batch=torch.tensor([4, 1, 3]), nodes=5, edge_index=ring(5))
    assert part.edges is not None
    assert sorted(part.edges.T.tolist()) == [[0, 2], [2, 0]]
    assert part.detached().edges is part.edges
    whole = pair()
    assert whole.edges is whole.edge_index
    assert pair(batch=torch.tensor([4, 1, 3]), nodes=5, edge_index=None).edges is None


def test_the_base_class_learns_mixes_and_reports_nothing() -> None:
    negatives, z = Negatives(), rows(0)
    assert negatives.joint_parameters() == [] and not Drawing().joint_parameters()
    assert negatives.mixture(NODES, torch.device("cpu")) is None
    found = negatives.report(pair())
    assert found == Report() and found.weights is None and found.mixture is None
    assert (dict(found.findings), list(found.remarks)) == ({}, [])
    assert negatives.embed(z, ring()) is z
    first, second = negatives.branches(z, ring(), other := rows(1))
    assert first is z and second is other
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
        for found in step(negatives, at, u=u.clone(), views=(v.clone(),), tau=smallest):
            assert bool(found.isfinite().all())


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_names_terms_that_sum_to_its_loss(name: str) -> None:
    negatives = built(name)
    loss, _, _ = taken(negatives, TOTAL)
    assert loss.terms and not any(term.requires_grad for term in loss.terms.values())
    assert float(sum(loss.terms.values())) == pytest.approx(loss.value.item(), rel=1e-5)


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
    assert not math.isfinite(negatives(broken).value.item())


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategys_reports_are_rows_of_weights_and_shares(name: str) -> None:
    """Weights with mean 1 over a row's negatives, shares that sum to 1, none of them negative; the
    same in any blocks."""
    negatives = built(name)
    step(negatives, TOTAL)
    negatives.eval()
    report = negatives.report(pair().detached())
    weights, shares = report.weights, report.mixture
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


class Counting(Negatives):
    """Losses 1, 2, 3, … for one pair after the other, times how much its views differ."""

    def __init__(self, first_final: int = 0) -> None:
        super().__init__()
        self.pairs: list[Pair] = []
        self.first_final = first_final

    def loss(self, pair: Pair) -> Loss:
        self.pairs.append(pair)
        number = len(self.pairs)
        value = number * (pair.u - pair.v).square().mean()
        terms = {"contrast": value.detach(), "number": torch.tensor(float(number))}
        return Loss(value, terms, final=number >= self.first_final)


def test_the_loss_of_several_views_is_the_mean_over_the_pairs() -> None:
    views = tuple(rows(seed).requires_grad_() for seed in (1, 2, 3))
    several = pair(u=rows(0).requires_grad_(), views=views)
    counting = Counting()
    loss = counting(several)
    parts = [(several.u - view).square().mean() for view in views]
    wanted = sum(number * part for number, part in enumerate(parts, start=1)) / 3
    torch.testing.assert_close(loss.value, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(loss.value, (several.u, *views), retain_graph=True),
        torch.autograd.grad(wanted, (several.u, *views)),
    )
    assert [one.v is view for one, view in zip(counting.pairs, views, strict=True)] == [True] * 3
    assert loss.terms.keys() == {"contrast", "number"}
    torch.testing.assert_close(loss.terms["contrast"], wanted.detach())
    assert float(loss.terms["number"]) == 2.0 and loss.final


def test_the_loss_of_one_view_is_handed_on_as_it_is() -> None:
    class Same(Negatives):
        def loss(self, pair: Pair) -> Loss:
            return known

    known = Loss(torch.tensor(0.3), {"contrast": torch.tensor(0.3)}, final=False)
    assert Same()(pair()) is known


@pytest.mark.parametrize(("first_final", "final"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_mean_is_final_where_every_part_is(first_final: int, final: bool) -> None:
    several = pair(views=(rows(1), rows(2)))
    assert Counting(first_final)(several).final is final


def test_a_term_that_is_not_finite_in_one_part_is_not_in_the_mean() -> None:
    parts = [
        Loss(torch.tensor(value), {"a": torch.tensor(value), "b": torch.tensor(1.0)})
        for value in (1.0, math.inf, 2.0)
    ]
    found = mean_of(parts)
    assert math.isinf(found.value) and math.isinf(found.terms["a"]) and found.terms["b"] == 1.0


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_takes_several_views(name: str) -> None:
    """The mean of what it gives for each of them, in the same state."""
    negatives, by_hand = built(name), built(name)
    views = (rows(1), rows(2), rows(3))
    several = pair(views=views)
    for strategy in (negatives, by_hand):
        strategy.mixture(NODES, torch.device("cpu"))
        strategy.update(several.detached())
    found = negatives(several)
    parts = [by_hand(pair(views=(view,), several=True)).value for view in views]
    torch.testing.assert_close(found.value, torch.stack(parts).mean())


def test_mixtures_are_row_by_row_and_linear() -> None:
    mixture = RowMixture(torch.tensor([[0.75], [1.0], [0.5]]), torch.tensor([2, 0, 1]))
    x = torch.tensor([[4.0, 0.0], [2.0, 2.0], [0.0, 8.0]])
    assert mixture.apply(x).tolist() == [[3.0, 2.0], [2.0, 2.0], [1.0, 5.0]]
