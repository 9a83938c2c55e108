"""Matrices on disk: written through, found again, and a disk that is too small said before anything
is written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import torch

from gclbench.machine import memory_map
from gclbench.machine.memory_map import (
    MAP_ABANDONED_AFTER,
    DiskTooSmall,
    available_memory,
    create,
    create_unnamed,
    is_large,
    opened,
)


def test_what_is_written_is_in_the_file(tmp_path: Path) -> None:
    tensor, path = create(5, 3, tmp_path / "new", "the features")
    assert tensor.shape == (5, 3) and tensor.dtype == torch.float32 and not bool(tensor.any())
    tensor[:, 1] = torch.arange(5.0)
    assert np.load(path)[:, 1].tolist() == [0, 1, 2, 3, 4]
    again = opened(path)
    assert torch.equal(again, tensor)
    again[0, 0] = 7.0
    assert float(np.load(path)[0, 0]) == 0.0, "changes stay in memory"


def test_a_nameless_map_takes_no_name_in_the_folder(tmp_path: Path) -> None:
    tensor = create_unnamed(100, 7, tmp_path, "the features")
    assert list(tmp_path.iterdir()) == []
    tensor.fill_(2.5)
    assert float(tensor.sum()) == 1750.0


def test_maps_of_killed_runs_are_swept_away_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, abandoned = create(100, 7, tmp_path, "the features")
    _, in_use = create(100, 7, tmp_path, "the features")
    entry = tmp_path / "entry.npy"
    entry.write_bytes(b"kept")
    weeks_ago = time.time() - 2 * MAP_ABANDONED_AFTER
    for path in (abandoned, entry):
        os.utime(path, (weeks_ago, weeks_ago))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(
        shutil, "disk_usage", lambda folder: usage(10**6, 0, 0 if abandoned.exists() else 10**6)
    )
    _, new = create(100, 7, tmp_path, "the features")
    assert set(tmp_path.iterdir()) == {in_use, entry, new}, "before the disk is found too small"


def test_a_disk_that_is_too_small_is_said_with_both_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**6, 10**6 - 1000, 1000))
    with pytest.raises(
        DiskTooSmall,
        match=re.escape(
            "the filtered features (100 × 10, 4128 bytes) do not fit in memory and not on the"
            " disk of"
        ),
    ) as caught:
        create(100, 10, tmp_path, "the filtered features")
    assert str(caught.value).count("do not fit") == 1
    assert "which has 1000 bytes free" in str(caught.value) and "GCLBENCH_DATA=FOLDER" in str(
        caught.value
    )
    assert list(tmp_path.iterdir()) == []


def test_a_quota_that_is_used_up_is_a_disk_that_is_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(Path, "touch", full)
    with pytest.raises(
        DiskTooSmall,
        match=(
            r"the features \(100 × 10, 4128 bytes\) do not fit .*, which says: Disk quota"
            r" exceeded; "
        ),
    ):
        create(100, 10, tmp_path, "the features")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_meanwhile_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(memory_map.os, "posix_fallocate", full)
    with pytest.raises(
        DiskTooSmall,
        match="on the disk of .* either, which says: No space left on device; make room there",
    ):
        create(100, 10, tmp_path, "the features")
    assert list(tmp_path.iterdir()) == []


def test_a_map_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy makes the file, then maps it: a process may be out of address space in between."""

    def refused(path: Path, **_: object) -> None:
        path.write_bytes(b"x")
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(memory_map.np.lib.format, "open_memmap", refused)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        create(100, 10, tmp_path, "the features")
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "doubles.npy", np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"holds float64 of shape \(3, 3\), not a float32 matrix"):
        opened(tmp_path / "doubles.npy")


def test_large_is_relative_to_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 10**6 < available_memory() < 1 << 50
    monkeypatch.setattr(memory_map, "available_memory", lambda: 32 * 1000)
    assert not is_large(100, 10)
    assert is_large(101, 10)
