"""What a run ran on: library versions, commit, device, instructions, memory, cache folder.

Imports torch only where it must ask it.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import importlib.util
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

from gclbench.machine.paths import expanded

CHANGED = "+changes"
"""Ends the commit of a source tree whose code differs from it."""

LIBRARIES = (
    "torch",
    "torch-geometric",
    "numpy",
    "scipy",
    "scikit-learn",
    "hydra-core",
    "omegaconf",
)


@functools.cache
def versions() -> dict[str, str]:
    """Versions of gclbench, Python and the libraries that numbers depend on, the platform and the
    git commit.

    That of torch is `torch.__version__`, which names the build: `2.13.0+cpu`, `2.13.0+cu130`.
    """
    found = {
        "gclbench": version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "not installed"
    found["torch"] = _torch_build() or found["torch"]
    found["commit"] = _commit()
    return found


def _torch_build() -> str | None:
    """`torch.__version__`, read from torch's source where torch is not imported yet; None where it
    cannot be found.

    The installed distribution's version lacks the build for wheels from PyPI.
    """
    loaded = sys.modules.get("torch")
    if loaded is not None:
        return str(loaded.__version__)
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        source = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id="__version__")], value=ast.Constant(value=str(found))
                ):
                    return found
    except (OSError, ValueError, SyntaxError):
        pass
    return None


def threads() -> int:
    """Threads that torch computes with in this process."""
    import torch

    return torch.get_num_threads()


def instructions() -> str:
    """The vector instructions of torch's own loops on the processor: `AVX2`, `AVX512`, or
    `DEFAULT` without.

    They are the widest that torch finds, unless `ATEN_CPU_CAPABILITY` names narrower ones.
    """
    import torch

    return torch.backends.cpu.get_cpu_capability()


def version() -> str:
    """gclbench's own version."""
    try:
        return importlib.metadata.version("gclbench")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def cache_folder() -> Path:
    """Where gclbench keeps what it can make again: GCLBENCH_DATA, or `gclbench` in the user's cache
    folder."""
    chosen = os.environ.get("GCLBENCH_DATA")
    if chosen:
        return Path(expanded(chosen))
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "gclbench"
    )


def device_name(device: str) -> str:
    """The GPU's name, or the processor's."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    return (
        f"{_processor()},"
        f" {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}"
        " cores"
    )


class PeakMemory:
    """Peak memory between construction and `read`, in bytes."""

    def __init__(self, device: str):
        self._device = device
        self._own_peak = _reset_high_water_mark()
        if device.startswith("cuda"):
            import torch

            torch.cuda.reset_peak_memory_stats(device)

    def read(self) -> dict[str, int]:
        """`rss_peak` of the process; `gpu_allocated` and `gpu_reserved` on a GPU.

        `rss_peak` counts from construction where the kernel lets it be reset, else from the start
        of the process.
        """
        peak = {
            "rss_peak": (
                _high_water_mark()
                if self._own_peak
                else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            )
        }
        if self._device.startswith("cuda"):
            import torch

            peak["gpu_allocated"] = torch.cuda.max_memory_allocated(self._device)
            peak["gpu_reserved"] = torch.cuda.max_memory_reserved(self._device)
        return peak


def _reset_high_water_mark() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _high_water_mark() > 0
    except OSError:
        return False


def _high_water_mark() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


@functools.cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@functools.cache
def _commit() -> str:
    """The commit of the source tree the package runs from, with `+changes` when its code differs
    from it. A tree that was copied without its .git has the one that GCLBENCH_COMMIT names."""
    root = Path(__file__).resolve().parent.parent.parent
    if not (root / ".git").exists():
        return os.environ.get("GCLBENCH_COMMIT") or "none (installed from a package)"
    try:
        commit = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
        )
        changed = subprocess.run(
            ["git", "-C", str(root), "status", "--porcelain", "--", "gclbench", "configs"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return (
        commit.stdout.strip() + (CHANGED if changed.stdout.strip() else "")
        if commit.returncode == 0
        else "unknown"
    )
