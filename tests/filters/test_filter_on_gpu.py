"""The whole filter on a GPU against a dense solve in float64 and against the CPU."""

from __future__ import annotations

import pytest
import torch
from dense_filter import dense_solution, graphs, random_graph, signed_features, weighted_error

from gclbench.filters.chebyshev import Problem
from gclbench.filters.kernels import cuda
from gclbench.filters.operator import Operator
from gclbench.filters.propagation import exact, pushed

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    usable, reason = cuda.available()
    if not usable:
        pytest.skip(reason)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("shape", graphs())
def test_solvers_stay_within_their_bound_and_repeat(
    shape: str, accelerated: bool, self_loops: bool
) -> None:
    edge_index, nodes = graphs()[shape]
    operator, x = Operator(edge_index, nodes, self_loops), signed_features(nodes, 6)
    for alpha in (0.05, 0.4, 1.0):
        wanted, degree = dense_solution(edge_index, x, alpha, 0.4, self_loops)
        found, outcome = exact(operator, x, Problem(alpha, 0.4, 1e-5, accelerated), device="cuda")
        assert outcome.path.startswith("cuda")
        assert (
            weighted_error(found, wanted, degree, 0.4) <= outcome.error_bound <= 1e-5 + 6e-7 / alpha
        )
        again, _ = exact(operator, x, Problem(alpha, 0.4, 1e-5, accelerated), device="cuda")
        assert torch.equal(found, again)


def test_bfloat16_storage_stays_within_its_bound() -> None:
    edge_index = random_graph(80, 1, 8.0)
    x = signed_features(80, 40)
    wanted, degree = dense_solution(edge_index, x, 0.5, 0.5, True)
    found, outcome = exact(
        Operator(edge_index, 80, True),
        x,
        Problem(0.5, 0.5, 0.02, True, torch.bfloat16),
        device="cuda",
    )
    assert 1e-5 < weighted_error(found, wanted, degree, 0.5) <= outcome.error_bound <= 0.021


def test_push_on_a_gpu_is_the_cpus() -> None:
    edge_index = random_graph(80, 2, 8.0)
    operator, x = Operator(edge_index, 80, True), signed_features(80, 40)
    here, outcome = pushed(operator, x, 0.1, 0.4, 1e-3)
    there, on_gpu = pushed(operator, x, 0.1, 0.4, 1e-3, device="cuda")
    torch.testing.assert_close(there, here, rtol=0, atol=2 * outcome.error_bound)
    assert on_gpu.error_bound == pytest.approx(outcome.error_bound, rel=1e-5)
