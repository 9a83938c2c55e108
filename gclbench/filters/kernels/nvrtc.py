"""CUDA source to machine code through NVRTC, NVIDIA's run-time compiler, with a cache on disk.

Needs no GPU, nvcc or torch.

NVRTC is reached through ctypes: its C interface is the same from CUDA 11.2 to 13, it compiles for
any architecture on a machine without a GPU, and it returns machine code (a cubin) that can be
kept. torch's own wrapper is private, returns PTX only and asks for a GPU; cuda-core would be one
more dependency for the same six calls.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import json
import logging
import os
import re
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path

from gclbench.records.atomic import write_atomically

log = logging.getLogger(__name__)

OPTIONS = ("--std=c++17",)


class Unavailable(RuntimeError):
    """The kernel cannot be built or run here; the text says why and what would help."""


class CompileError(RuntimeError):
    """NVRTC rejected the source; the text holds its log."""


class Compiler:
    """One NVRTC library.

    Args:
        path: of libnvrtc.so.

    Attributes:
        version: (major, minor) of its CUDA.
        architectures: compute capabilities it compiles for, such as 90 for 9.0, ascending.

    Raises:
        Unavailable: when the library cannot be loaded.
    """

    def __init__(self, path: str | Path):
        self.path = str(path)
        try:
            # NVRTC opens its builtins by name alone when it first compiles, which finds those
            # beside it only once they are loaded.
            beside = Path(self.path).resolve().parent.glob("libnvrtc-builtins*.so*")
            self._builtins = [
                ctypes.CDLL(str(path)) for path in sorted(beside) if ".alt." not in path.name
            ]
            self._library = ctypes.CDLL(self.path)
            for name, arguments in _PROTOTYPES.items():
                getattr(self._library, name).argtypes = arguments
        except (OSError, AttributeError) as error:
            raise Unavailable(f"{self.path} is no usable NVRTC ({error})") from error
        self._library.nvrtcGetErrorString.restype = c_char_p
        major, minor, count = c_int(), c_int(), c_int()
        self._check("nvrtcVersion", byref(major), byref(minor))
        self.version = (major.value, minor.value)
        self._check("nvrtcGetNumSupportedArchs", byref(count))
        found = (c_int * count.value)()
        self._check("nvrtcGetSupportedArchs", found)
        self.architectures = tuple(sorted(found))

    def compile(self, source: str, options: tuple[str, ...], name: str = "kernel.cu") -> bytes:
        """Machine code of `source`, or PTX when the options name a virtual architecture
        (`compute_90`).

        Raises:
            CompileError: with NVRTC's log.
        """
        program = c_void_p()
        self._check(
            "nvrtcCreateProgram", byref(program), source.encode(), name.encode(), 0, None, None
        )
        try:
            flags = [option.encode() for option in options]
            status = self._library.nvrtcCompileProgram(
                program, len(flags), (c_char_p * len(flags))(*flags)
            )
            told = self._read(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
            log.debug("NVRTC %s on %s: %s", self, name, told)
            if status:
                text = self._library.nvrtcGetErrorString(status).decode()
                raise CompileError(
                    f"NVRTC {self} could not compile {name}"
                    f" with {' '.join(options)}: {text}\n{told}"
                )
            virtual = any("=compute_" in option for option in options)
            return self._read(program, "PTX" if virtual else "CUBIN")
        finally:
            self._library.nvrtcDestroyProgram(byref(program))

    def target(self, capability: int) -> str:
        """What to compile for a device: its own architecture, or PTX of the newest older one for
        the driver to finish.

        Args:
            capability: 10 × major + minor.

        Raises:
            Unavailable: when the device is older than anything this NVRTC knows.
        """
        if capability in self.architectures:
            return f"sm_{capability}"
        older = [known for known in self.architectures if known < capability]
        if not older:
            raise Unavailable(
                f"NVRTC {self} compiles for compute capability {self.architectures[0] / 10} and"
                f" newer, and this GPU has {capability / 10}; a torch built for an older CUDA"
                " brings an NVRTC that knows it"
            )
        return f"compute_{older[-1]}"

    def _read(self, program: c_void_p, what: str) -> bytes:
        size = c_size_t()
        self._check(f"nvrtcGet{what}Size", program, byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(f"nvrtcGet{what}", program, buffer)
        return buffer.raw

    def _check(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            raise Unavailable(
                f"{function} of {self.path} failed:"
                f" {self._library.nvrtcGetErrorString(status).decode()}"
            )

    def __str__(self) -> str:
        return ".".join(map(str, getattr(self, "version", ("?",))))


_PROTOTYPES: dict[str, list[type]] = {
    "nvrtcGetErrorString": [c_int],
    "nvrtcVersion": [POINTER(c_int), POINTER(c_int)],
    "nvrtcGetNumSupportedArchs": [POINTER(c_int)],
    "nvrtcGetSupportedArchs": [POINTER(c_int)],
    "nvrtcCreateProgram": [POINTER(c_void_p), c_char_p, c_char_p, c_int, c_void_p, c_void_p],
    "nvrtcCompileProgram": [c_void_p, c_int, POINTER(c_char_p)],
    "nvrtcDestroyProgram": [POINTER(c_void_p)],
    **{
        f"nvrtcGet{what}{suffix}": [c_void_p, POINTER(c_size_t) if suffix else c_char_p]
        for what in ("ProgramLog", "PTX", "CUBIN")
        for suffix in ("Size", "")
    },
}


def candidates(cuda: str | None = None) -> Iterator[Path]:
    """Every NVRTC library of this machine: those that came with torch or pip first, then the
    system's.

    Args:
        cuda: version that torch was built with (torch.version.cuda); libraries of its major version
            come first, because the driver that runs torch takes their code.
    """
    found: list[Path] = []
    # NVIDIA's wheels: nvidia/cuda_nvrtc/lib for CUDA 12, nvidia/cu13/lib for 13; older torch wheels
    # carry it in torch/lib.
    for package, pattern in (("nvidia", "*/lib"), ("torch", "lib")):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found += sorted(
                file
                for folder in Path(place).glob(pattern)
                for file in folder.glob("libnvrtc*.so*")
            )
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            found += sorted(Path(os.environ[variable]).glob("lib64/libnvrtc.so*"))
    found += sorted(Path("/usr/local").glob("cuda*/lib64/libnvrtc.so*"), reverse=True)
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")):
        found += sorted(Path(folder).glob("libnvrtc.so*"))
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"):
        found += sorted(Path(folder).glob("libnvrtc.so*"))
    # `.alt` builds and the builtins that NVRTC loads by itself lie beside it.
    libraries = [
        path
        for path in dict.fromkeys(found)
        if re.fullmatch(r"libnvrtc(-[0-9a-f]+)?\.so[.\d]*", path.name)
    ]
    wanted = f".so.{cuda.partition('.')[0]}" if cuda else ""
    yield from sorted(libraries, key=lambda path: wanted not in path.name)


@functools.cache
def find(cuda: str | None = None) -> Compiler:
    """The first NVRTC that loads (see `candidates`).

    Raises:
        Unavailable: naming what was tried and what to install.
    """
    tried = []
    for path in candidates(cuda):
        try:
            return Compiler(path)
        except Unavailable as error:
            tried.append(str(error))
    seen = (
        "; ".join(tried)
        or "none in torch's and NVIDIA's packages, CUDA_HOME, /usr/local/cuda*, LD_LIBRARY_PATH or"
        " /usr/lib"
    )
    raise Unavailable(
        f"no NVRTC library could be loaded ({seen}); pip install 'gclbench[cuda]' brings one"
    )


def built(
    compiler: Compiler, source: str, target: str, definitions: dict[str, int], folder: Path | None
) -> bytes:
    """Machine code of `source`, from `folder` when it was compiled before.

    Args:
        target: `sm_90`, or `compute_90` for PTX. definitions: preprocessor macros.
        folder: of the cache; a file is named by the hash of source, target, definitions, options
            and NVRTC's version. None: no cache. A folder that cannot be written costs a warning; a
            damaged file is reported and made again.

    Raises:
        CompileError: with NVRTC's log.
    """
    options = (
        f"--gpu-architecture={target}",
        *OPTIONS,
        *(f"-D{name}={value}" for name, value in sorted(definitions.items())),
    )
    if folder is None:
        return compiler.compile(source, options)
    text = json.dumps([source, options, compiler.version])
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.cubin"
    code = _read(path)
    if code is None:
        code = compiler.compile(source, options)
        _write(path, code)
    return code


def _read(path: Path) -> bytes | None:
    """The code of a cache file, whose first 32 bytes are the sha256 of the rest; None when there is
    none or it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning(
            "the compiled kernel %s cannot be read (%s); compiling again", path, error.strerror
        )
        return None
    if len(content) <= 32 or hashlib.sha256(content[32:]).digest() != content[:32]:
        log.warning("the compiled kernel %s is damaged; compiling again", path)
        return None
    return content[32:]


def _write(path: Path, code: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, hashlib.sha256(code).digest() + code)
    except OSError as error:
        log.warning(
            "the compiled kernel is not kept: %s cannot be written (%s); GCLBENCH_DATA sets the"
            " cache folder",
            path.parent,
            error.strerror,
        )
