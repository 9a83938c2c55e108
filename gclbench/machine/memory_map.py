"""Matrices of features that may be larger than memory: on disk, mapped, as torch tensors.

The system keeps as much of a map in memory as there is room for and drops the rest, so a map never
makes a run fail for lack of memory.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import uuid
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gclbench.machine.free_memory import available_memory
from gclbench.records.atomic import sweep_away_abandoned

SHARE = 8
"""A matrix goes to disk when it is larger than the free memory divided by this: a run holds a few
of them."""

MAPS = re.compile(r"\.[0-9a-f]{32}\.npy\.tmp")
"""Names of maps that are being filled."""

MAP_ABANDONED_AFTER = 7 * 24 * 3600.0
"""Seconds. A system may date a mapped file when it writes it back, late, or never: only an age that
no filter takes is a sign."""


class DiskTooSmall(OSError):
    """A memory map does not fit; the text says how much is needed and how much is free."""


def is_large(rows: int, columns: int) -> bool:
    """Whether a float32 matrix of this size should be on disk."""
    return 4 * rows * columns * SHARE > available_memory()


def fits(rows: int, columns: int) -> bool:
    """Whether the memory would hold it after all, with half as much again left for the work."""
    return 6 * rows * columns <= available_memory()


def create(rows: int, columns: int, folder: Path, what: str) -> tuple[Tensor, Path]:
    """A new float32 matrix of zeros in an .npy file of its own: the tensor, which writes through to
    the file, and the file.

    Args:
        folder: made when it is not there. what: the matrix's name, for messages.

    Raises:
        DiskTooSmall: before anything is written, when the file would not fit.
        OSError: when the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    needed = 4 * rows * columns + 128
    path = folder / f".{uuid.uuid4().hex}.npy.tmp"
    try:
        path.touch(exist_ok=False)
        # What killed runs left may be what fills the disk.
        sweep_away_abandoned(path, MAPS, MAP_ABANDONED_AFTER)
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise _too_small(
                f"{what} ({rows} × {columns}, {needed} bytes)", folder, f"has {free} bytes free"
            )
        mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, columns))
        # Claims the blocks: a disk that fills up later would otherwise kill the process in the
        # middle of a write.
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except BaseException as error:
        path.unlink(missing_ok=True)
        # A quota, or somebody else's file in the meantime.
        if (
            isinstance(error, OSError)
            and not isinstance(error, DiskTooSmall)
            and error.errno in (errno.ENOSPC, errno.EDQUOT)
        ):
            raise _too_small(
                f"{what} ({rows} × {columns}, {needed} bytes)", folder, f"says: {error.strerror}"
            ) from error
        raise
    return torch.from_numpy(mapped), path


def _too_small(what: str, folder: Path, but: str) -> DiskTooSmall:
    return DiskTooSmall(
        errno.ENOSPC,
        f"{what} do not fit in memory and not on the disk of {folder} either, which {but}; "
        "make room there, or name another folder: GCLBENCH_DATA=FOLDER",
    )


def create_unnamed(rows: int, columns: int, folder: Path, what: str) -> Tensor:
    """Like `create`, with a file without a name: its space is free again when the tensor is."""
    tensor, path = create(rows, columns, folder, what)
    path.unlink()
    return tensor


def opened(path: Path) -> Tensor:
    """The float32 matrix in an .npy file, mapped: changes stay in memory.

    Raises:
        ValueError: when the file holds something else or is cut short.
    """
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    if array.dtype != np.float32 or array.ndim != 2:
        raise ValueError(f"{path} holds {array.dtype} of shape {array.shape}, not a float32 matrix")
    return torch.from_numpy(array)
