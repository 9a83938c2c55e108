"""AUGCL's loss against plain double loops, in its base phase and after."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from augcl_loops import (
    NODES,
    SMALL,
    TELLING,
    made,
    pair_of,
    plain_loss,
    plain_weights,
    stretched,
    unit,
    weights_of,
    with_gradients,
)

from gclbench.contrast import panel
from gclbench.contrast.objectives import inter_view_nce
from gclbench.negatives.augcl import weighted_nce
from gclbench.negatives.uncertainty import NETWORK_ESTIMATORS


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
    loss = strategy(pair)
    assert float(loss.value) == pytest.approx(float(inter_view_nce(pair.u, pair.v, pair.tau)))
    assert not loss.final, "early stopping waits for the weights"
    assert torch.equal(weights_of(strategy, pair)(0, 3), torch.ones(3, NODES, dtype=torch.float64))


@pytest.mark.parametrize("estimator", ["gambler", "softmax_response", "entropy", "distance"])
def test_after_the_base_phase_both_directions_are_weighted(estimator: str) -> None:
    strategy, pair = made(replace(SMALL, estimator=estimator)), pair_of()
    strategy.update(pair)
    forth, back = weights_of(strategy, pair), weights_of(strategy, pair.swapped())
    expected = 0.5 * (
        weighted_nce(pair.u, pair.v, 0.5, forth) + weighted_nce(pair.v, pair.u, 0.5, back)
    )
    for block in (None, 1, 5):
        loss = strategy(replace(pair, block=block))
        assert float(loss.value) == pytest.approx(float(expected), abs=1e-10) and loss.final
    assert float(expected) != pytest.approx(float(inter_view_nce(pair.u, pair.v, 0.5)), abs=1e-6)
    for direction in (forth, back):
        rows = direction(0, NODES)
        assert torch.equal(rows.diagonal(), torch.ones(NODES, dtype=torch.float64))
        assert torch.allclose(rows.mean(dim=1), torch.ones(NODES, dtype=torch.float64)), (
            "mean 1 over the negatives"
        )
        assert torch.allclose(direction(3, 5), rows[3:5])


@pytest.mark.parametrize("block,most_kept", [(None, 1 << 24), (5, 1 << 24), (None, 1), (5, 1)])
@pytest.mark.parametrize("estimator", [*NETWORK_ESTIMATORS, "distance"])
def test_loss_and_gradient_are_those_of_a_double_loop(
    estimator: str, block: int | None, most_kept: int, monkeypatch: Any
) -> None:
    """The weights are constants: in the first weighted iteration of this very pair, in the next
    still of the first one's."""
    monkeypatch.setattr(panel, "KEPT_BYTES", most_kept)
    strategy, first = made(replace(TELLING, estimator=estimator)), stretched(pair_of())
    strategy.update(first)
    forth, back = (
        plain_weights(strategy, first.u, first.v),
        plain_weights(strategy, first.v, first.u),
    )
    for pair in (first, stretched(pair_of(iteration=7, seed=3))):
        ours, plain = with_gradients(replace(pair, block=block)), with_gradients(pair)
        loss, wanted = strategy(ours).value, plain_loss(plain, forth, back)
        torch.testing.assert_close(loss, wanted)
        torch.testing.assert_close(
            torch.autograd.grad(loss, (ours.u, ours.v)),
            torch.autograd.grad(wanted, (plain.u, plain.v)),
        )


def test_a_batch_is_scored_by_itself() -> None:
    """Rows are other nodes in each batch, so weights of an earlier one mean nothing."""
    strategy = made(replace(SMALL, refresh=3), nodes=100)
    for iteration in (6, 7):
        pair = pair_of(iteration, seed=iteration, batch=torch.arange(NODES), nodes=100)
        strategy.update(pair)
        expected = 0.5 * (
            weighted_nce(pair.u, pair.v, 0.5, weights_of(strategy, pair))
            + weighted_nce(pair.v, pair.u, 0.5, weights_of(strategy, pair.swapped()))
        )
        assert float(strategy(pair).value) == pytest.approx(float(expected))
