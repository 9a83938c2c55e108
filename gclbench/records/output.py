"""Where a user's `--output` goes: files, links, devices and pipes."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
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


def ensure_deliverable(path: Path) -> None:
    """Tries whether `deliver` could write here, before long work whose result goes there.

    Nothing is left behind: missing folders are not made, and what is there is not touched.

    Raises:
        OSError: when it could not.
    """
    if _written_through(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    target = path.resolve()
    folder = next(each for each in target.parents if each.exists())
    with tempfile.TemporaryFile(dir=folder):
        pass


def _written_through(path: Path) -> bool:
    """Whether there is something at a path that is no regular file of its own."""
    if str(path.absolute()).startswith(OF_THE_SYSTEM):
        return True
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(found)
