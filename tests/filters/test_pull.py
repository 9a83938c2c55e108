"""One sweep and one round of the push: the plain version against a loop, the quick CPU path against
the plain version."""

from __future__ import annotations

import pytest
import torch
from dense_filter import graphs, random_graph
from torch import Tensor

from gclbench.filters.kernels import backend as paths
from gclbench.filters.kernels import pull
from gclbench.filters.kernels.backend import CpuPath, path_for
from gclbench.filters.operator import Operator


def matrices(
    nodes: int, width: int, count: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(nodes + width)
    return [torch.randn(nodes, width, generator=generator).to(dtype) for _ in range(count)]


def arrays(operator: Operator) -> tuple[Tensor, Tensor, Tensor]:
    return operator.pointers, operator.columns, operator.safe_degree.reciprocal().float()


def neighbour_mean(operator: Operator, values: Tensor) -> Tensor:
    """P w by a double loop, float64."""
    found = torch.zeros_like(values, dtype=torch.float64)
    for row in range(operator.nodes):
        for entry in range(int(operator.pointers[row]), int(operator.pointers[row + 1])):
            found[row] += values[int(operator.columns[entry])].double()
        found[row] /= operator.safe_degree[row]
    return found


@pytest.fixture(
    params=[(shape, self_loops) for shape in graphs() for self_loops in (True, False)], ids=str
)
def operator(request: pytest.FixtureRequest) -> Operator:
    shape, self_loops = request.param
    return Operator(*graphs()[shape], self_loops)


@pytest.mark.parametrize("omega", [1.0, 1.7])
def test_the_plain_sweep_is_the_formula(operator: Operator, omega: float) -> None:
    source, base, out = matrices(operator.nodes, 3, 3)
    full = 0.9 * neighbour_mean(operator, source) + base
    wanted = omega * full + (1 - omega) * out
    residual = torch.empty(operator.nodes)
    pull.sweep(*arrays(operator), source, base, out, 0.9, omega, residual)
    torch.testing.assert_close(out.double(), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(
        residual.double(), (full - source).square().sum(dim=1), rtol=1e-5, atol=1e-5
    )


def test_the_plain_sweep_does_not_read_what_it_overwrites_at_omega_one(operator: Operator) -> None:
    source, base = matrices(operator.nodes, 3, 2)
    out = torch.full_like(base, torch.nan)
    pull.sweep(*arrays(operator), source, base, out, 0.9, 1.0)
    assert bool(out.isfinite().all())


def test_the_plain_push_round_is_the_formula(operator: Operator) -> None:
    residue, reserve, out = matrices(operator.nodes, 3, 3)
    threshold = torch.tensor([-5.0, 0.3, 5.0])
    moved = torch.where(residue > threshold, residue, torch.zeros_like(residue))
    wanted_reserve = reserve + 0.2 * moved
    wanted = residue - moved + 0.8 * neighbour_mean(operator, moved)
    active = torch.empty(operator.nodes, dtype=torch.int32)
    pull.push_round(*arrays(operator), residue, threshold, 0.2, reserve, out, active)
    torch.testing.assert_close(reserve, wanted_reserve)
    torch.testing.assert_close(out.double(), wanted, rtol=1e-5, atol=1e-5)
    assert torch.equal(active.long(), (residue > threshold).sum(dim=1))
    assert bool((active >= 1).all()) and int(active.max()) <= 2


@pytest.fixture(params=["one matrix", "blocks of rows", "without MKL"])
def cpu(
    request: pytest.FixtureRequest, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> CpuPath:
    if request.param == "blocks of rows":
        monkeypatch.setattr(paths, "BLOCK_ENTRIES", 7)
    if request.param == "without MKL":
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    made = CpuPath(operator)
    assert ("MKL" in made.name) == (request.param != "without MKL")
    if request.param == "blocks of rows" and operator.entries > 60:
        assert len(made._blocks) > 2
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("omega", [1.0, 1.7])
@pytest.mark.parametrize("with_residual", [False, True])
def test_the_cpu_path_sweeps_like_the_plain_version(
    cpu: CpuPath, operator: Operator, dtype: torch.dtype, omega: float, with_residual: bool
) -> None:
    source, base, out = matrices(operator.nodes, 5, 3, dtype)
    wanted, inputs = out.clone(), (source.clone(), base.clone())
    if omega == 1.0:
        out.fill_(torch.nan)
    residuals = [torch.empty(operator.nodes) if with_residual else None for _ in range(2)]
    pull.sweep(*arrays(operator), source, base, wanted, 0.9, omega, residuals[0])
    cpu.sweep(source, base, out, 0.9, omega, residuals[1])
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(out, wanted, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(residuals[1], residuals[0], rtol=1e-4, atol=1e-5)
    assert torch.equal(source, inputs[0]) and torch.equal(base, inputs[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_cpu_path_pushes_like_the_plain_version(
    cpu: CpuPath, operator: Operator, dtype: torch.dtype
) -> None:
    residue, reserve, out = matrices(operator.nodes, 3, 3, dtype)
    threshold = torch.tensor([-5.0, 0.3, 5.0])
    wanted, wanted_reserve, wanted_active = (
        out.clone(),
        reserve.clone(),
        torch.empty(operator.nodes, dtype=torch.int32),
    )
    pull.push_round(
        *arrays(operator), residue, threshold, 0.2, wanted_reserve, wanted, wanted_active
    )
    active = torch.empty_like(wanted_active)
    cpu.push_round(residue, threshold, 0.2, reserve, out, active)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(out, wanted, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(reserve, wanted_reserve, rtol=tolerance, atol=tolerance)
    assert torch.equal(active, wanted_active)


def test_a_gpu_that_cannot_be_used_is_the_cpu_and_one_line_saying_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from gclbench.filters.kernels import cuda

    monkeypatch.setattr(cuda, "available", lambda _: (False, "no NVRTC was found"))
    found = path_for(Operator(random_graph(20, 0, 3.0), 20, True), "cuda")
    assert isinstance(found, CpuPath)
    assert len(caplog.records) == 1
    assert "the filter runs on the CPU, with the same result: no NVRTC was found" in caplog.text


def test_the_product_of_the_check_is_exact(cpu: CpuPath, operator: Operator) -> None:
    w = torch.randn(
        operator.nodes, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(
        cpu.exact_product(w),
        operator.transition(torch.float64).to_dense() @ w,
        rtol=1e-13,
        atol=1e-14,
    )
