"""Files that are checked by git's id of their content, where no sha256 was published."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from gclbench.data import catalog, mirror
from gclbench.data.dataset_info import DatasetInfo, RawFile

PATH = "Toy/raw/toy.txt"
RIGHT, WRONG = b"what is up, doc?", b"other bytes"
BLOB = "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
"""Of RIGHT, as the book Pro Git prints it (section 10.2, Git Objects)."""
SHA = hashlib.sha256(RIGHT).hexdigest()


def page(sha256: tuple[str, ...] = (), blob: str = BLOB) -> DatasetInfo:
    return DatasetInfo("toy", "", "", "", files=(RawFile(PATH, sha256, (), git_blob=blob),))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the mirror would have the file."""
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path / "m"))
    path = tmp_path / "m" / PATH
    path.parent.mkdir(parents=True)
    return path


def test_the_right_bytes_are_known_by_their_id(place: Path) -> None:
    place.write_bytes(RIGHT)
    (located,) = mirror.resolve(page())
    assert (located.path, located.sha256, located.known) == (place, SHA, True)
    assert located.remark is None and str(located) == f"{PATH}  ok  {place}"


def test_a_gz_is_known_by_the_id_of_its_content(place: Path, tmp_path: Path) -> None:
    place.with_name("toy.txt.gz").write_bytes(gzip.compress(RIGHT))
    (located,) = mirror.resolve(page())
    assert located.known and located.path == tmp_path / "cache" / PATH
    assert located.path.read_bytes() == RIGHT


def test_either_checksum_will_do(place: Path) -> None:
    place.write_bytes(RIGHT)
    for toy in (page((SHA,), "0" * 40), page(("0" * 64,))):
        assert mirror.resolve(toy)[0].known


def test_wrong_bytes_are_refused_with_the_kind_of_checksum(place: Path) -> None:
    place.write_bytes(WRONG)
    blob = hashlib.sha1(b"blob %d\0" % len(WRONG) + WRONG).hexdigest()
    with pytest.raises(mirror.DataUnavailable) as caught:
        mirror.resolve(page())
    text = str(caught.value)
    assert f"{place}: wrong bytes, git blob {blob}\n" in text
    assert f"\n  git blob {BLOB}\n" in text and "sha256" not in text
    with pytest.raises(mirror.DataUnavailable) as caught:
        mirror.resolve(page((SHA,)))
    seen = hashlib.sha256(WRONG).hexdigest()
    assert f"{place}: wrong bytes, sha256 {seen}, git blob {blob}\n" in str(caught.value)


def test_verify_says_ok_and_wrong_bytes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.CATALOG, "toy", page())
    for content, state in ((RIGHT, "ok"), (WRONG, "wrong bytes")):
        place.write_bytes(content)
        assert [found.state for found in mirror.verify("toy")] == [state]
