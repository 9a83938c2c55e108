"""The propagation solvers against a dense solve in float64."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from gclbench.filters import propagation
from gclbench.filters.propagation import Operator, chebyshev, push, push_in_order, series, slices

ALPHAS = (0.01, 0.1, 0.4, 1.0)
EXPONENTS = (0.0, 0.3, 0.5, 1.0)


def two_parts_and_loners() -> tuple[Tensor, int]:
    """A dense part with a hub, a path (bipartite, so eigenvalue −1 without self-loops), and two nodes without edges."""
    pairs = [(0, node) for node in range(1, 9)] + [(1, 2), (2, 3), (3, 4), (4, 1), (5, 7)]
    pairs += [(node, node + 1) for node in range(9, 15)]
    both = sorted(pairs + [(b, a) for a, b in pairs])
    return torch.tensor(both).T.contiguous(), 18


def random_graph(nodes: int, seed: int, mean_degree: float) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    upper = torch.triu(torch.rand(nodes, nodes, generator=generator) < mean_degree / nodes, diagonal=1)
    return (upper | upper.T).nonzero().T.contiguous()


def signed_features(nodes: int, width: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, width, generator=generator)
    x[:, 0] = 0.0  # a column without anything in it
    x[:, 1] = x[:, 1].abs()
    x[0] = 0.0
    return x


def dense_solution(edge_index: Tensor, x: Tensor, alpha: float, r: float, self_loops: bool) -> tuple[Tensor, Tensor]:
    """X = α Dʳ (I − (1−α)P)⁻¹ D⁻ʳ X₀ and the degrees, float64; a node without any entry counts as degree 1."""
    nodes = len(x)
    adjacency = torch.zeros(nodes, nodes, dtype=torch.float64)
    for a, b in edge_index.T.tolist():
        adjacency[a, b] = 1.0
    if self_loops:
        adjacency += torch.eye(nodes, dtype=torch.float64)
    degree = adjacency.sum(dim=1).clamp(min=1.0)
    transition = adjacency / degree[:, None]
    system = torch.eye(nodes, dtype=torch.float64) - (1.0 - alpha) * transition
    scaled = x.double() * degree[:, None] ** -r
    return alpha * degree[:, None] ** r * torch.linalg.solve(system, scaled), degree


def weighted_error(found: Tensor, wanted: Tensor, degree: Tensor, r: float) -> float:
    weight = degree[:, None] ** (0.5 - r)
    return float(((found.double() - wanted) * weight).norm() / (wanted * weight).norm())


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("solve", [chebyshev, series])
def test_exact_solvers_agree_with_a_dense_solve_within_their_own_bound(solve, self_loops):
    graphs = [two_parts_and_loners(), (random_graph(60, 1, 5.0), 60)]
    for (edge_index, nodes), alpha, r in itertools.product(graphs, ALPHAS, EXPONENTS):
        x = signed_features(nodes, 6)
        operator = Operator(edge_index, nodes, self_loops)
        wanted, degree = dense_solution(edge_index, x, alpha, r, self_loops)
        found, outcome = solve(operator, x, alpha, r, 1e-5)
        measured = weighted_error(found, wanted, degree, r)
        assert outcome.error_norm == "weighted"
        assert measured <= outcome.error_bound, (alpha, r, measured, outcome)
        # The tolerance holds up to float32's rounding, which the residual shows multiplied by 1/α.
        assert measured <= 1.1e-5
        assert outcome.error_bound <= 1e-5 + 4e-7 / alpha


@pytest.mark.parametrize("solve", [chebyshev, series])
def test_the_bound_counts_rounding_when_the_tolerance_is_beyond_float32(solve):
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 6)
    wanted, degree = dense_solution(edge_index, x, 0.01, 0.5, True)
    found, outcome = solve(Operator(edge_index, nodes, True), x, 0.01, 0.5, 1e-7)
    measured = weighted_error(found, wanted, degree, 0.5)
    assert 1e-7 < measured <= outcome.error_bound < 1e-4


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("solve", [chebyshev, series])
def test_a_loose_tolerance_is_kept_and_saves_sweeps(solve, tol):
    """At a loose tolerance rounding plays no part: the bound alone has to hold, on the smoothest and roughest input too."""
    edge_index = random_graph(60, 2, 6.0)
    operator = Operator(edge_index, 60, False)
    values, vectors = torch.linalg.eigh(operator.symmetric(torch.float64).to_dense())
    for alpha in (0.01, 0.1, 0.4):
        for x in (signed_features(60, 4), vectors[:, [0]].float(), vectors[:, [-1]].float()):
            wanted, degree = dense_solution(edge_index, x, alpha, 0.5, False)
            found, outcome = solve(operator, x, alpha, 0.5, tol)
            # The bound is relative to the solution, the tolerance to the iterate: e/(1−e) to the solution.
            assert outcome.error_bound <= tol / (1 - tol) + 4e-7 / alpha
            assert weighted_error(found, wanted, degree, 0.5) <= outcome.error_bound
            assert outcome.sweeps <= solve(operator, x, alpha, 0.5, 1e-5)[1].sweeps


def test_chebyshev_needs_far_fewer_sweeps_than_the_series():
    operator = Operator(random_graph(80, 3, 5.0), 80, True)
    x = signed_features(80, 4)
    assert 4 * chebyshev(operator, x, 0.01, 0.5, 1e-5)[1].sweeps < series(operator, x, 0.01, 0.5, 1e-5)[1].sweeps


@pytest.mark.parametrize("solve", [chebyshev, series])
def test_alpha_one_leaves_the_features(solve):
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 5)
    found, outcome = solve(Operator(edge_index, nodes, True), x, 1.0, 0.3, 1e-5)
    torch.testing.assert_close(found, x, rtol=1e-6, atol=0)
    assert outcome.sweeps == 0


def test_a_node_without_entries_is_scaled_by_alpha_and_left_alone_with_a_self_loop():
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 5)
    for solve in (chebyshev, series):
        without, _ = solve(Operator(edge_index, nodes, False), x, 0.1, 0.4, 1e-6)
        torch.testing.assert_close(without[-1], 0.1 * x[-1], rtol=1e-5, atol=1e-7)
        with_loop, _ = solve(Operator(edge_index, nodes, True), x, 0.1, 0.4, 1e-6)
        torch.testing.assert_close(with_loop[-1], x[-1], rtol=1e-5, atol=1e-7)


def test_parts_of_a_disconnected_graph_do_not_touch_each_other():
    edge_index, nodes = two_parts_and_loners()
    x = torch.zeros(nodes, 1)
    x[10] = 1.0
    for found in (
        chebyshev(Operator(edge_index, nodes, True), x, 0.1, 0.5, 1e-6)[0],
        push(Operator(edge_index, nodes, True), x, 0.1, 0.5, 1e-6)[0],
    ):
        assert bool((found[:9] == 0).all())
        assert bool((found[16:] == 0).all())
        assert bool((found[9:16] > 0).all())


def test_edge_order_does_not_matter():
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    shuffled = edge_index[:, torch.randperm(edge_index.shape[1], generator=torch.Generator().manual_seed(0))]
    for solve in (chebyshev, series):
        assert torch.equal(
            solve(Operator(edge_index, nodes, True), x, 0.1, 0.4, 1e-5)[0],
            solve(Operator(shuffled, nodes, True), x, 0.1, 0.4, 1e-5)[0],
        )


def test_operator_matrices():
    edge_index, nodes = two_parts_and_loners()
    for self_loops in (True, False):
        operator = Operator(edge_index, nodes, self_loops)
        adjacency = torch.zeros(nodes, nodes, dtype=torch.float64)
        adjacency[edge_index[0], edge_index[1]] = 1.0
        if self_loops:
            adjacency += torch.eye(nodes, dtype=torch.float64)
        assert operator.entries == int(adjacency.sum())
        degree = adjacency.sum(dim=1)
        assert torch.equal(operator.degree, degree)
        degree = degree.clamp(min=1)
        torch.testing.assert_close(operator.transition(torch.float64).to_dense(), adjacency / degree[:, None])
        torch.testing.assert_close(operator.symmetric(torch.float64).to_dense(), adjacency / (degree[:, None] * degree).sqrt())


@pytest.mark.parametrize("magnitude", [1e-30, 1e-22, 1e25])
def test_features_of_any_magnitude(magnitude):
    """The squares of these leave float32's range; the error bound must not."""
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    plain, _ = chebyshev(Operator(edge_index, nodes, True), x, 0.1, 0.5, 1e-5)
    found, outcome = chebyshev(Operator(edge_index, nodes, True), x * magnitude, 0.1, 0.5, 1e-5)
    assert 0 < outcome.error_bound <= 1.5e-5
    torch.testing.assert_close(found / magnitude, plain, rtol=1e-4, atol=1e-5)


def absolute_bounds(edge_index: Tensor, x: Tensor, alpha: float, r: float, r_max: float, degree: Tensor) -> Tensor:
    """(1−α)·r_max·(S₊ + S₋)·deg_k^r of every node and column (METHODS 2.1): each part errs by at most its own share."""
    scaled = x.double() * degree[:, None] ** -r
    parts = scaled.clamp(min=0).sum(dim=0) + (-scaled).clamp(min=0).sum(dim=0)
    return (1 - alpha) * r_max * parts * degree[:, None] ** r


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("r_max", [1e-2, 1e-3, 1e-5])
def test_push_stays_within_its_bound_of_the_dense_solve(r_max, self_loops):
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    operator = Operator(edge_index, nodes, self_loops)
    for alpha, r in itertools.product((0.1, 0.4, 1.0), EXPONENTS):
        wanted, degree = dense_solution(edge_index, x, alpha, r, self_loops)
        allowed = absolute_bounds(edge_index, x, alpha, r, r_max, degree)
        found, outcome = push(operator, x, alpha, r, r_max)
        errors = (found.double() - wanted).abs()
        rounding = 1e-5 * x.abs().max()
        assert bool((errors <= allowed + rounding).all()), (alpha, r)
        assert outcome.error_norm == "absolute"
        assert float(errors.max()) <= outcome.error_bound + rounding
        assert outcome.error_bound >= float(allowed.max()) * (1 - 1e-4) or alpha == 1.0
        for last_in_first_out in (True, False):
            column = push_in_order(operator, x[:, 2], alpha, r, r_max, last_in_first_out)
            assert bool(((column - wanted[:, 2]).abs() <= allowed[:, 2] + 1e-12).all()), (alpha, r, last_in_first_out)


def test_push_order_changes_only_the_leftover():
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 3)
    operator = Operator(edge_index, nodes, True)
    stack, queue = (push_in_order(operator, x[:, 2], 0.1, 0.4, 1e-2, order) for order in (True, False))
    assert not torch.equal(stack, queue)
    fine = [push_in_order(operator, x[:, 2], 0.1, 0.4, 1e-6, order) for order in (True, False)]
    torch.testing.assert_close(*fine, rtol=0, atol=1e-4)


def test_push_of_nothing_is_nothing():
    edge_index, nodes = two_parts_and_loners()
    found, outcome = push(Operator(edge_index, nodes, True), torch.zeros(nodes, 3), 0.1, 0.5, 1e-5)
    assert not bool(found.any())
    assert outcome.sweeps == 0


@pytest.mark.parametrize("name", ["chebyshev", "series", "push"])
def test_slices_of_columns_change_nothing(monkeypatch, name):
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 7)
    operator = Operator(edge_index, nodes, True)
    solve = getattr(propagation, name)
    together, _ = solve(operator, x, 0.1, 0.4, 1e-5)
    for columns in (1, 2, 3):
        monkeypatch.setattr(propagation, "SLICE_BYTES", 4 * nodes * columns)
        assert len(list(slices(nodes, 7))) == -(-7 // columns)
        apart, outcome = solve(operator, x, 0.1, 0.4, 1e-5)
        torch.testing.assert_close(apart, together, rtol=1e-4, atol=2e-5)
        if name != "push":
            wanted, degree = dense_solution(edge_index, x, 0.1, 0.4, True)
            assert weighted_error(apart, wanted, degree, 0.4) <= outcome.error_bound


def test_slices_cover_every_column_once(monkeypatch):
    for nodes, width, budget in ((10, 7, 1), (10, 7, 80), (10, 7, 10**9), (1, 1, 1), (0, 3, 64)):
        monkeypatch.setattr(propagation, "SLICE_BYTES", budget)
        covered = [column for columns in slices(nodes, width) for column in range(columns.start, columns.stop)]
        assert covered == list(range(width))
        assert all(
            (columns.stop - columns.start) * 4 * nodes <= budget or columns.stop - columns.start == 1
            for columns in slices(nodes, width)
        )


def test_solvers_leave_their_input_alone():
    edge_index, nodes = two_parts_and_loners()
    x = signed_features(nodes, 4)
    before = x.clone()
    operator = Operator(edge_index, nodes, True)
    for solve in (chebyshev, series, push):
        for r in (0.0, 0.5, 1.0):
            solve(operator, x, 0.1, r, 1e-4)
            assert torch.equal(x, before)
