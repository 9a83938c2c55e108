"""The fused pull on CUDA tensors: `pull.cu`, compiled at first use, as the torch operators
`gclbench::pull_sweep` and `gclbench::pull_push_round`.

What the two compute is said by gclbench.filters.kernels.pull, whose plain version is the operators'
CPU implementation.
Results are bit-identical from run to run, and for all widths of columns: a row's sum depends on its
entries alone. Against exact arithmetic a sum of m ≤ 512 entries errs by at most min(m − 1, 3 +
⌈m/8⌉)·2⁻²⁴ of the sum of absolute values, to first order (eights are added by halves, then in
order); that of a longer row by at most (3 + 64 + ⌈m/16384⌉ + 32)·2⁻²⁴.
"""

from __future__ import annotations

import functools
import threading
from ctypes import Structure, c_float, c_int, c_longlong, c_uint, c_void_p
from importlib.resources import files

import torch
from torch import Tensor

from gclbench.filters.kernels import nvrtc, pull
from gclbench.filters.kernels.arguments import STORAGE, apart, check
from gclbench.filters.kernels.driver import Argument, Module, driver
from gclbench.filters.kernels.plan import Plan, plan_of
from gclbench.machine.environment import cache_folder

BLOCK = 256
TILE_BYTES, WIDE_TILE_BYTES = 128, 512
"""Width of a column tile: whole cache lines, so that as many rows as can be stay in L2; wide when
they all do anyway."""

GRID_Y = 65535
_lock = threading.Lock()


def source() -> str:
    """The text of pull.cu."""
    return files("gclbench.filters.kernels").joinpath("pull.cu").read_text(encoding="utf-8")


def definitions(storage_bytes: int, pack: int, lanes: int) -> dict[str, int]:
    """The macros that pull.cu asks for: `pack` columns a thread, `lanes` threads a row."""
    return {"STORAGE_BYTES": storage_bytes, "PACK": pack, "LANES": lanes, "BLOCK": BLOCK}


def available(device: torch.device | str | int | None = None) -> tuple[bool, str]:
    """Whether the kernel runs on a device (default: torch's current one), and with what, or why
    not. Compiles it if need be."""
    if torch.version.cuda is None:
        return (
            False,
            (
                f"torch {torch.__version__} is built without CUDA; pytorch.org lists the builds"
                " that have it"
            ),
        )
    if not torch.cuda.is_available():
        return (
            False,
            "torch sees no CUDA device; nvidia-smi and CUDA_VISIBLE_DEVICES tell what there is",
        )
    index = torch.device("cuda" if device is None else device).index
    index = torch.cuda.current_device() if index is None else index
    try:
        compiler, target = _target(index)
        module(index, 4, 4, 8)
    except (nvrtc.Unavailable, nvrtc.CompileError) as error:
        return False, str(error)
    return True, f"{torch.cuda.get_device_name(index)}, {target}, NVRTC {compiler}"


def _target(device: int) -> tuple[nvrtc.Compiler, str]:
    compiler = nvrtc.find(torch.version.cuda)
    major, minor = torch.cuda.get_device_capability(device)
    return compiler, compiler.target(10 * major + minor)


@functools.cache
def _loaded(device: int, storage_bytes: int, pack: int, lanes: int) -> Module:
    compiler, target = _target(device)
    code = nvrtc.built(
        compiler,
        source(),
        target,
        definitions(storage_bytes, pack, lanes),
        cache_folder() / "kernels",
    )
    return driver().load(code, device)


def module(device: int, storage_bytes: int, pack: int, lanes: int) -> Module:
    """The kernels for one shape of work, compiled and loaded at first use.

    Raises:
        Unavailable, CompileError: see gclbench.filters.kernels.nvrtc.
    """
    with _lock:
        return _loaded(device, storage_bytes, pack, lanes)


def shape(
    columns: int, rows: int, tensors: tuple[Tensor, ...], cache_bytes: int
) -> tuple[int, int]:
    """`pack` and `lanes` for matrices of `rows` × `columns`.

    Args:
        tensors: the matrices: their addresses and type limit how many columns one load may fetch.
        cache_bytes: of L2.
    """
    size = tensors[0].element_size()
    pack = 16 // size
    while pack > 1 and any(
        offset % (pack * size)
        for offset in (columns * size, *(tensor.data_ptr() for tensor in tensors))
    ):
        pack //= 2
    tile = WIDE_TILE_BYTES if rows * columns * size <= cache_bytes // 2 else TILE_BYTES
    lanes = 8
    while lanes < 32 and lanes * pack * size < tile and lanes * pack < columns:
        lanes *= 2
    return pack, lanes


class _Shape(Structure):
    """`Shape` in pull.cu."""

    _fields_ = (
        ("nodes", c_longlong),
        ("columns", c_uint),
        ("row_bytes", c_uint),
        ("first_tile", c_int),
    )


class _Work:
    """One launch over all rows and columns: what both operators share.

    Args:
        matrices: the N×K tensors, the gathered one first. vectors: the others, by name.
    """

    def __init__(
        self,
        pointers: Tensor,
        columns: Tensor,
        matrices: dict[str, Tensor],
        vectors: dict[str, Tensor],
    ):
        first = next(iter(matrices.values()))
        self.rows, self.columns = first.shape
        check(pointers, columns, matrices, vectors)
        self.device = first.device.index or 0
        self.empty = self.rows == 0 or self.columns == 0
        cache = torch.cuda.get_device_properties(first.device).L2_cache_size if first.is_cuda else 0
        self.pack, self.lanes = shape(self.columns, self.rows, tuple(matrices.values()), cache)
        self.storage_bytes = STORAGE[first.dtype]
        self.tiles = -(-self.columns // (self.lanes * self.pack))
        self.groups = BLOCK // self.lanes
        self.plan: Plan = plan_of(pointers)
        if self.plan.entries != len(columns):
            raise ValueError(
                f"pointers end at {self.plan.entries}, and there are {len(columns)} columns; they"
                " are not of one matrix"
            )
        self.partial = first.new_empty((self.plan.segments, self.columns), dtype=torch.float32)

    def parts(self, whole: Tensor | None) -> Tensor | None:
        """Where tiles leave their share of a per-row sum: `whole` itself when there is one tile,
        else (tiles, N)."""
        return (
            whole if whole is None or self.tiles == 1 else whole.new_empty((self.tiles, self.rows))
        )

    def launch(
        self, name: str, before: list[Argument], middle: list[Argument], after: list[Argument]
    ) -> None:
        """Kernel `name` over the items and `name`_hubs over the hubs; only their first arguments
        differ."""
        kernels = module(self.device, self.storage_bytes, self.pack, self.lanes)
        items, hubs = self.plan.items, self.plan.hubs
        for tile in range(0, self.tiles, GRID_Y):
            tiles = min(GRID_Y, self.tiles - tile)
            extent = _Shape(self.rows, self.columns, self.columns * self.storage_bytes, tile)
            head: list[Argument] = [_address(items), c_longlong(len(items)), *before]
            kernels.launch(
                name,
                (-(-len(items) // self.groups), tiles),
                BLOCK,
                [*head, *middle, extent, *after],
            )
            if len(hubs):
                kernels.launch(
                    f"{name}_hubs",
                    (len(hubs), tiles),
                    BLOCK,
                    [_address(hubs), *middle, extent, *after],
                )


def _address(tensor: Tensor | None) -> c_void_p:
    return c_void_p(tensor.data_ptr() if tensor is not None and tensor.numel() else None)


def sweep(
    pointers: Tensor,
    columns: Tensor,
    inverse_degree: Tensor,
    source: Tensor,
    base: Tensor,
    out: Tensor,
    damping: float,
    omega: float,
    residual: Tensor | None = None,
) -> None:
    """One sweep (see gclbench.filters.kernels.pull.sweep), on torch's current stream.

    Raises:
        ValueError: for tensors the kernel cannot take. Unavailable, CompileError: where it cannot
            be built or run.
    """
    torch.ops.gclbench.pull_sweep(
        pointers, columns, inverse_degree, source, base, out, damping, omega, residual
    )


def push_round(
    pointers: Tensor,
    columns: Tensor,
    inverse_degree: Tensor,
    residue: Tensor,
    threshold: Tensor,
    alpha: float,
    reserve: Tensor,
    residue_out: Tensor,
    active: Tensor,
) -> None:
    """One synchronous round of the push (see gclbench.filters.kernels.pull.push_round).

    Raises what `sweep` does.
    """
    torch.ops.gclbench.pull_push_round(
        pointers, columns, inverse_degree, residue, threshold, alpha, reserve, residue_out, active
    )


def launch_sweep(
    pointers: Tensor,
    columns: Tensor,
    inverse_degree: Tensor,
    source: Tensor,
    base: Tensor,
    out: Tensor,
    damping: float,
    omega: float,
    residual: Tensor | None = None,
) -> None:
    """What `gclbench::pull_sweep` does on CUDA."""
    matrices = {"source": source, "base": base, "out": out}
    vectors = {
        "inverse_degree": inverse_degree,
        **({} if residual is None else {"residual": residual}),
    }
    work = _Work(pointers, columns, matrices, vectors)
    apart({"out": out}, {"source": source, "base": base})
    if work.empty:
        if residual is not None:
            residual.zero_()
        return
    parts = work.parts(residual)
    name = (
        "sweep" + ("" if omega == 1.0 else "_relaxed") + ("" if residual is None else "_residual")
    )
    middle: list[Argument] = [
        _address(tensor) for tensor in (inverse_degree, source, base, out, work.partial, parts)
    ]
    work.launch(
        name, [_address(columns)], middle, [c_float(damping), c_float(omega), c_float(1.0 - omega)]
    )
    if parts is not None and residual is not None and parts is not residual:
        torch.sum(parts, dim=0, out=residual)


def launch_push_round(
    pointers: Tensor,
    columns: Tensor,
    inverse_degree: Tensor,
    residue: Tensor,
    threshold: Tensor,
    alpha: float,
    reserve: Tensor,
    residue_out: Tensor,
    active: Tensor,
) -> None:
    """What `gclbench::pull_push_round` does on CUDA."""
    matrices = {"residue": residue, "reserve": reserve, "residue_out": residue_out}
    work = _Work(
        pointers,
        columns,
        matrices,
        {"inverse_degree": inverse_degree, "threshold": threshold, "active": active},
    )
    apart({"residue_out": residue_out, "reserve": reserve}, {"residue": residue})
    apart({"residue_out": residue_out}, {"reserve": reserve})
    if work.empty:
        active.zero_()
        return
    parts = work.parts(active)
    middle: list[Argument] = [
        _address(tensor)
        for tensor in (
            inverse_degree,
            residue,
            threshold,
            reserve,
            residue_out,
            work.partial,
            parts,
        )
    ]
    work.launch("push", [_address(columns)], middle, [c_float(1.0 - alpha), c_float(alpha)])
    if parts is not None and parts is not active:
        active.copy_(torch.sum(parts, dim=0))


# The schemas are written out: torch 2.8 cannot read them from annotations that are strings. No
# argument that is written has a default: torch 2.11 looks for it among those that were given, and
# the dispatcher leaves out what is the default.
pull_sweep = torch.library.custom_op(
    "gclbench::pull_sweep",
    launch_sweep,
    mutates_args=("out", "residual"),
    device_types="cuda",
    schema=(
        "(Tensor pointers, Tensor columns, Tensor inverse_degree, Tensor source, Tensor base,"
        " Tensor(a!) out, float damping, float omega, Tensor(b!)? residual) -> ()"
    ),
)
pull_push_round = torch.library.custom_op(
    "gclbench::pull_push_round",
    launch_push_round,
    mutates_args=("reserve", "residue_out", "active"),
    device_types="cuda",
    schema=(
        "(Tensor pointers, Tensor columns, Tensor inverse_degree, Tensor residue, Tensor threshold,"
        " float alpha, Tensor(a!) reserve, Tensor(b!) residue_out, Tensor(c!) active) -> ()"
    ),
)


def _fake(*arguments: object) -> None:
    """Neither operator returns anything, and neither changes a shape."""


pull_sweep.register_kernel("cpu", pull.sweep)
pull_push_round.register_kernel("cpu", pull.push_round)
pull_sweep.register_fake(_fake)
pull_push_round.register_fake(_fake)
