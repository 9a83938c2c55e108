"""Chebyshev iteration and the series against a dense solve in float64."""

from __future__ import annotations

import itertools

import pytest
import torch
from dense_filter import (
    dense_solution,
    edges_of,
    graphs,
    random_graph,
    signed_features,
    two_parts_and_loners,
    weighted_error,
)
from torch import Tensor

from gclbench.filters import propagation, slices
from gclbench.filters.bound import ROUNDOFF
from gclbench.filters.chebyshev import Problem
from gclbench.filters.operator import Operator
from gclbench.filters.outcome import Outcome

ALPHAS = (0.01, 0.1, 0.4, 0.9, 1.0)
EXPONENTS = (0.0, 0.3, 0.5, 1.0)
SOLVERS = {"chebyshev": True, "series": False}


def solve(
    name: str,
    operator: Operator,
    x: Tensor,
    alpha: float,
    r: float,
    tol: float,
    storage: torch.dtype = torch.float32,
) -> tuple[Tensor, Outcome]:
    found, outcome = propagation.exact(operator, x, Problem(alpha, r, tol, SOLVERS[name], storage))
    assert outcome.solver == name
    return found, outcome


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("shape", graphs())
def test_exact_solvers_agree_with_a_dense_solve_within_their_own_bound(
    shape: str, name: str, self_loops: bool
) -> None:
    edge_index, nodes = graphs()[shape]
    operator = Operator(edge_index, nodes, self_loops)
    x = signed_features(nodes, 6)
    for alpha, r in itertools.product(ALPHAS, EXPONENTS):
        wanted, degree = dense_solution(edge_index, x, alpha, r, self_loops)
        found, outcome = solve(name, operator, x, alpha, r, 1e-5)
        measured = weighted_error(found, wanted, degree, r)
        assert outcome.error_norm == "weighted"
        assert measured <= outcome.error_bound, (alpha, r, measured, outcome)
        # The tolerance holds up to float32's rounding, which the residual shows multiplied by 1/α.
        assert measured <= 1.1e-5
        assert outcome.error_bound <= 1e-5 + 6e-7 / alpha
        assert not bool(found[:, 0].any())


@pytest.mark.parametrize("name", SOLVERS)
def test_the_bound_counts_rounding_when_the_tolerance_is_beyond_float32(name: str) -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 6)
    wanted, degree = dense_solution(edge_index, x, 0.01, 0.5, True)
    found, outcome = solve(name, Operator(edge_index, nodes, True), x, 0.01, 0.5, 1e-8)
    measured = weighted_error(found, wanted, degree, 0.5)
    assert 1e-8 < measured <= outcome.error_bound < 1e-4
    assert outcome.verified == 6


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_loose_tolerance_is_kept_and_saves_sweeps(name: str, tol: float) -> None:
    """At a loose tolerance rounding plays no part: the bound alone has to hold, on the smoothest
    and roughest input too."""
    edge_index = random_graph(60, 2, 6.0)
    operator = Operator(edge_index, 60, False)
    values, vectors = torch.linalg.eigh(operator.symmetric().to_dense())
    for alpha in (0.01, 0.1, 0.4):
        for x in (
            signed_features(60, 4),
            *(vectors[operator.rank][:, [i]].float() for i in (0, 1, 30, -2, -1)),
        ):
            wanted, degree = dense_solution(edge_index, x, alpha, 0.5, False)
            found, outcome = solve(name, operator, x, alpha, 0.5, tol)
            # The bound is relative to the solution, the tolerance to the iterate: e/(1−e) to the
            # solution.
            assert outcome.error_bound <= tol / (1 - tol) + 4e-7 / alpha
            assert weighted_error(found, wanted, degree, 0.5) <= outcome.error_bound
            assert outcome.verified == 0, "float64 is not asked where float32 suffices"
            assert outcome.sweeps <= solve(name, operator, x, alpha, 0.5, 1e-5)[1].sweeps


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_for_bfloat16_and_comes_near_what_rounding_does(
    name: str, seed: int
) -> None:
    edge_index = random_graph(80, seed, 8.0)
    operator = Operator(edge_index, 80, True)
    x = signed_features(80, 5, seed)
    for alpha in (0.1, 0.5):
        wanted, degree = dense_solution(edge_index, x, alpha, 0.4, True)
        tol = 4 * ROUNDOFF[torch.bfloat16] / alpha
        found, outcome = solve(name, operator, x, alpha, 0.4, tol, torch.bfloat16)
        measured = weighted_error(found, wanted, degree, 0.4)
        assert 1e-4 < measured <= outcome.error_bound <= tol / (1 - tol)
        assert found.dtype == torch.float32


def test_the_error_falls_with_the_tolerance() -> None:
    edge_index = random_graph(60, 4, 6.0)
    operator, x = Operator(edge_index, 60, True), signed_features(60, 5)
    wanted, degree = dense_solution(edge_index, x, 0.05, 0.5, True)
    for name in SOLVERS:
        runs = [
            solve(name, operator, x, 0.05, 0.5, tol) for tol in (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)
        ]
        errors = [weighted_error(found, wanted, degree, 0.5) for found, _ in runs]
        assert errors == sorted(errors, reverse=True), name
        bounds = [outcome.error_bound for _, outcome in runs]
        assert bounds == sorted(bounds, reverse=True), name


def test_chebyshev_needs_far_fewer_sweeps_than_the_series() -> None:
    operator = Operator(random_graph(80, 3, 5.0), 80, True)
    x = signed_features(80, 4)
    few, many = (solve(name, operator, x, 0.01, 0.5, 1e-5)[1].sweeps for name in SOLVERS)
    assert 4 * few < many
    assert few <= Problem(0.01, 0.5, 1e-5, True).sweeps + 5
    assert many <= Problem(0.01, 0.5, 1e-5, False).sweeps * 1.5


@pytest.mark.parametrize("name", SOLVERS)
def test_alpha_one_leaves_the_features(name: str) -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 5)
    found, outcome = solve(name, Operator(edge_index, nodes, True), x, 1.0, 0.3, 1e-5)
    torch.testing.assert_close(found, x, rtol=1e-6, atol=2e-7)
    assert outcome.sweeps == 0


def test_a_node_without_entries_is_scaled_by_alpha_and_left_alone_with_a_self_loop() -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 5)
    for name in SOLVERS:
        without, _ = solve(name, Operator(edge_index, nodes, False), x, 0.1, 0.4, 1e-6)
        torch.testing.assert_close(without[-1], 0.1 * x[-1], rtol=1e-6, atol=0)
        with_loop, _ = solve(name, Operator(edge_index, nodes, True), x, 0.1, 0.4, 1e-6)
        torch.testing.assert_close(with_loop[-1], x[-1], rtol=1e-6, atol=0)


def test_parts_of_a_disconnected_graph_do_not_touch_each_other() -> None:
    edge_index, nodes = two_parts_and_loners()
    x = torch.zeros(nodes, 1)
    x[10] = 1.0
    found, _ = solve("chebyshev", Operator(edge_index, nodes, True), x, 0.1, 0.5, 1e-6)
    assert bool((found[:9] == 0).all())
    assert bool((found[16:] == 0).all())
    assert bool((found[9:16] > 0).all())


def test_edge_order_does_not_matter() -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    shuffled = edge_index[
        :, torch.randperm(edge_index.shape[1], generator=torch.Generator().manual_seed(0))
    ]
    for name in SOLVERS:
        assert torch.equal(
            solve(name, Operator(edge_index, nodes, True), x, 0.1, 0.4, 1e-5)[0],
            solve(name, Operator(shuffled, nodes, True), x, 0.1, 0.4, 1e-5)[0],
        )


def test_the_filter_is_linear() -> None:
    edge_index = random_graph(50, 5, 4.0)
    operator = Operator(edge_index, 50, True)
    u, v = signed_features(50, 4, 1), signed_features(50, 4, 2)
    for name in SOLVERS:
        together, first, second = (
            solve(name, operator, x, 0.1, 0.3, 1e-6)[0] for x in (2 * u - 3 * v, u, v)
        )
        torch.testing.assert_close(together, 2 * first - 3 * second, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", SOLVERS)
def test_rows_sum_to_one_at_r_0_and_the_filter_is_symmetric_at_r_one_half(name: str) -> None:
    edge_index, nodes = two_parts_and_loners()
    operator = Operator(edge_index, nodes, True)
    whole = torch.eye(nodes)
    averaging, _ = solve(name, operator, whole, 0.1, 0.0, 1e-6)
    torch.testing.assert_close(averaging.sum(dim=1), torch.ones(nodes), rtol=2e-6, atol=0)
    assert bool((averaging >= 0).all())
    symmetric, _ = solve(name, operator, whole, 0.1, 0.5, 1e-6)
    torch.testing.assert_close(symmetric, symmetric.T, rtol=0, atol=2e-6)
    assert not torch.allclose(averaging, averaging.T, atol=1e-2)


def test_a_constant_on_each_component_comes_back_at_once() -> None:
    """It is what the filter leaves as it is at r = 0, and it is taken off before the iteration."""
    edge_index, nodes = two_parts_and_loners()
    x = torch.full((nodes, 2), 3.0)
    x[9:16, 1] = -5e5
    found, outcome = solve("chebyshev", Operator(edge_index, nodes, True), x, 0.01, 0.0, 1e-5)
    torch.testing.assert_close(found, x, rtol=1e-6, atol=0)
    assert outcome.sweeps <= 1


@pytest.mark.parametrize("magnitude", [1e-37, 1e-30, 1e-22, 1e25, 1e37])
def test_features_of_any_magnitude(magnitude: float) -> None:
    """The squares of these leave float32's range; the error bound must not."""
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    plain, _ = solve("chebyshev", Operator(edge_index, nodes, True), x, 0.1, 0.5, 1e-5)
    found, outcome = solve(
        "chebyshev", Operator(edge_index, nodes, True), x * magnitude, 0.1, 0.5, 1e-5
    )
    assert 0 < outcome.error_bound <= 1.5e-5
    torch.testing.assert_close(found.double() / magnitude, plain.double(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_finite_are_named(bad: float) -> None:
    x = torch.ones(18, 40)
    x[3, 33] = bad
    with pytest.raises(
        ValueError,
        match=(
            r"features of 'toy' hold NaN or infinite values, the first of them in row 3, column 33"
        ),
    ):
        propagation.exact(
            Operator(*two_parts_and_loners(), True), x, Problem(0.1, 0.5, 1e-5, True), name="toy"
        )


@pytest.mark.parametrize("name", SOLVERS)
def test_a_result_beyond_float32_is_refused(name: str) -> None:
    """At r = 1 the hub of a star has its degree times what its leaves are."""
    edge_index = edges_of([(0, node) for node in range(1, 40)])
    problem = Problem(0.1, 1.0, 1e-5, SOLVERS[name])
    with pytest.raises(
        ValueError,
        match=(
            r"filtered features of 'toy' leave float32 .* as large as 3e\+37, .*divide the features"
        ),
    ):
        propagation.exact(
            Operator(edge_index, 40, True), torch.full((40, 2), 3e37), problem, name="toy"
        )
    found, _ = propagation.exact(Operator(edge_index, 40, True), torch.full((40, 2), 3e36), problem)
    assert float(found.max()) > 3e37


@pytest.mark.parametrize("name", SOLVERS)
def test_slices_and_threads_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edge_index = random_graph(70, 6, 5.0)
    operator = Operator(edge_index, 70, True)
    x = signed_features(70, 50)
    wanted, degree = dense_solution(edge_index, x, 0.1, 0.4, True)
    for width in (1, 7, 16, 64):
        monkeypatch.setattr(slices, "WIDTHS", (width,))
        apart, outcome = solve(name, operator, x, 0.1, 0.4, 1e-5)
        assert (outcome.slice_width, outcome.slices) == (min(50, width), -(-50 // width))
        assert weighted_error(apart, wanted, degree, 0.4) <= outcome.error_bound <= 2e-5
        torch.set_num_threads(3)
        again, outcome_of_threads = solve(name, operator, x, 0.1, 0.4, 1e-5)
        assert torch.get_num_threads() == 3
        torch.set_num_threads(1)
        assert torch.equal(again, apart)
        assert outcome_of_threads.error_bound == outcome.error_bound


def test_reruns_are_bit_identical() -> None:
    edge_index = random_graph(200, 7, 12.0)
    x = signed_features(200, 100)
    first, outcome = solve("chebyshev", Operator(edge_index, 200, True), x, 0.05, 0.5, 1e-6)
    for _ in range(3):
        again, same = solve(
            "chebyshev", Operator(edge_index, 200, True), x.clone(), 0.05, 0.5, 1e-6
        )
        assert torch.equal(again, first)
        assert same == outcome


def test_the_input_is_left_alone_and_the_result_may_be_given() -> None:
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    before, place = x.clone(), torch.full((nodes, 4), torch.nan)
    operator = Operator(edge_index, nodes, True)
    for name in SOLVERS:
        for r in (0.0, 0.5, 1.0):
            found, _ = propagation.exact(
                operator, x, Problem(0.1, r, 1e-4, SOLVERS[name]), result=place
            )
            assert found is place
            assert torch.equal(found, solve(name, operator, x, 0.1, r, 1e-4)[0])
            assert torch.equal(x, before)


def test_the_outcome_counts_what_was_done() -> None:
    """A column of zeros costs no sweep, so of four columns in slices of one three quarters of the
    entries are read."""
    edge_index = random_graph(60, 1, 5.0)
    operator = Operator(edge_index, 60, True)
    x = signed_features(60, 4)
    x[:, 1:] = x[:, 1:2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "WIDTHS", (1,))
        _, outcome = solve("chebyshev", operator, x, 0.1, 0.5, 1e-5)
    assert outcome.touched == pytest.approx(0.75)
    assert outcome.memory >= 8 * operator.entries + 4 * x.numel()
    assert outcome.path.startswith("cpu, ")
