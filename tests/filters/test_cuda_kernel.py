"""The CUDA kernel on a GPU.

What can be tested without one is in test_cuda_emulated.py and test_cuda_source.py.

Agreement with float64 to the bound that gclbench/filters/kernels/cuda.py states (float32), to half
a step of bfloat16.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import torch
from pull_cases import LENGTHS, WIDTHS, Case, bfloat16_step, case, swept
from torch import Tensor

from gclbench.filters.kernels import cuda, pull

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    usable, reason = cuda.available()
    if not usable:
        pytest.skip(reason)


def on_gpu(
    width: int,
    dtype: torch.dtype = torch.float32,
    lengths: tuple[int, ...] = LENGTHS,
    device: str = "cuda",
) -> Case:
    return case(width, lengths).to(device, dtype)


def sweep(problem: Case, omega: float = 1.37, residual: Tensor | None = None) -> Tensor:
    out = problem.out.clone()
    cuda.sweep(*problem.graph, problem.source, problem.base, out, 0.9, omega, residual)
    return out


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("omega", (1.0, 1.37))
def test_sweep_in_float32(width: int, omega: float) -> None:
    problem = on_gpu(width)
    expected, squares, bound = swept(problem, 0.9, omega)
    residual = torch.full((len(expected),), float("nan"), device="cuda")
    out = sweep(problem, omega, residual)
    assert ((out.double() - expected).abs() <= bound).all()
    assert torch.allclose(residual.double(), squares, rtol=1e-5)
    assert torch.equal(sweep(problem, omega), out), "with and without the residual"


@pytest.mark.parametrize("width", WIDTHS)
def test_sweep_in_bfloat16(width: int) -> None:
    problem = on_gpu(width, torch.bfloat16)
    expected, squares, _ = swept(problem, 0.9, 1.37)
    residual = torch.empty(len(expected), device="cuda")
    out = sweep(problem, 1.37, residual)
    assert ((out.double() - expected).abs() <= bfloat16_step(expected) + 1e-6).all()
    assert torch.allclose(residual.double(), squares, rtol=1e-5)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
def test_a_value_that_is_not_finite_reaches_its_neighbours_only(dtype: torch.dtype) -> None:
    problem = on_gpu(5, dtype)
    clean = sweep(problem, 1.0)
    problem.source[0] = float("nan")
    rows = torch.repeat_interleave(torch.arange(len(clean), device="cuda"), problem.pointers.diff())
    touched = torch.zeros(len(clean), dtype=torch.bool, device="cuda")
    touched[rows[problem.columns == 0]] = True
    out = sweep(problem, 1.0)
    assert out[touched].isnan().all()
    assert torch.equal(out[~touched], clean[~touched])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
def test_push_round(width: int, dtype: torch.dtype) -> None:
    problem = on_gpu(width, dtype)
    residue, threshold = problem.source.abs(), torch.linspace(0.2, 1.5, width, device="cuda")
    results = []
    for run in (pull.push_round, cuda.push_round):
        kept, left = problem.base.clone(), torch.full_like(residue, float("nan"))
        active = torch.full((len(residue),), -1, dtype=torch.int32, device="cuda")
        run(*problem.graph, residue, threshold, 0.1, kept, left, active)
        results.append((kept, left, active))
    (kept, left, active), (kept_here, left_here, active_here) = results
    assert torch.equal(active, active_here)
    rtol = 1e-5 if dtype == torch.float32 else 2.0**-7
    assert torch.allclose(kept, kept_here, rtol=rtol, atol=1e-6)
    assert torch.allclose(left, left_here, rtol=rtol, atol=1e-6)


def test_hubs() -> None:
    problem = on_gpu(36, lengths=(100_000, 1_000_003, 513, 40_000))
    expected, _, bound = swept(problem, 0.9, 1.0)
    assert ((sweep(problem, 1.0).double() - expected).abs() <= bound).all()


def test_reruns_are_bit_identical_whatever_else_the_device_does() -> None:
    problem = on_gpu(200, lengths=(*LENGTHS, 100_000))
    residual = torch.empty(len(problem.source), device="cuda")
    first, squares = sweep(problem, 1.37, residual), residual.clone()
    busy = torch.cuda.Stream()
    noise = torch.randn(2048, 2048, device="cuda")
    for _ in range(20):
        with torch.cuda.stream(busy):
            noise = torch.tanh(noise @ noise)
        assert torch.equal(sweep(problem, 1.37, residual), first)
        assert torch.equal(residual, squares)


def in_a_thread(work: Callable[[], Tensor]) -> Tensor:
    results: list[Tensor] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def test_other_streams_and_threads() -> None:
    problem = on_gpu(64)
    expected = sweep(problem)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # The input is written late on this stream: a launch on another one would not see it.
        torch.cuda._sleep(50_000_000)
        late = Case(*problem.graph, problem.source * 1.0, problem.base * 1.0, problem.out * 1.0)
        out = sweep(late)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(out, expected)
    assert torch.equal(in_a_thread(lambda: sweep(problem)), expected)


def test_a_cuda_graph_replays_it() -> None:
    problem = on_gpu(64)
    expected = sweep(problem)
    out = problem.out.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cuda.sweep(*problem.graph, problem.source, problem.base, out, 0.9, 1.37)
    graph.replay()
    assert torch.equal(out, expected)


def test_every_visible_device() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("one device is visible; this needs two")
    expected = sweep(on_gpu(64)).cpu()
    for index in range(torch.cuda.device_count()):
        assert torch.equal(sweep(on_gpu(64, device=f"cuda:{index}")).cpu(), expected)


def test_cuda_visible_devices() -> None:
    """In a process that sees one device by another number."""
    last = torch.cuda.device_count() - 1
    script = "from gclbench.filters.kernels import cuda; print(cuda.available())"
    for visible, answer in ((str(last), "True"), ("", "False")):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": visible},
            capture_output=True,
            text=True,
        )
        assert done.stdout.startswith(f"({answer}"), done.stdout + done.stderr


def needs(gigabytes: float) -> None:
    free, _ = torch.cuda.mem_get_info()
    if free < gigabytes * 1e9:
        pytest.skip(f"{free / 1e9:.0f} GB of GPU memory are free; this needs {gigabytes:.0f}")


@pytest.mark.parametrize("width", (257, 260))
def test_more_than_two_to_the_31_elements(width: int) -> None:
    needs(20)
    rows = 1 << 23
    assert rows * width > 1 << 31
    pointers = torch.arange(rows + 1, device="cuda") * 2
    node = torch.arange(rows, dtype=torch.int32, device="cuda")
    columns = torch.stack([(node - 1) % rows, (node + 1) % rows], dim=1).flatten()
    generator = torch.Generator("cuda").manual_seed(1)
    source = torch.empty(rows, width, dtype=torch.bfloat16, device="cuda").uniform_(
        -1, 1, generator=generator
    )
    base = source.roll(5, 0)
    out = torch.full_like(source, float("nan"))
    residual = torch.empty(rows, device="cuda")
    cuda.sweep(
        pointers,
        columns,
        torch.full((rows,), 0.5, device="cuda"),
        source,
        base,
        out,
        0.9,
        1.0,
        residual,
    )
    for part in (slice(0, 1000), slice(rows // 2, rows // 2 + 1000), slice(rows - 1000, rows)):
        index = torch.arange(part.start, part.stop, device="cuda")
        full = (
            0.45 * (source[(index - 1) % rows].double() + source[(index + 1) % rows].double())
            + base[part].double()
        )
        assert ((out[part].double() - full).abs() <= bfloat16_step(full) + 1e-6).all()
        assert torch.allclose(
            residual[part].double(), (full - source[part].double()).square().sum(dim=1), rtol=1e-5
        )


def test_more_than_two_to_the_31_entries() -> None:
    needs(30)
    rows, degree, width = 1 << 23, 257, 4
    assert rows * degree > 1 << 31
    pointers = torch.arange(rows + 1, device="cuda") * degree
    columns = torch.empty(rows, degree, dtype=torch.int32, device="cuda")
    window = torch.arange(degree, dtype=torch.int32, device="cuda")
    for begin in range(0, rows, 1 << 20):
        node = torch.arange(begin, begin + (1 << 20), dtype=torch.int32, device="cuda")
        columns[begin : begin + (1 << 20)] = (node[:, None] + window) % rows
    source = torch.rand(rows, width, device="cuda")
    out, base = torch.full_like(source, float("nan")), torch.zeros_like(source)
    cuda.sweep(
        pointers,
        columns.flatten(),
        torch.full((rows,), 1 / degree, device="cuda"),
        source,
        base,
        out,
        1.0,
        1.0,
    )
    sums = torch.cat(
        [
            torch.zeros(1, width, dtype=torch.float64, device="cuda"),
            torch.cat([source, source[:degree]]).double().cumsum(0),
        ]
    )
    expected = (sums[degree : rows + degree] - sums[:rows]) / degree
    assert torch.allclose(out.double(), expected, rtol=1e-5)
