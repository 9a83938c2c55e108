"""pull.cu compiles, to code without spills and atomics; the compiler is found, its results are
kept, and what is missing is said."""

from __future__ import annotations

import itertools
import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from gclbench.filters.kernels import cuda, nvrtc
from gclbench.filters.kernels.nvrtc import (
    CompileError,
    Compiler,
    Unavailable,
    built,
    candidates,
    find,
)

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
# Widest and narrowest loads of both storage types: (bytes, columns a thread, threads a row).
SHAPES = ((4, 4, 8), (4, 1, 32), (2, 8, 8), (2, 1, 16))
EVERY_SHAPE = [(4, pack, lanes) for pack in (4, 2, 1) for lanes in (8, 16, 32)]
EVERY_SHAPE += [(2, pack, lanes) for pack in (8, 4, 2, 1) for lanes in (8, 16, 32)]
KERNELS = [
    f"sweep{relaxed}{residual}{hubs}"
    for relaxed in ("", "_relaxed")
    for residual in ("", "_residual")
    for hubs in ("", "_hubs")
]
KERNELS += ["push", "push_hubs"]


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    if sys.platform != "linux":
        pytest.skip("NVRTC's package is for Linux")
    return find()  # The test extra brings it, so that its absence fails here.


def names(code: bytes) -> set[str]:
    return {name for name in KERNELS if re.search(rb"\.text\." + name.encode() + rb"\0", code)}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    "shape",
    [SHAPES[0], *(pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES[1:])],
    ids=str,
)
def test_nvrtc_compiles_every_kernel(
    compiler: Compiler, architecture: str, shape: tuple[int, int, int]
) -> None:
    code = built(compiler, cuda.source(), architecture, cuda.definitions(*shape), None)
    assert code.startswith(b"\x7fELF")
    assert names(code) == set(KERNELS)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvcc_compiles_it_too(architecture: str, tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed; NVRTC's compilation stands alone")
    source = Path(cuda.__file__).with_name("pull.cu")
    macros = [f"-D{name}={value}" for name, value in cuda.definitions(4, 4, 8).items()]
    target = tmp_path / "pull.cubin"
    warnings = ["-Werror", "all-warnings"]
    command = [
        "nvcc",
        "-cubin",
        f"-arch={architecture}",
        "-std=c++17",
        *warnings,
        *macros,
        str(source),
        "-o",
        str(target),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert names(target.read_bytes()) == set(KERNELS)


CASES = [
    ("sm_90", SHAPES[0]),
    *(pytest.param(a, s, marks=pytest.mark.slow) for a in ARCHITECTURES for s in EVERY_SHAPE),
]


@pytest.mark.parametrize("architecture, shape", CASES, ids=str)
def test_nothing_spills_and_occupancy_is_as_planned(
    compiler: Compiler,
    architecture: str,
    shape: tuple[int, int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    definitions = [f"-D{name}={value}" for name, value in cuda.definitions(*shape).items()]
    with caplog.at_level(logging.DEBUG, logger=nvrtc.__name__):
        compiler.compile(
            cuda.source(),
            (
                f"--gpu-architecture={architecture}",
                "--ptxas-options=-v",
                *nvrtc.OPTIONS,
                *definitions,
            ),
        )
    spills = re.findall(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", caplog.text
    )
    assert len(spills) == len(KERNELS)
    assert set(itertools.chain(*spills)) == {"0"}
    registers = dict(
        re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", caplog.text, re.DOTALL)
    )
    assert set(registers) == set(KERNELS)
    assert max(int(used) for name, used in registers.items() if name.startswith("sweep")) <= (
        64 if shape[0] == 4 and architecture != "sm_100" else 80
    )


@pytest.mark.parametrize(
    "shape",
    [SHAPES[0], *(pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES[1:])],
    ids=str,
)
def test_there_are_no_atomics_no_local_memory_and_whole_loads(
    compiler: Compiler, shape: tuple[int, int, int]
) -> None:
    ptx = built(compiler, cuda.source(), "compute_90", cuda.definitions(*shape), None).decode()
    assert all(f".entry {name}(" in ptx for name in KERNELS)
    assert not re.search(r"\b(atom|red)\.", ptx)
    assert ".local" not in ptx
    load = {16: "v4.u32", 8: "v2.u32", 4: "f32|u32", 2: "u16"}[shape[0] * shape[1]]
    # Eight at a time on the common path, eight and four on the rows' ends, in each of five kernels.
    assert len(re.findall(rf"ld\.global\.nc\.({load})", ptx)) >= 5 * 20


def test_a_broken_source_raises_with_the_compilers_log(compiler: Compiler) -> None:
    with pytest.raises(
        CompileError,
        match=r"(?s)could not compile .*=sm_90.*COMPILATION.*undeclared_thing.* is undefined",
    ):
        built(
            compiler,
            'extern "C" __global__ void k(int* x) { *x = undeclared_thing; }',
            "sm_90",
            {},
            None,
        )


def test_missing_macros_do_not_compile(compiler: Compiler) -> None:
    with pytest.raises(CompileError):
        built(compiler, cuda.source(), "sm_90", {"PACK": 4}, None)


def test_a_device_gets_its_own_code_or_the_newest_older_ptx(compiler: Compiler) -> None:
    assert compiler.target(90) == "sm_90"
    newest = compiler.architectures[-1]
    assert compiler.target(newest + 7) == f"compute_{newest}"
    with pytest.raises(
        Unavailable,
        match=r"compiles for compute capability \d+\.\d and newer, and this GPU has 1\.0",
    ):
        compiler.target(10)


# ---- the cache

TINY = 'extern "C" __global__ void tiny(float* x) { x[threadIdx.x] = VALUE; }'


@pytest.fixture
def counted(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    compile_ = Compiler.compile

    def counting(
        self: Compiler, source: str, options: tuple[str, ...], name: str = "kernel.cu"
    ) -> bytes:
        calls.append(" ".join(options))
        return compile_(self, source, options, name)

    monkeypatch.setattr(Compiler, "compile", counting)
    return calls


def test_the_cache_answers_for_the_same_source_target_macros_and_version(
    compiler: Compiler, counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kernels"
    first = built(compiler, TINY, "sm_90", {"VALUE": 1}, folder)
    assert built(compiler, TINY, "sm_90", {"VALUE": 1}, folder) == first
    assert len(counted) == 1
    built(compiler, TINY, "sm_80", {"VALUE": 1}, folder)
    built(compiler, TINY, "sm_90", {"VALUE": 2}, folder)
    built(compiler, TINY + " ", "sm_90", {"VALUE": 1}, folder)
    monkeypatch.setattr(compiler, "version", (99, 0))
    built(compiler, TINY, "sm_90", {"VALUE": 1}, folder)
    assert len(counted) == 5
    assert len(list(folder.iterdir())) == 5, "no temporary file stays"


@pytest.mark.parametrize("damage", ["truncated", "changed", "emptied"])
def test_a_damaged_entry_is_reported_and_made_again(
    compiler: Compiler,
    counted: list[str],
    tmp_path: Path,
    damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = built(compiler, TINY, "sm_90", {"VALUE": 1}, tmp_path)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(
        {"truncated": bytes(content[:-9]), "changed": bytes(content), "emptied": b""}[damage]
    )
    assert built(compiler, TINY, "sm_90", {"VALUE": 1}, tmp_path) == whole
    assert "is damaged; compiling again" in caplog.text
    assert built(compiler, TINY, "sm_90", {"VALUE": 1}, tmp_path) == whole
    assert len(counted) == 2


def test_an_interrupted_write_leaves_no_entry(
    compiler: Compiler,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nvrtc.os, "fsync", full)
    assert built(compiler, TINY, "sm_90", {"VALUE": 1}, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert "No space left on device" in caplog.text


def test_a_folder_that_cannot_be_made_costs_a_warning(
    compiler: Compiler, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert built(compiler, TINY, "sm_90", {"VALUE": 1}, tmp_path / "file" / "kernels")
    assert "the compiled kernel is not kept" in caplog.text
    assert "GCLBENCH_DATA" in caplog.text


# ---- what is missing is said


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """NVRTC is looked for in one empty folder."""
    monkeypatch.setattr(nvrtc, "candidates", lambda cuda=None: iter(sorted(tmp_path.iterdir())))
    find.cache_clear()
    yield tmp_path
    find.cache_clear()


def test_no_nvrtc_says_where_it_was_sought_and_what_to_install(no_library: Path) -> None:
    with pytest.raises(
        Unavailable,
        match=(
            r"(?s)no NVRTC library could be loaded \(none in torch's.*pip install"
            r" 'gclbench\[cuda\]'"
        ),
    ):
        find()


def test_an_nvrtc_that_does_not_load_is_named(no_library: Path) -> None:
    (no_library / "libnvrtc.so.13").write_bytes(b"not a library")
    with pytest.raises(Unavailable, match=r"libnvrtc.so.13 is no usable NVRTC"):
        find()


def test_the_library_of_torchs_cuda_comes_first(compiler: Compiler) -> None:
    found = list(candidates())
    assert any(Path(compiler.path) == path for path in found)
    assert not [path for path in found if ".alt." in path.name or "builtins" in path.name]
    majors = [
        path.name.partition(".so.")[2].partition(".")[0]
        for path in candidates("13.0")
        if ".so." in path.name
    ]
    assert majors == sorted(majors, key=lambda major: major != "13")


def test_available_says_why_not(monkeypatch: pytest.MonkeyPatch, no_library: Path) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    assert cuda.available() == (
        False,
        (
            f"torch {torch.__version__} is built without CUDA; pytorch.org lists the builds that"
            " have it"
        ),
    )
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    answer, reason = cuda.available()
    assert not answer and reason.startswith("torch sees no CUDA device")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    answer, reason = cuda.available()
    assert not answer and reason.startswith("no NVRTC library could be loaded")


def test_the_package_ships_the_source() -> None:
    project = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"gclbench.filters.kernels" = ["*.cu"]' in project
    assert "__global__" in cuda.source()
