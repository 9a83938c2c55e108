"""`--output` writes where it is told: special files stay what they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from gclbench.records import deliver, ensure_deliverable


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to("real.html")
    (tmp_path / "dangling.html").symlink_to("later.html")
    for name in ("link.html", "dangling.html"):
        assert deliver(tmp_path / name, b"new") == ""
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "real.html").read_text() == "new"
    assert (tmp_path / "later.html").read_text() == "new"


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert deliver(pipe, b"x" * 200_000) == ""
    reader.join()
    assert read == [b"x" * 200_000] and pipe.is_fifo()


def test_devices_stay_devices() -> None:
    assert deliver(Path("/dev/null"), b"gone") == ""
    with pytest.raises(OSError, match="No space left"):
        deliver(Path("/dev/full"), b"too much")
    for name in ("/dev/null", "/dev/full"):
        assert Path(name).is_char_device()


def test_standard_output_is_no_file_to_replace(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with open(target, "wb") as file:
        file.write(b"before ")
        file.flush()
        deliver(Path(f"/dev/fd/{file.fileno()}"), b"x")
        assert os.fstat(file.fileno()).st_ino == target.stat().st_ino


def test_a_missing_folder_is_made_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert deliver(folder / "x.csv", b"1") == f", made the folder {folder}"
    assert deliver(folder / "x.csv", b"2") == ""
    assert (folder / "x.csv").read_text() == "2"
    with pytest.raises(IsADirectoryError):
        deliver(folder, b"3")


@pytest.mark.parametrize("name", ["new.csv", "old.csv", "a/b/new.csv"])
def test_a_place_is_tried_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / "old.csv").write_bytes(b"old")
    ensure_deliverable(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["folder.csv", "old.csv/new.csv", "old.csv/a/new.csv"])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "old.csv").write_bytes(b"old")
    with pytest.raises(OSError):
        ensure_deliverable(tmp_path / name)
    with pytest.raises(OSError):
        deliver(tmp_path / name, b"new")
