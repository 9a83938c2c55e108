"""Where a user's `--output` goes: files, links, devices and pipes."""

from __future__ import annotations

import stat
from pathlib import Path

from gclbench.records.atomic import write_atomically

OF_THE_SYSTEM = ("/dev/", "/proc/")
"""Names under them stand for what is open already, such as standard output."""


def deliver(path: Path, content: bytes) -> str:
    """Writes what a user asked for where they asked for it.

    A regular file is there whole or stays as it was; a link stays, and what it leads to is
    written; a device or a pipe is written through. Folders that are missing are made.

    Returns:
        `, made the folder a/b`, where one was made; else "".

    Raises:
        OSError: when it cannot be written.
    """
    if _written_through(path):
        with open(path, "wb", buffering=0) as file:
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
        return ""
    target = path.resolve()
    missing = not target.parent.is_dir()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content)
    return f", made the folder {path.parent}" if missing else ""


def _written_through(path: Path) -> bool:
    """Whether there is something at a path that is no regular file of its own."""
    if str(path.absolute()).startswith(OF_THE_SYSTEM):
        return True
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(found)
