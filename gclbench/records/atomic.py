"""Files that are there whole or not at all, with any number of writers."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links answer."""

ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file counts as abandoned: its writer was killed in the
middle."""

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp")

Content = bytes | Callable[[BinaryIO], object]
"""What is to be in a file, or what writes it into an open one."""


def write_atomically(path: Path, content: Content) -> None:
    """Writes a file under a temporary name beside `path`, flushes it to disk and renames it.

    Raises:
        OSError: when it cannot be written; nothing of it is left, and what was there stays.
    """
    with _written(path, content) as temporary:
        os.replace(temporary, path)


def write_unless(path: Path, content: bytes, stays: Callable[[Path], bool]) -> bool:
    """Writes a file unless the one that is there is to be kept, also when two writers write at the
    same moment.

    A file that is not to be kept is moved aside and judged again before it is replaced, so that no
    other file can come between the judgement and the writing. For that moment there is no file.
    Without hard links, a writer that comes in that moment may be overwritten.

    Args:
        stays: whether the file at a path is to be kept.

    Returns:
        whether it was written; not, when one that stays was there or somebody else has just
        written.

    Raises:
        OSError: as `write_atomically`.
    """
    with _written(path, content) as temporary:
        for _ in range(2):
            try:
                os.link(temporary, path)
                return True
            except FileExistsError:
                pass
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                if path.exists() and stays(path):
                    return False
                os.replace(temporary, path)
                return True
            if stays(path):
                # Not even taken aside: a writer that is killed at that moment would have lost it.
                return False
            aside = beside(path)
            with contextlib.suppress(FileNotFoundError):
                path.rename(aside)
                kept = stays(aside)
                try:
                    os.link(aside if kept else temporary, path)
                    return not kept
                except FileExistsError:
                    return False
                except OSError:
                    aside.rename(path)
                    raise
                finally:
                    with contextlib.suppress(OSError):
                        aside.unlink()
    return False


@contextlib.contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Waits until no other process has its turn in a folder, for those that read a file, change it
    and write it again.

    The turn of a process that is killed ends with it. Where the system or the file system has no
    locks of folders (Windows, some network file systems), nobody waits.

    Args:
        folder: an existing one.
    """
    descriptor: int | None = None
    try:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def _written(path: Path, content: Content) -> Iterator[Path]:
    """The content on disk under another name, which is gone afterwards."""
    temporary = beside(path)
    try:
        with open(temporary, "xb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
        sweep_away_abandoned(temporary)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def sweep_away_abandoned(
    fresh: Path, names: re.Pattern[str] = TEMPORARY, after: float = ABANDONED_AFTER
) -> None:
    """Removes temporary files of writers that were killed.

    Args:
        fresh: a file that has just been written in their folder: its time is now, by the file
            system's clock; those of nodes differ.
        names: of the files that may go. after: seconds since they were last written.
    """
    with contextlib.suppress(OSError):
        now = fresh.stat().st_mtime
        with os.scandir(fresh.parent) as entries:
            for entry in entries:
                if names.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        if now - entry.stat(follow_symlinks=False).st_mtime > after:
                            Path(entry.path).unlink()


def beside(path: Path) -> Path:
    """A name for a temporary file in the folder of `path`: hidden, and no other writer's."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
