"""Weights of a few pairs give what the same weights written out give: to the bit, but for sums over
columns of their own weights in half a panel, which come in another order."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gclbench.contrast.mostly_ones import MostlyOnes
from gclbench.contrast.panel import Panel, panel
from gclbench.contrast.tiles import Weights

NODES, WIDTH = 37, 8


def vectors(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(NODES, WIDTH, generator=generator)
    return torch.nn.functional.normalize(rows).requires_grad_()


def few(seed: int, itself: float = 1.0, symmetric: bool = False, none: bool = False) -> MostlyOnes:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(NODES, NODES, generator=generator)
    some = torch.rand(NODES, NODES, generator=generator) < (0 if none else 0.2)
    if symmetric:
        weights, some = weights + weights.T, some | some.T
    weights = weights.where(weights < 0.8, 0.0)
    row, column = some.nonzero().T
    return MostlyOnes(row, column, weights[row, column], NODES, NODES, itself)


def written_out(weights: MostlyOnes) -> Weights:
    return lambda start, stop: weights(start, stop)


def bits(found: Panel, *leaves: Tensor) -> list[Tensor]:
    terms = (*found.rows, *found.columns)
    pull = sum((number + 1) * term.square().sum() for number, term in enumerate(terms))
    assert isinstance(pull, Tensor)
    return [*terms, *torch.autograd.grad(pull, leaves)]


@pytest.mark.parametrize("block", [None, 5])
@pytest.mark.parametrize("tau", [0.5, 0.02])
@pytest.mark.parametrize(
    "heads",
    [
        [few(1)],
        [few(1, itself=0.0)],
        [few(1, itself=2.0)],
        [few(1, none=True)],
        [None, few(2)],
        [few(1), few(2, itself=0.0)],
    ],
)
def test_a_panel_is_that_of_the_weights_written_out(heads, tau, block):
    u, v = vectors(0), vectors(1)
    dense = tuple(None if head is None else written_out(head) for head in heads)
    for columns in (False, True):
        found = panel(u, v, 1 / tau, tuple(heads), columns=columns, block=block)
        wanted = panel(u, v, 1 / tau, dense, columns=columns, block=block)
        assert all(map(torch.equal, bits(found, u, v), bits(wanted, u, v)))


@pytest.mark.parametrize("block", [None, 5])
@pytest.mark.parametrize("number", [1, 2])
def test_columns_of_their_own_weights(number, block):
    u, v = vectors(0), vectors(1)
    heads = (few(1, itself=0.0), few(2))[:number]
    turned = (few(3, itself=0.0), few(4))[:number]
    wanted = panel(
        u,
        v,
        2.0,
        tuple(map(written_out, heads)),
        columns=True,
        column_heads=tuple(map(written_out, turned)),
        block=block,
    )
    expected = bits(wanted, u, v)
    for some in (tuple(map(written_out, heads)), heads):
        found = panel(u, v, 2.0, some, columns=True, column_heads=turned, block=block)
        assert all(map(torch.equal, bits(found, u, v), expected))
    # Two heads of which each is read in one direction are one head.
    both = panel(u, v, 2.0, (heads[0], turned[0]), columns=True, block=block)
    one = panel(u, v, 2.0, heads[:1], columns=True, column_heads=turned[:1], block=block)
    assert torch.equal(both.rows[0], one.rows[0]) and torch.equal(both.columns[1], one.columns[0])
    pulls = [
        found.sum() + back.square().sum()
        for found, back in ((both.rows[0], both.columns[1]), (one.rows[0], one.columns[0]))
    ]
    gradients = [torch.autograd.grad(pull, (u, v)) for pull in pulls]
    assert all(map(torch.equal, *gradients))


@pytest.mark.parametrize("block", [None, 5])
def test_half_of_a_symmetric_panel(block):
    u, weights, turned = vectors(0), few(1, symmetric=True), few(2)
    for heads, of_columns in (((weights,), None), ((weights,), (weights,)), ((few(3),), (turned,))):
        found, wanted = (
            panel(
                u,
                u,
                2.0,
                tuple(map(wrap, heads)),
                skip_self=True,
                symmetric=True,
                column_heads=of_columns and tuple(map(wrap, of_columns)),
                block=block,
            )
            for wrap in (lambda one: one, written_out)
        )
        for one, other in zip(bits(found, u), bits(wanted, u), strict=True):
            if of_columns is None:
                assert torch.equal(one, other)
            torch.testing.assert_close(one, other)


def test_the_weights_of_pairs_of_the_same_node_are_stated_apart():
    row, column = torch.tensor([0, 0, 2]), torch.tensor([0, 1, 2])
    value = torch.tensor([0.5, 0.25, 0.75])
    plain = MostlyOnes(row, column, value, 3, 4)
    assert plain(0, 3).tolist() == [[1, 0.25, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
    masked = MostlyOnes(row, column, value, 3, 4, itself=0.0)
    assert masked(1, 3).tolist() == [[1, 0, 1, 1], [1, 1, 0, 1]]
    assert masked.few(0, 2, first=1).whole().tolist() == [[0.25, 1, 1], [0, 1, 1]]
