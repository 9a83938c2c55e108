"""What the filter does around the CUDA kernel, with the kernel's plain version in its place:
everything but the GPU itself."""

from __future__ import annotations

import pytest
import torch
from dense_filter import dense_solution, random_graph, signed_features, weighted_error

from gclbench.filters import propagation
from gclbench.filters.chebyshev import Problem
from gclbench.filters.kernels.backend import CudaPath
from gclbench.filters.operator import Operator
from gclbench.filters.propagation import exact, pushed
from gclbench.filters.slices import BUFFERS, TooLarge

NODES = 60
EDGES = random_graph(NODES, 1, 6.0)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The free bytes of the pretended GPU."""
    free = [1 << 30]
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "a pretended GPU")
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda _: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: 12345)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free[0], 1 << 40))
    monkeypatch.setattr(
        propagation, "path_for", lambda operator, device: CudaPath(operator, torch.device("cpu"))
    )
    return free


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("self_loops", [True, False])
def test_solvers_stay_within_their_bound(
    memory: list[int], accelerated: bool, self_loops: bool
) -> None:
    operator, x = Operator(EDGES, NODES, self_loops), signed_features(NODES, 9)
    wanted, degree = dense_solution(EDGES, x, 0.1, 0.4, self_loops)
    found, outcome = exact(operator, x, Problem(0.1, 0.4, 1e-5, accelerated), device="cuda")
    assert weighted_error(found, wanted, degree, 0.4) <= outcome.error_bound <= 1.7e-5
    assert outcome.path == "cuda, pull.cu (a pretended GPU)"
    assert (outcome.memory, outcome.slices) == (12345, 1)


def test_bfloat16_storage(memory: list[int]) -> None:
    operator, x = Operator(EDGES, NODES, True), signed_features(NODES, 9)
    wanted, degree = dense_solution(EDGES, x, 0.5, 0.5, True)
    found, outcome = exact(
        operator, x, Problem(0.5, 0.5, 0.02, True, torch.bfloat16), device="cuda"
    )
    assert 1e-5 < weighted_error(found, wanted, degree, 0.5) <= outcome.error_bound <= 0.021


def test_push_is_the_cpus(memory: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    operator, x = Operator(EDGES, NODES, True), signed_features(NODES, 9)
    found, outcome = pushed(operator, x, 0.1, 0.4, 1e-3, device="cuda")
    monkeypatch.undo()
    wanted, on_cpu = pushed(operator, x, 0.1, 0.4, 1e-3)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert (outcome.sweeps, outcome.touched) == (
        on_cpu.sweeps,
        pytest.approx(on_cpu.touched, rel=1e-2),
    )


def test_slices_follow_the_free_memory_and_none_that_fits_is_an_error(memory: list[int]) -> None:
    operator, x = Operator(EDGES, NODES, True), signed_features(NODES, 9)
    matrix = 12 * operator.entries
    memory[0] = matrix + int((NODES * (4 * BUFFERS + 16) + operator.entries // 64) * 3.5 / 0.9)
    found, outcome = exact(operator, x, Problem(0.1, 0.4, 1e-5, True), device="cuda")
    assert (outcome.slice_width, outcome.slices) == (3, 3)
    wanted, degree = dense_solution(EDGES, x, 0.1, 0.4, True)
    assert weighted_error(found, wanted, degree, 0.4) <= outcome.error_bound
    memory[0] = matrix
    with pytest.raises(TooLarge, match="GiB of GPU memory for one column of 60 nodes"):
        exact(operator, x, Problem(0.1, 0.4, 1e-5, True), device="cuda")
