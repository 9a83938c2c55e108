"""Loading machine code onto a GPU and launching it: the few calls of the CUDA driver that torch
does not offer.

Work goes to torch's current stream, in the device's primary context, which is the one torch uses;
so it is ordered with torch's own kernels, can be captured in a CUDA graph, and sees devices as
CUDA_VISIBLE_DEVICES numbers them.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_void_p

import torch

from gclbench.filters.kernels.nvrtc import Unavailable

Argument = ctypes.c_void_p | ctypes.c_longlong | ctypes.c_float | ctypes.Structure

_PROTOTYPES: dict[str, list[type]] = {
    "cuInit": [c_uint],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuModuleLoadData": [POINTER(c_void_p), c_void_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, POINTER(c_void_p), c_void_p],
}


class LaunchError(RuntimeError):
    """The driver refused a launch. CUDA reports errors of earlier kernels here too."""


class Driver:
    """libcuda.

    Raises:
        Unavailable: when there is none or it finds no device.
    """

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
            for name, arguments in _PROTOTYPES.items():
                getattr(self._library, name).argtypes = arguments
        except (OSError, AttributeError) as error:
            raise Unavailable(
                f"NVIDIA's driver library libcuda.so.1 cannot be used ({error})"
            ) from error
        self._contexts: dict[int, c_void_p] = {}
        self._lock = threading.Lock()
        self._check("cuInit", 0)

    @contextmanager
    def context(self, device: int) -> Iterator[None]:
        """The device's primary context is current inside; a thread that has made no CUDA call yet
        has none."""
        with self._lock:
            if device not in self._contexts:
                handle, context = c_int(), c_void_p()
                self._check("cuDeviceGet", byref(handle), device)
                self._check("cuDevicePrimaryCtxRetain", byref(context), handle)
                self._contexts[device] = context
        self._check("cuCtxPushCurrent_v2", self._contexts[device])
        try:
            yield
        finally:
            self._check("cuCtxPopCurrent_v2", byref(c_void_p()))

    def load(self, code: bytes, device: int) -> Module:
        """A module of a cubin or of PTX, which the driver compiles.

        Raises:
            Unavailable: when the driver does not take the code.
        """
        module = c_void_p()
        with self.context(device):
            self._check("cuModuleLoadData", byref(module), code)
        return Module(self, module, device)

    def _check(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            text = c_char_p()
            self._library.cuGetErrorString(status, byref(text))
            kind = LaunchError if function == "cuLaunchKernel" else Unavailable
            raise kind(
                f"{function} failed:"
                f" {(text.value or b'unknown error').decode()} (CUDA error {status})"
            )


class Module:
    """The kernels of one compiled source on one device."""

    def __init__(self, driver: Driver, handle: c_void_p, device: int):
        self._driver, self._handle, self._device = driver, handle, device
        self._functions: dict[str, c_void_p] = {}

    def launch(
        self, name: str, grid: tuple[int, int], block: int, arguments: Sequence[Argument]
    ) -> None:
        """Puts kernel `name` on torch's current stream of the device.

        Args:
            arguments: one ctypes value per parameter, of its exact type; the driver copies them
                before it returns.

        Raises:
            LaunchError: when the driver refuses the launch.
        """
        pointers = (c_void_p * len(arguments))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        stream = torch.cuda.current_stream(self._device).cuda_stream
        with self._driver.context(self._device):
            if name not in self._functions:
                function = c_void_p()
                self._driver._check(
                    "cuModuleGetFunction", byref(function), self._handle, name.encode()
                )
                self._functions[name] = function
            self._driver._check(
                "cuLaunchKernel",
                self._functions[name],
                *grid,
                1,
                block,
                1,
                1,
                0,
                stream,
                pointers,
                None,
            )


@functools.cache
def driver() -> Driver:
    """The one driver of this process (see `Driver` for what it raises)."""
    return Driver()
