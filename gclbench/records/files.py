"""The files of a store: which there are and what is in them, damaged ones included."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gclbench.records.store_warnings import UNREADABLE, StoreWarnings

RECORD = "record.json"
PACKED = ".jsonl"

OF_OTHERS = frozenset({"mlruns", "wandb"})
"""Folders of other tools that may lie in a store; no record is in them."""


def lines(root: Path, warnings: StoreWarnings) -> Iterator[tuple[str, bytes]]:
    """(where it is, content) of every record under a folder, one file per run first, then the lines
    of packed files."""
    single, packed = _paths(root, warnings)
    for path in sorted(single):
        found = _read(path, warnings)
        if found is not None:
            yield path, found
    for path in sorted(packed):
        # JSON strings may hold other line ends of Unicode as they are: only \n ends a record.
        for number, line in enumerate((_read(path, warnings) or b"").split(b"\n"), start=1):
            if line.strip():
                yield f"{path} line {number}", line


def content(path: str | os.PathLike[str]) -> bytes:
    """What a regular file holds.

    Raises:
        OSError: when it cannot be read, is not a file, or has no end, such as a pipe.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is neither a file nor a folder", str(path))
        parts = []
        while part := os.read(descriptor, max(found.st_size + 1, 1 << 16)):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _read(path: str, warnings: StoreWarnings) -> bytes | None:
    """The content, or None where there is none to read: a warning names it, unless it has just
    gone."""
    try:
        return content(path)
    except FileNotFoundError:
        if Path(path).is_symlink():
            warnings.add(
                UNREADABLE, f"{path} cannot be read: it is a link to nothing; it is left out"
            )
    except OSError as error:
        warnings.add(
            UNREADABLE, f"{path} cannot be read: {error.strerror or error}; it is left out"
        )
    return None


def _paths(root: Path, warnings: StoreWarnings) -> tuple[list[str], list[str]]:
    """Files of single records and packed files under a folder; links to folders are followed, in
    circles only once."""
    single: list[str] = []
    packed: list[str] = []
    folders = [str(root)]
    linked: set[Path] = set()
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == RECORD:
                        single.append(entry.path)
                    elif entry.name.endswith(PACKED):
                        packed.append(entry.path)
                    if entry.name not in OF_OTHERS and _leads_on(entry, linked):
                        folders.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            warnings.add(
                UNREADABLE,
                f"{folder} cannot be listed: {error.strerror or error}; what is in it is left out",
            )
    return single, packed


def _leads_on(entry: os.DirEntry[str], linked: set[Path]) -> bool:
    """Whether an entry is a folder to look into."""
    if not entry.is_symlink():
        return entry.is_dir(follow_symlinks=False)
    try:
        target = Path(entry.path).resolve()
        if (
            not target.is_dir()
            or target in linked
            or Path(entry.path).parent.resolve().is_relative_to(target)
        ):
            return False
    except (OSError, RuntimeError):  # links in a circle
        return False
    linked.add(target)
    return True
