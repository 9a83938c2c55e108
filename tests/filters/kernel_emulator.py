"""The CUDA kernel's own source, compiled by g++ and run on the host one thread at a time
(kernel_emulator.h), in place of a GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

import gclbench.filters.kernels
from gclbench.filters.kernels import cuda

SOURCE = Path(gclbench.filters.kernels.__file__).with_name("pull.cu")
HEADER = Path(__file__).with_name("kernel_emulator.h")


class Emulated:
    """Stands in for gclbench.filters.kernels.driver.Module."""

    def __init__(self, library: Path):
        self._library = ctypes.CDLL(str(library))
        self.launched: list[tuple[str, tuple[int, int]]] = []
        self.tensors: list[Tensor] = []
        """Those that may be read and written; none: anything may."""

    def launch(
        self, name: str, grid: tuple[int, int], block: int, arguments: Sequence[Any]
    ) -> None:
        self.launched.append((name, grid))
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        begins = (ctypes.c_void_p * len(self.tensors))(
            *(tensor.data_ptr() for tensor in self.tensors)
        )
        ends = (ctypes.c_void_p * len(self.tensors))(
            *(tensor.data_ptr() + tensor.nbytes for tensor in self.tensors)
        )
        self._library.allow(len(self.tensors), begins, ends)
        self._library.emulate.restype = ctypes.c_char_p
        failure = self._library.emulate(name.encode(), *grid, block, pointers)
        if failure:
            raise RuntimeError(failure.decode())


class Emulator:
    """Compiles each shape of work at first use."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.modules: dict[tuple[int, int, int], Emulated] = {}

    def module(self, device: int, storage_bytes: int, pack: int, lanes: int) -> Emulated:
        key = (storage_bytes, pack, lanes)
        if key not in self.modules:
            library = self.folder / f"kernel_{storage_bytes}_{pack}_{lanes}.so"
            macros = [
                f"-D{name}={value}"
                for name, value in cuda.definitions(storage_bytes, pack, lanes).items()
            ]
            flags = [
                "-std=c++17",
                "-O1",
                "-ffp-contract=off",
                "-fno-strict-aliasing",
                "-fno-gnu-unique",
                "-shared",
                "-fPIC",
                "-x",
                "c++",
            ]
            command = [
                "g++",
                *flags,
                *macros,
                f'-DKERNEL_SOURCE="{SOURCE}"',
                str(HEADER),
                "-o",
                str(library),
            ]
            subprocess.run(command, check=True, capture_output=True, text=True)
            self.modules[key] = Emulated(library)
        return self.modules[key]

    @property
    def launched(self) -> list[tuple[str, tuple[int, int]]]:
        return [launch for module in self.modules.values() for launch in module.launched]


@pytest.fixture(scope="session")
def emulated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed; it compiles the kernel's source for the host")
    return tmp_path_factory.mktemp("emulated_kernel")
