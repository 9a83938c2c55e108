from __future__ import annotations

import gzip
import hashlib
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gclbench.component.registry import UnknownName
from gclbench.data import catalog, mirror
from gclbench.data.dataset_info import DatasetInfo, RawFile
from gclbench.records.atomic import ABANDONED_AFTER

RIGHT = b"the right bytes\n" * 1000
WRONG = b"other bytes"
SHA = hashlib.sha256(RIGHT).hexdigest()
PATH = "Toy/raw/toy.txt"


class Site:
    """A web server on this machine that counts what it is asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut: int | None = None
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                body = site.pages.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write((body or b"")[: site.cut])

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.delenv("GCLBENCH_OFFLINE")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Site()
    yield running
    running.server.shutdown()
    running.server.server_close()


def toy(*urls: str, sha256: tuple[str, ...] = (SHA,), original_unseen: bool = False) -> DatasetInfo:
    return DatasetInfo("toy", "", "", "", files=(RawFile(PATH, sha256, urls, original_unseen),))


def put(folder: Path, content: bytes, suffix: str = "") -> Path:
    place = folder / (PATH + suffix)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / PATH


def use(monkeypatch: pytest.MonkeyPatch, *mirrors: object) -> None:
    monkeypatch.setenv("GCLBENCH_MIRROR", os.pathsep.join(str(entry) for entry in mirrors))


def test_a_folder_mirror_is_read_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = put(tmp_path / "m", RIGHT)
    use(monkeypatch, tmp_path / "m")
    assert mirror.locate(toy()) == {PATH: place}
    assert not (tmp_path / "cache").exists()


def test_gz_of_a_mirror_is_unpacked_into_the_cache_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = put(tmp_path / "m", gzip.compress(RIGHT), ".gz")
    before = sorted((tmp_path / "m").rglob("*"))
    use(monkeypatch, tmp_path / "m")
    assert mirror.locate(toy()) == {PATH: cached(tmp_path)}
    assert cached(tmp_path).read_bytes() == RIGHT
    assert sorted((tmp_path / "m").rglob("*")) == before
    assert list(cached(tmp_path).parent.iterdir()) == [cached(tmp_path)], (
        "a temporary file was left"
    )
    place.write_bytes(b"gone bad")
    assert mirror.locate(toy()) == {PATH: cached(tmp_path)}


@pytest.mark.parametrize(
    "damaged", [gzip.compress(WRONG), gzip.compress(RIGHT)[:-20], b"no gzip at all"]
)
def test_bad_gz_never_reaches_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bytes
) -> None:
    put(tmp_path / "m", damaged, ".gz")
    use(monkeypatch, tmp_path / "m")
    with pytest.raises(mirror.DataUnavailable):
        mirror.locate(toy())
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]


def test_wrong_bytes_are_rejected_and_the_next_mirror_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "bad", WRONG)
    good = put(tmp_path / "good", RIGHT)
    use(monkeypatch, tmp_path / "bad", tmp_path / "good")
    with caplog.at_level(logging.WARNING):
        assert mirror.locate(toy()) == {PATH: good}
    assert (
        f"{tmp_path / 'bad' / PATH}: wrong bytes, sha256 {hashlib.sha256(WRONG).hexdigest()};"
        " trying the next source" in caplog.text
    )


def test_download_into_the_cache_after_wrong_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    site.pages = {f"/m/{PATH}": WRONG, "/original": RIGHT}
    use(monkeypatch, f"{site.address}/m")
    page = toy(f"{site.address}/original")
    assert mirror.locate(page) == {PATH: cached(tmp_path)}
    assert site.asked == [f"/m/{PATH}", f"/m/{PATH}.gz", "/original"]
    assert cached(tmp_path).read_bytes() == RIGHT
    mirror.locate(page)
    assert len(site.asked) == 3, "a cached file was downloaded again"


def test_address_mirror_may_hold_gz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    site.pages = {f"/m/{PATH}.gz": gzip.compress(RIGHT)}
    use(monkeypatch, tmp_path / "empty", f"{site.address}/m/")
    (located,) = mirror.resolve(toy())
    assert (located.path.read_bytes(), located.sha256, located.known) == (RIGHT, SHA, True)
    assert str(located) == f"{PATH}  ok  {cached(tmp_path)}  from {site.address}/m/{PATH}.gz"


def test_bad_cache_file_is_replaced(tmp_path: Path, site: Site) -> None:
    bad = put(tmp_path / "cache", WRONG)
    being_read = tmp_path / "being_read"
    os.link(bad, being_read)
    site.pages = {"/original": RIGHT}
    mirror.locate(toy(f"{site.address}/original"))
    assert cached(tmp_path).read_bytes() == RIGHT
    assert being_read.read_bytes() == WRONG, (
        "written in place: another process could read half a file"
    )


def test_what_a_killed_download_left_is_swept_away(tmp_path: Path, site: Site) -> None:
    site.pages = {"/original": RIGHT}
    folder = cached(tmp_path).parent
    folder.mkdir(parents=True)
    old, young = (folder / f".toy.txt.{digit * 32}.tmp" for digit in "ab")
    for path in (old, young):
        path.write_bytes(RIGHT[:100])
    long_ago = old.stat().st_mtime - 2 * ABANDONED_AFTER
    os.utime(old, (long_ago, long_ago))
    mirror.locate(toy(f"{site.address}/original"))
    assert sorted(folder.iterdir()) == [young, cached(tmp_path)]


def test_download_that_breaks_off(tmp_path: Path, site: Site) -> None:
    site.pages, site.cut = {"/original": RIGHT}, 100
    with pytest.raises(mirror.DataUnavailable, match="100"):
        mirror.locate(toy(f"{site.address}/original", sha256=()))
    assert not cached(tmp_path).exists()


def test_offline_opens_no_socket_and_says_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    bad = put(tmp_path / "m", WRONG)
    use(monkeypatch, tmp_path / "m", "https://mirror.example/data")
    with pytest.raises(mirror.DataUnavailable) as caught:
        mirror.locate(toy("https://a.example/toy.txt", "https://b.example/toy.txt"))
    text = str(caught.value)
    for expected in (
        "dataset 'toy': 1 of 1 files could not be had.",
        f"{bad}: wrong bytes, sha256 {hashlib.sha256(WRONG).hexdigest()}",
        f"{cached(tmp_path)}: no such file",
        f"https://mirror.example/data/{PATH}: not tried, GCLBENCH_OFFLINE is set",
        "address  https://a.example/toy.txt",
        "address  https://b.example/toy.txt",
        f"sha256   {SHA}",
        f"put it   {cached(tmp_path)}",
        "gclbench data fetch toy",
        "GCLBENCH_MIRROR",
    ):
        assert expected in text


def test_one_message_for_all_missing_files(tmp_path: Path) -> None:
    files = tuple(
        RawFile(f"Toy/raw/{name}", (SHA,), (f"https://a.example/{name}",)) for name in "abc"
    )
    with pytest.raises(
        mirror.DataUnavailable,
        match=r"3 of 3 files could not be had[\s\S]*Toy/raw/a\n[\s\S]*Toy/raw/c\n",
    ):
        mirror.locate(DatasetInfo("toy", "", "", "", files=files))


def test_unknown_checksum_is_recorded_and_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mirror, "_warned", set())
    put(tmp_path / "m", RIGHT)
    use(monkeypatch, tmp_path / "m")
    for _ in range(2):
        (located,) = mirror.resolve(toy(sha256=()))
    assert located.remark == f"{PATH}: no checksum to compare with; sha256 seen {SHA}."
    assert caplog.text.count(SHA) == 1


def test_unseen_original_is_taken_from_its_own_address_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    put(tmp_path / "m", WRONG)
    use(monkeypatch, tmp_path / "m")
    site.pages = {"/original": b"the original"}
    page = toy(f"{site.address}/original", original_unseen=True)
    for _ in range(2):
        (located,) = mirror.resolve(page)
        assert located.path.read_bytes() == b"the original" and not located.known and located.remark
    assert site.asked == ["/original"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("/a:/b", ["/a", "/b"]),
        ("http://h/x:/b", ["http://h/x", "/b"]),
        ("/a:https://h:8080/x:/b:http://g", ["/a", "https://h:8080/x", "/b", "http://g"]),
        ("http://h:8080:/b", ["http://h:8080", "/b"]),
        ("/a, https://h/x\n/b", ["/a", "https://h/x", "/b"]),
    ],
)
@pytest.mark.skipif(os.pathsep != ":", reason="colons are not separators here")
def test_mirror_list(monkeypatch: pytest.MonkeyPatch, value: str, expected: list[str]) -> None:
    monkeypatch.setenv("GCLBENCH_MIRROR", value)
    assert mirror.mirrors() == expected


def test_mirror_folder_with_blanks_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my data, all"
    place = put(folder, RIGHT)
    use(monkeypatch, folder)
    assert mirror.locate(toy()) == {PATH: place}


@pytest.mark.parametrize("value, without", [("1", " without GCLBENCH_OFFLINE"), ("0", "")])
def test_a_set_without_files_of_its_own_is_fetched_by_the_command(
    monkeypatch: pytest.MonkeyPatch, value: str, without: str
) -> None:
    """`gclbench data fetch tu` has nothing to fetch: a run says which set."""
    monkeypatch.setenv("GCLBENCH_OFFLINE", value)
    for name, advice in (
        ("toy", "gclbench data fetch toy"),
        ("tu", f"repeat the command{without}"),
    ):
        with pytest.raises(mirror.DataUnavailable) as error:
            mirror.resolve(replace(toy(), name=name))
        assert f"\nWith a network: {advice}. Without: " in str(error.value)


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("yes", True), ("0", False), ("", False), ("False", False)]
)
def test_offline_values(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("GCLBENCH_OFFLINE", value)
    assert mirror.offline() is expected


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert mirror.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("GCLBENCH_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert mirror.cache_folder() == Path("/x/gclbench")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert mirror.cache_folder() == Path("/home/someone/.cache/gclbench")


def test_verify_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("here", "packed", "bad", "gone", "unchecked")
    page = DatasetInfo(
        "toy",
        "",
        "",
        "",
        files=tuple(RawFile(n, () if n == "unchecked" else (SHA,), ()) for n in names),
    )
    monkeypatch.setitem(catalog.CATALOG, "toy", page)
    folder = tmp_path / "m"
    folder.mkdir()
    for name, content in {
        "here": RIGHT,
        "packed.gz": gzip.compress(RIGHT),
        "bad": WRONG,
        "unchecked": WRONG,
    }.items():
        (folder / name).write_bytes(content)
    use(monkeypatch, folder)
    states = {state.path: (state.state, state.where) for state in mirror.verify("toy")}
    assert states == {
        "here": ("ok", folder / "here"),
        "packed": ("ok", folder / "packed.gz"),
        "bad": ("wrong bytes", folder / "bad"),
        "gone": ("missing", tmp_path / "cache" / "gone"),
        "unchecked": ("unknown hash", folder / "unchecked"),
    }
    assert [state.ok for state in mirror.verify("toy")] == [True, True, False, False, True]
    assert str(mirror.verify("toy")[2]) == f"bad  wrong bytes  {folder / 'bad'}"
    assert str(mirror.verify("toy")[4]).endswith(
        f"unknown hash  {folder / 'unchecked'}  sha256 {hashlib.sha256(WRONG).hexdigest()}"
    )
    assert mirror.path("toy") == {name: where for name, (_, where) in states.items()}
    assert not (tmp_path / "cache").exists(), "verify wrote something"


def test_datasets_without_files_need_no_fetch() -> None:
    assert mirror.fetch("digits") == [] and mirror.verify("sbm") == [] and mirror.path("rmat") == {}


def test_unknown_dataset() -> None:
    with pytest.raises(
        UnknownName, match="there is no dataset 'coar' in the catalog. Did you mean 'cora'?"
    ):
        mirror.fetch("coar")


def test_no_torch_is_imported() -> None:
    code = (
        "import sys, gclbench.data.mirror, gclbench.data.catalog; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
