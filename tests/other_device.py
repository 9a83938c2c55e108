"""A device that is none: a rehearsal of runs on a GPU, on a machine without one.

A tensor of this device is a `torch.Tensor` that says `device(type='meta')` and holds a CPU tensor.
Each operation on it is computed on what it holds. As a GPU does, it refuses what a GPU refuses: to
mix with tensors of the CPU (a CPU number without dimensions may stand beside it, and CPU indices
may index it), to become a NumPy array, and generators of the CPU. It also refuses what a GPU would
do and a run may not: to draw from a generator that no seed of the run has set.

    with rehearsal():
        x = torch.rand(3, 4).to(DEVICE)
        (x + torch.rand(3, 4))      # DeviceFault
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils import _foreach_utils
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from gclbench.training.streams import Streams, drawing_from

DEVICE = "meta"

aten = torch.ops.aten

CROSSING = {aten._to_copy.default, aten.copy_.default}
"""What takes a tensor from one device to another."""

INDEXED_BY_CPU = {
    aten.index.Tensor,
    aten.index_put_.default,
    aten.index_put.default,
    aten._index_put_impl_.default,
    aten._unsafe_index.Tensor,
}
"""What a GPU also does with indices on the CPU."""


class DeviceFault(RuntimeError):
    """What would fail on a GPU, or be another number than the seed says."""


class Elsewhere(Tensor):
    """A tensor of the device.

    Attributes:
        inner: the CPU tensor with its numbers.
    """

    inner: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor) -> Elsewhere:
        dense = inner.layout == torch.strided
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride() if dense else None,
            storage_offset=inner.storage_offset() if dense else None,
            dtype=inner.dtype,
            device=DEVICE,
        )
        made.inner = inner
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Elsewhere({self.inner})"

    def tolist(self) -> Any:
        if _quiet:
            raise DeviceFault("tolist() waits for the device, which nothing may here")
        return self.inner.tolist()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A file holds the numbers; whoever reads it says on which device."""
        return self.inner.__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})


class _Here(TorchDispatchMode):
    """Sees operations that no tensor of the device takes part in: what makes one."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})


def computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation's result, on the device that it would be on.

    Raises:
        DeviceFault: for what a GPU refuses, and for chance that no seed sets.
    """
    given = [item for item in tree_flatten((args, kwargs))[0] if isinstance(item, Tensor)]
    there = [item for item in given if isinstance(item, Elsewhere)]
    asked = kwargs.get("device")
    target = bool(there) if asked is None else torch.device(asked).type == DEVICE
    _refuse(func, args, given, there, target)
    if _quiet and _waits(func, args, there, target):
        raise DeviceFault(f"{func} waits for the device, which nothing may here")
    wrappers = {id(item.inner): item for item in there}
    if asked is not None:
        kwargs = {**kwargs, "device": "cpu"}
    result = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
    if func is aten.copy_.default:
        return args[0]
    if not target:
        return result

    def placed(item: Any) -> Any:
        if not isinstance(item, Tensor):
            return item
        known = wrappers.get(id(item))
        return Elsewhere(item) if known is None else known

    return tree_map(placed, result)


def _refuse(
    func: Any, args: Any, given: list[Tensor], there: list[Elsewhere], target: bool
) -> None:
    draws = target and torch.Tag.nondeterministic_seeded in func.tags and _draws(func, args)
    if draws and not _seeded:
        raise DeviceFault(f"{func} draws on the device: no seed of the run sets its generator")
    if func in CROSSING or not there:
        return
    if func in INDEXED_BY_CPU:
        given = [args[0], *args[2:3]]
        there = [item for item in given if isinstance(item, Elsewhere)]
    plain = [item for item in given if not isinstance(item, Elsewhere) and item.dim() > 0]
    written = func._schema.name.endswith("_") or "out" in func._overloadname
    if plain or (written and there and not isinstance(args[0], (Elsewhere, list, tuple))):
        shapes = ", ".join(
            f"{'meta' if isinstance(item, Elsewhere) else 'cpu'} {tuple(item.shape)}"
            for item in given
        )
        raise DeviceFault(f"{func} takes tensors of two devices: {shapes}")


_seeded: list[torch.Generator] = []
"""The stream that the device's generator goes on from; empty outside `drawing_from`."""


@contextlib.contextmanager
def _drawing_from(generator: torch.Generator) -> Iterator[None]:
    """`drawing_from`, which says that the device's generator is a stream of the run's."""
    with drawing_from(generator):
        _seeded.append(generator)
        try:
            yield
        finally:
            _seeded.pop()


_quiet: list[bool] = []
"""Not empty where the device must not be asked for a number."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within the block of a rehearsal nothing may wait for the device, as while a CUDA graph is
    recorded: no number or shape that depends on its tensors, no copy from or to the CPU."""

    def here_only(make: Any) -> Any:
        def made(*given: Any, device: Any = None, **settings: Any) -> Tensor:
            if device is not None and torch.device(device).type == DEVICE:
                raise DeviceFault("numbers of the CPU: their copy waits for the device")
            return make(*given, device=device, **settings)

        return made

    _quiet.append(True)
    try:
        # Dispatch does not see these.
        with (
            mock.patch.object(torch, "tensor", here_only(torch.tensor)),
            mock.patch.object(torch, "as_tensor", here_only(torch.as_tensor)),
        ):
            yield
    finally:
        _quiet.pop()


def _waits(func: Any, args: Any, there: list[Elsewhere], target: bool) -> bool:
    """Whether a GPU would be waited for."""
    if func in CROSSING:
        given = [item for item in tree_flatten(args)[0] if isinstance(item, Tensor)]
        mixed = len({isinstance(item, Elsewhere) for item in given}) == 2
        return mixed or bool(there) != target
    if not there:
        return False
    if func in INDEXED_BY_CPU:
        chosen = [index for index in args[1] if isinstance(index, Tensor)]
        return any(i.dtype == torch.bool or not isinstance(i, Elsewhere) for i in chosen)
    waits = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
    return bool(waits & set(func.tags))


DRAWING = ("arga", "gae", "graph_classifier", "supervised")
"""Methods' files that draw so."""


def _draws(func: Any, args: Any) -> bool:
    """Whether it really draws: dropout with probability 0 or outside training does not."""
    return func is not aten.native_dropout.default or (bool(args[1]) and args[2] is not False)


def _inner(item: Any) -> Any:
    return item.inner if isinstance(item, Elsewhere) else item


def _sparse_product(name: str) -> Any:
    """A patch: torch decides by a tensor's layout, which a subclass cannot have."""
    real = getattr(torch.sparse, name)

    def product(*tensors: Tensor, **settings: Any) -> Tensor:
        there = [isinstance(tensor, Elsewhere) for tensor in tensors]
        if not any(there):
            return real(*tensors, **settings)
        if not all(there):
            raise DeviceFault(f"torch.sparse.{name} takes tensors of two devices")
        with torch.no_grad():
            return Elsewhere(real(*map(_inner, tensors), **settings))

    return mock.patch.object(torch.sparse, name, product)


@contextlib.contextmanager
def rehearsal() -> Iterator[None]:
    """Within the block `DEVICE` is a device that tensors can be taken to."""
    real = Streams.torch
    fused = _foreach_utils._get_fused_kernels_supported_devices()
    with (
        contextlib.ExitStack() as stack,
        _sparse_product("mm"),
        _sparse_product("sampled_addmm"),
        # A stream of the device's own; there is no generator on a device that is none.
        mock.patch.object(Streams, "torch", lambda self, name, device="cpu": real(self, name)),
        mock.patch(
            "torch.optim.optimizer._get_fused_kernels_supported_devices",
            lambda: [*fused, DEVICE],
        ),
        _Here(),
    ):
        for name in DRAWING:
            module = importlib.import_module(f"gclbench.methods.{name}")
            stack.enter_context(mock.patch.object(module, "drawing_from", _drawing_from))
        yield
