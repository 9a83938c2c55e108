"""How much memory is left, of the machine and within the limits that a process has."""

from __future__ import annotations

import contextlib
from pathlib import Path

LIMITS = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Controllers of a group, as /proc/self/cgroup has them, to its files: limit and use."""


def available_memory() -> int:
    """Bytes of memory that can be had without swapping, of the machine and within the limits of the
    process's control groups, which containers and Slurm set; a huge number where the system does
    not say."""
    found = [1 << 62, *_left_in_groups()]
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
    return max(0, min(found))


def _left_in_groups(cgroups: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> list[int]:
    """Bytes that each control group of this process leaves it, for those with a limit (versions 1
    and 2)."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for line in Path(cgroups).read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            top = Path(root, controllers)
            files = LIMITS[controllers]
            for folder in (top / path.lstrip("/"), *(top / path.lstrip("/")).parents):
                with contextlib.suppress(OSError, ValueError):
                    most, used = (int((folder / name).read_text()) for name in files)
                    found.append(most - used + _cached(folder))
                if folder == top:
                    break
    return found


def _cached(folder: Path) -> int:
    """Bytes of the files in memory of a group and those below it that the kernel drops first."""
    with contextlib.suppress(OSError, ValueError):
        lines = (folder / "memory.stat").read_text().splitlines()
        found = {name: int(value) for name, value in (line.split() for line in lines)}
        # In version 1 the plain one is of the group alone.
        return found.get("total_inactive_file", found.get("inactive_file", 0))
    return 0
