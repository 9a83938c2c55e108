"""The CUDA kernel without a GPU: the same source and the same launches, run on the host
(kernel_emulator.h)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from kernel_emulator import Emulator, emulated_folder  # noqa: F401 (a fixture)
from pull_cases import WIDTHS, Case, bfloat16_step, case, swept
from torch import Tensor

from gclbench.filters.kernels import cuda, plan, pull


@pytest.fixture(scope="session")
def compiled(emulated_folder: Path) -> Emulator:  # noqa: F811
    return Emulator(emulated_folder)


@pytest.fixture
def emulator(compiled: Emulator, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    monkeypatch.setattr(cuda, "module", compiled.module)
    for module in compiled.modules.values():
        module.launched.clear()
    return compiled


def mostly_slow(widths: tuple[int, ...], quick: tuple[int, ...]) -> list[Any]:
    return [
        width if width in quick else pytest.param(width, marks=pytest.mark.slow) for width in widths
    ]


def sweep(problem: Case, damping: float, omega: float, residual: Tensor | None = None) -> Tensor:
    out = problem.out.clone()
    cuda.launch_sweep(*problem.graph, problem.source, problem.base, out, damping, omega, residual)
    return out


def empty_residual(problem: Case) -> Tensor:
    return torch.full((len(problem.source),), float("nan"))


@pytest.mark.parametrize("width", mostly_slow(WIDTHS, quick=(3, 64, 127)))
@pytest.mark.parametrize("relaxed", [True, False], ids=["relaxed", "plain"])
def test_sweep_is_within_the_stated_bound_of_float64(
    emulator: Emulator, width: int, relaxed: bool
) -> None:
    problem, omega = case(width), 1.37 if relaxed else 1.0
    expected, squares, bound = swept(problem, 0.9, omega)
    residual = empty_residual(problem)
    out = sweep(problem, 0.9, omega, residual)
    assert ((out.double() - expected).abs() <= bound).all()
    assert torch.allclose(residual.double(), squares, rtol=1e-5)
    assert torch.equal(sweep(problem, 0.9, omega), out), "with and without the residual"
    assert {name for name, _ in emulator.launched} == {
        f"sweep{'_relaxed' if relaxed else ''}{residual}{hubs}"
        for residual in ("", "_residual")
        for hubs in ("", "_hubs")
    }


@pytest.mark.parametrize("width", mostly_slow((1, 2, 7, 12, 64, 100), quick=(7, 64)))
@pytest.mark.parametrize("omega", (1.0, 1.37))
def test_bfloat16_storage_accumulates_in_float32(
    emulator: Emulator, width: int, omega: float
) -> None:
    problem = case(width).to("cpu", torch.bfloat16)
    expected, squares, _ = swept(problem, 0.9, omega)
    residual = empty_residual(problem)
    out = sweep(problem, 0.9, omega, residual)
    assert out.dtype == torch.bfloat16
    # Values near zero, the difference of larger ones, err by float32's rounding of those.
    assert ((out.double() - expected).abs() <= bfloat16_step(expected) + 1e-6).all()
    assert torch.allclose(residual.double(), squares, rtol=1e-5)


def test_bfloat16_rounds_to_even_and_keeps_nan_and_infinity(emulator: Emulator) -> None:
    # One node, no entry, ω = 2, base b and out o: out = 2 b − o, exact in float32 and not in
    # bfloat16.
    base = torch.tensor([1.0, 1.0078125, 3.0e38, float("nan"), -1.0, float("inf"), 2.0**-133, 1.0])
    out = torch.tensor([-(2.0**-7), 2.0**-8, -3.0e38, 0.0, 2.0**-7, 0.0, 0.0, 2.0**-9])
    problem = Case(
        torch.tensor([0, 0]),
        torch.zeros(0, dtype=torch.int32),
        torch.ones(1),
        *(t[None] for t in (base, base, out)),
    )
    stored = problem.to("cpu", torch.bfloat16)
    expected = (2 * stored.base.float() - stored.out.float()).bfloat16()
    assert torch.equal(sweep(stored, 0.5, 2.0).view(torch.int16), expected.view(torch.int16))
    # The NaN that a GPU's arithmetic gives has every bit set: rounding it up would make it zero.
    stored.inverse_degree = torch.tensor([2**31 - 1], dtype=torch.int32).view(torch.float32)
    assert sweep(stored, 0.5, 2.0).isnan().all()


@pytest.mark.parametrize("width", (3, 64))
@pytest.mark.parametrize("dtype", STORAGE := (torch.float32, torch.bfloat16), ids=str)
def test_push_round_moves_what_is_above_the_threshold(
    emulator: Emulator, width: int, dtype: torch.dtype
) -> None:
    problem = case(width).to("cpu", dtype)
    residue, reserve = problem.source.abs(), problem.base
    threshold = torch.linspace(0.2, 1.5, width)
    threshold[0] = float(residue[3, 0])  # Equal to the threshold stays.
    results = []
    for run in (pull.push_round, cuda.launch_push_round):
        kept, left, active = (
            reserve.clone(),
            torch.full_like(residue, float("nan")),
            torch.full((len(residue),), -1, dtype=torch.int32),
        )
        run(*problem.graph, residue, threshold, 0.1, kept, left, active)
        results.append((kept, left, active))
    (kept, left, active), (kept_here, left_here, active_here) = results
    assert torch.equal(active, active_here) and 0 < int(active.sum()) < active.numel() * width
    tolerance = (
        {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2.0**-7, "atol": 1e-6}
    )
    assert torch.allclose(kept, kept_here, **tolerance)
    assert torch.allclose(left, left_here, **tolerance)


def test_a_column_does_not_depend_on_the_others_nor_on_how_work_is_cut(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(36)
    whole = sweep(problem, 0.9, 1.2)
    for width in (1, 5, 32):
        part = Case(
            *problem.graph,
            *(t[:, :width].contiguous() for t in (problem.source, problem.base, problem.out)),
        )
        assert torch.equal(sweep(part, 0.9, 1.2), whole[:, :width])
    for shape in ((4, 8), (4, 32), (2, 16), (1, 8)):
        monkeypatch.setattr(cuda, "shape", lambda *_, chosen=shape: chosen)
        residual = empty_residual(problem)
        assert torch.equal(sweep(problem, 0.9, 1.2, residual), whole), shape
        assert torch.allclose(residual.double(), swept(problem, 0.9, 1.2)[1], rtol=1e-5)


def test_a_hub_of_more_segments_than_a_block_has_groups(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(3, lengths=(512 * 35 + 5, 512 * 8))
    expected, _, bound = swept(problem, 0.9, 1.0)
    results = []
    for lanes in (8, 32):  # 32 and 8 groups a block.
        monkeypatch.setattr(cuda, "shape", lambda *_, lanes=lanes: (1, lanes))
        results.append(sweep(problem, 0.9, 1.0))
    assert ((results[0].double() - expected).abs() <= bound).all()
    assert torch.equal(*results)


def test_more_tiles_than_one_grid_holds(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "GRID_Y", 2)
    problem = case(200)
    expected, squares, bound = swept(problem, 0.9, 1.0)
    residual = empty_residual(problem)
    assert ((sweep(problem, 0.9, 1.0, residual).double() - expected).abs() <= bound).all()
    assert torch.allclose(residual.double(), squares, rtol=1e-5)
    assert [grid[1] for name, grid in emulator.launched if name == "sweep_residual"] == [2, 2, 2, 1]


@pytest.mark.parametrize("width", (3, 12))
def test_nothing_outside_the_tensors_is_read_or_written(
    emulator: Emulator, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tensor lies between guards: NaN where floats are read, ids far outside, and what is
    written must leave them be.
    Loads of the matrices and ids are checked one by one."""
    problem = case(width)
    kept: list[tuple[Tensor, Tensor]] = []

    def guarded(tensor: Tensor, value: float) -> Tensor:
        room = torch.full((tensor.numel() + 128,), value, dtype=tensor.dtype)
        inner = room[64:-64].view(tensor.shape).copy_(tensor)
        kept.append((room, room.clone()))
        return inner

    wild = 2**31 - 1
    matrices = [guarded(t, float("nan")) for t in (problem.source, problem.base, problem.out)]
    inner = Case(
        guarded(problem.pointers, wild),
        guarded(problem.columns, wild),
        guarded(problem.inverse_degree, float("nan")),
        *matrices,
    )
    residual = guarded(empty_residual(problem), float("nan"))
    seen = [plan.plan_of(inner.pointers).items, inner.columns, inner.source, inner.base, inner.out]
    with monkeypatch.context() as patch:
        patch.setattr(
            emulator.module(0, 4, *cuda.shape(width, len(inner.out), (inner.source,), 0)),
            "tensors",
            seen,
        )
        cuda.launch_sweep(*inner.graph, inner.source, inner.base, inner.out, 0.9, 1.2, residual)
    assert torch.equal(inner.out, sweep(problem, 0.9, 1.2))
    assert torch.isfinite(residual).all()
    for room, before in kept:
        for guard in (slice(None, 64), slice(-64, None)):
            assert torch.equal(room[guard].isnan(), before[guard].isnan())
            assert room[guard].isnan().all() or torch.equal(room[guard], before[guard])


def test_a_value_that_is_not_finite_reaches_its_neighbours_only(emulator: Emulator) -> None:
    problem = case(5)
    clean = sweep(problem, 0.9, 1.0)
    problem.source[0] = float("nan")  # Row 0 is what padded threads load.
    touched = torch.zeros(len(clean), dtype=torch.bool)
    rows = torch.repeat_interleave(torch.arange(len(clean)), problem.pointers.diff())
    touched[rows[problem.columns == 0]] = True
    assert 0 < int(touched.sum()) < len(clean)
    out = sweep(problem, 0.9, 1.0)
    assert out[touched].isnan().all()
    assert torch.equal(out[~touched], clean[~touched])


@pytest.mark.parametrize("rows, width", [(1, 1), (3, 9), (0, 4), (4, 0)])
def test_graphs_without_edges_and_empty_matrices(emulator: Emulator, rows: int, width: int) -> None:
    problem = case(width)
    few = Case(
        torch.zeros(rows + 1, dtype=torch.int64),
        problem.columns[:0],
        torch.ones(rows),
        *[torch.rand(rows, width) for _ in range(3)],
    )
    residual = empty_residual(few)
    out = sweep(few, 0.9, 1.5, residual)
    assert torch.allclose(out, 1.5 * few.base - 0.5 * few.out)
    assert torch.allclose(residual, (few.base - few.source).square().sum(dim=1))
    active = torch.full((rows,), -1, dtype=torch.int32)
    left = torch.full_like(few.out, float("nan"))
    cuda.launch_push_round(
        *few.graph, few.source, torch.full((width,), 2.0), 0.1, few.base, left, active
    )
    assert torch.equal(left, few.source) and not active.any()


def test_loads_are_as_wide_as_the_columns_and_addresses_allow() -> None:
    def chosen(
        width: int, dtype: torch.dtype = torch.float32, offset: int = 0, cache: int = 0
    ) -> tuple[int, int]:
        room = torch.empty(1000 * width + offset, dtype=dtype)
        return cuda.shape(width, 1000, (room[offset:].view(1000, width),), cache)

    assert [chosen(width) for width in (128, 6, 7, 127, 1)] == [
        (4, 8),
        (2, 8),
        (1, 8),
        (1, 32),
        (1, 8),
    ]
    assert [chosen(width, torch.bfloat16) for width in (128, 4, 6, 127)] == [
        (8, 8),
        (4, 8),
        (2, 8),
        (1, 32),
    ]
    assert chosen(128, offset=1) == (1, 32)
    assert chosen(128, cache=1 << 30) == (
        4,
        32,
    ), "a source that stays in L2 anyway is taken in wide tiles"


# ---- what the launch refuses


def test_tensors_the_kernel_cannot_take_are_refused() -> None:
    problem = case(4)
    whole = dict(zip(("pointers", "columns", "inverse_degree"), problem.graph))
    whole |= {"source": problem.source, "base": problem.base, "out": problem.out}

    def refused(text: str, **changed: Tensor) -> None:
        with pytest.raises(ValueError, match=text):
            cuda.launch_sweep(**{**whole, **changed}, damping=0.9, omega=1.0)

    refused("source is torch.float64 .* takes float32 and bfloat16", source=problem.source.double())
    refused("base is torch.bfloat16 .* and source torch.float32", base=problem.base.bfloat16())
    refused("out is torch.float32 of shape", out=problem.out[:-1])
    refused("columns is torch.int64", columns=problem.columns.long())
    refused("inverse_degree is torch.float32 of shape", inverse_degree=problem.inverse_degree[1:])
    refused("out must be contiguous", out=problem.out.T.contiguous().T)
    refused(
        "base must be contiguous and on cpu like source; it is on meta",
        base=problem.base.to("meta"),
    )
    refused("out and source share memory", out=problem.source)
    refused("pointers end at .* they are not of one matrix", columns=problem.columns[:-1])
    falling = problem.pointers.clone()
    falling[3] = falling[-1]
    refused("pointers must begin at 0 and never fall", pointers=falling)


def test_the_emulator_sees_a_shuffle_that_a_lane_never_joins(
    emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strongest check here is only as good as its emulator."""
    import kernel_emulator

    broken = tmp_path / "broken.cu"
    text = kernel_emulator.SOURCE.read_text(encoding="utf-8")
    assert text.count("const Place place(shape);") == 4
    broken.write_text(
        text.replace(
            "const Place place(shape);", "if (threadIdx.x == 5) return; const Place place(shape);"
        )
    )
    monkeypatch.setattr(kernel_emulator, "SOURCE", broken)
    monkeypatch.setattr(cuda, "module", Emulator(tmp_path).module)
    with pytest.raises(RuntimeError, match="a shuffle with a lane that has left"):
        sweep(case(3), 0.9, 1.0)
