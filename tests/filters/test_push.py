"""GBP's push: its bound against a dense solve, and the routine node by node."""

from __future__ import annotations

import itertools

import pytest
import torch
from dense_filter import dense_solution, edges_of, graphs, signed_features, two_parts_and_loners
from filters.push_in_order import push_in_order
from torch import Tensor

from gclbench.filters import slices
from gclbench.filters.operator import Operator
from gclbench.filters.propagation import pushed

EXPONENTS = (0.0, 0.3, 0.5, 1.0)


def absolute_bounds(x: Tensor, alpha: float, r: float, r_max: float, degree: Tensor) -> Tensor:
    """(1−α)·r_max·(S₊ + S₋)·deg_k^r of every node and column: each part errs by at most its
    own share."""
    scaled = x.double() * degree[:, None] ** -r
    parts = scaled.clamp(min=0).sum(dim=0) + (-scaled).clamp(min=0).sum(dim=0)
    return (1 - alpha) * r_max * parts * degree[:, None] ** r


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("r_max", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("shape", graphs())
def test_push_stays_within_its_bound_of_the_dense_solve(
    shape: str, r_max: float, self_loops: bool
) -> None:
    edge_index, nodes = graphs()[shape]
    x = signed_features(nodes, 4)
    operator = Operator(edge_index, nodes, self_loops)
    for alpha, r in itertools.product((0.1, 0.4, 1.0), EXPONENTS):
        wanted, degree = dense_solution(edge_index, x, alpha, r, self_loops)
        allowed = absolute_bounds(x, alpha, r, r_max, degree)
        found, outcome = pushed(operator, x, alpha, r, r_max)
        errors = (found.double() - wanted).abs()
        rounding = 1e-5 * x.abs().max()
        assert bool((errors <= allowed + rounding).all()), (alpha, r)
        assert outcome.error_norm == "absolute"
        assert float(errors.max()) <= outcome.error_bound + rounding
        assert outcome.error_bound >= float(allowed.max()) * (1 - 1e-4) or alpha == 1.0
        for last_in_first_out in (True, False):
            column = push_in_order(operator, x[:, 2], alpha, r, r_max, last_in_first_out)
            assert bool(((column - wanted[:, 2]).abs() <= allowed[:, 2] + 1e-12).all()), (
                alpha,
                r,
                last_in_first_out,
            )


def test_push_order_changes_only_the_leftover() -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 3)
    operator = Operator(edge_index, nodes, True)
    stack, queue = (
        push_in_order(operator, x[:, 2], 0.1, 0.4, 1e-2, order) for order in (True, False)
    )
    assert not torch.equal(stack, queue)
    fine = [push_in_order(operator, x[:, 2], 0.1, 0.4, 1e-6, order) for order in (True, False)]
    torch.testing.assert_close(*fine, rtol=0, atol=1e-4)


def test_push_of_nothing_is_nothing() -> None:
    edge_index, nodes = two_parts_and_loners()
    found, outcome = pushed(
        Operator(edge_index, nodes, True), torch.zeros(nodes, 3), 0.1, 0.5, 1e-5
    )
    assert not bool(found.any())
    assert (outcome.sweeps, outcome.unpushed) == (0, 0.0)


def test_the_unpushed_share_is_all_at_a_large_threshold_and_falls_with_it() -> None:
    edge_index, nodes = two_parts_and_loners()
    operator, x = Operator(edge_index, nodes, True), signed_features(nodes, 4)
    outcomes = [pushed(operator, x, 0.1, 0.5, r_max)[1] for r_max in (1.0, 0.1, 1e-2, 1e-4)]
    shares = [outcome.unpushed for outcome in outcomes]
    assert shares[0] == 1.0 and outcomes[0].sweeps == 0
    assert shares == sorted(shares, reverse=True) and 0 < shares[-1] < 1e-2
    assert all(0 < outcome.touched < 1 for outcome in outcomes[1:])


def test_the_unpushed_share_is_the_degree_weighted_mass_of_the_residue() -> None:
    """Two nodes and one round: α of the pushed mass is settled, the rest moves on and stays below
    the threshold."""
    operator = Operator(torch.tensor([[0, 1], [1, 0]]), 2, False)
    _, outcome = pushed(operator, torch.tensor([[1.0], [0.0]]), 0.25, 0.0, 0.8)
    assert outcome.sweeps == 1
    assert outcome.unpushed == pytest.approx(0.75)
    assert outcome.touched == pytest.approx(0.5), "one of the two nodes was read from"


def test_slices_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 7)
    operator = Operator(edge_index, nodes, True)
    together, _ = pushed(operator, x, 0.1, 0.4, 1e-4)
    monkeypatch.setattr(slices, "WIDTHS", (2,))
    for threads in (1, 3):
        torch.set_num_threads(threads)
        apart, outcome = pushed(operator, x, 0.1, 0.4, 1e-4)
        assert outcome.slices == 4
        torch.testing.assert_close(apart, together, rtol=1e-5, atol=1e-6)
    torch.set_num_threads(1)


@pytest.mark.parametrize("magnitude", [1e-37, 1.0, 1e30])
@pytest.mark.parametrize("r_max", [1e-8, 1e-12])
def test_the_bound_covers_rounding_where_the_threshold_is_beyond_float32(
    r_max: float, magnitude: float
) -> None:
    edge_index, nodes = two_parts_and_loners()
    for self_loops, r in itertools.product((True, False), (0.0, 0.5, 1.0)):
        x = signed_features(nodes, 4) * magnitude
        wanted, _ = dense_solution(edge_index, x, 0.05, r, self_loops)
        found, outcome = pushed(Operator(edge_index, nodes, self_loops), x, 0.05, r, r_max)
        error = float((found.double() - wanted).abs().max())
        assert error > 1e-9 * magnitude, "float32 cannot do what was asked"
        assert error <= outcome.error_bound <= 1e-3 * magnitude


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    x = torch.ones(18, 3)
    x[3, 1] = bad
    with pytest.raises(ValueError, match="NaN or infinite values"):
        pushed(Operator(*two_parts_and_loners(), True), x, 0.1, 0.5, 1e-3)


def test_a_result_beyond_float32_is_refused() -> None:
    """At r = 1 the hub of a star has its degree times what its leaves are."""
    edge_index = edges_of([(0, node) for node in range(1, 40)])
    with pytest.raises(
        ValueError,
        match=(
            r"filtered features of 'toy' leave float32 .* as large as 3e\+38, .*divide the features"
        ),
    ):
        x = torch.zeros(40, 1)
        x[1:5] = 3e38
        pushed(Operator(edge_index, 40, False), x * 1.0, 0.01, 1.0, 1e-5, name="toy")
