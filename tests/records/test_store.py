"""Records on disk: written whole or not at all, and how readers take a damaged or shared store."""

from __future__ import annotations

import errno
import logging
import math
import multiprocessing
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from example_records import SPEC, full_record, record

from gclbench.records import SCHEMA, Store, StoreError, pack, unwritable, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_write_read_and_scan(tmp_path):
    store = Store(tmp_path / "deep" / "runs")
    whole = full_record()
    path = store.write(whole)
    assert path == tmp_path / "deep" / "runs" / whole.id / "record.json" == store.path(whole.id)
    assert names(tmp_path) == [f"deep/runs/{whole.id}/record.json"], "no temporary file is left"
    assert path.read_text(encoding="utf-8").endswith("}\n")
    assert store.read(whole.id) == whole
    assert list(store.scan()) == [whole]
    assert list(Store(str(tmp_path)).scan()) == [whole], "at any depth, and a path may be a string"


def test_a_store_that_is_not_there_is_empty(tmp_path):
    assert list(Store(tmp_path / "nowhere").scan()) == []
    assert Store(tmp_path / "nowhere").read("0" * 16) is None
    assert not (tmp_path / "nowhere").exists(), "reading makes no folder"


def test_scan_is_in_order_of_id(tmp_path):
    store = Store(tmp_path)
    made = [record(replace(SPEC, seed=seed)) for seed in range(12)]
    for item in made:
        store.write(item)
    assert [item.id for item in store.scan()] == sorted(item.id for item in made)


def test_a_second_write_replaces_the_first(tmp_path):
    store = Store(tmp_path)
    store.write(record(status="failed", metrics={}))
    store.write(record(metrics={"acc": 0.75}))
    assert names(tmp_path) == [f"{SPEC.id}/record.json"]
    (only,) = store.scan()
    assert only.metrics == {"acc": 0.75}


def test_text_that_is_not_unicode_is_no_reason_to_lose_a_run(tmp_path):
    """Paths and error texts can hold bytes that are no UTF-8 (Python keeps them as lone
    surrogates)."""
    store = Store(tmp_path / "runs")
    odd = record(reason=os.fsdecode(b"no such file: caf\xe9"))
    store.write(odd)
    assert store.read(odd.id) == odd
    pack([odd], tmp_path / "packed")
    assert list(Store(tmp_path / "packed").scan()) == [odd]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not valid JSON"),
        (record().to_json().encode()[:40], "not valid JSON"),
        (b"\xff\xfe\x00", "not"),
        (b'{"some": "other tool\'s file"}', "no 'id' field, so not a gclbench record"),
        (b'{"id": 1, "spec": {}, "status": "ok"}', "its id (1) is not a run's id"),
    ],
)
def test_damaged_and_foreign_files_are_named_and_left_out(tmp_path, caplog, content, reason):
    store = Store(tmp_path)
    good = record(replace(SPEC, seed=9))
    store.write(good)
    damaged = store.path("0123456789abcdef")
    damaged.parent.mkdir()
    damaged.write_bytes(content)
    (tmp_path / "notes.json").write_text("not looked at")
    with caplog.at_level(logging.WARNING):
        assert list(store.scan()) == [good]
    assert len(caplog.records) == 1
    assert f"{damaged} is not a readable record" in caplog.text
    assert reason in caplog.text
    assert "left out" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert store.read("0123456789abcdef") is None
    assert f"{damaged} is not a readable record" in caplog.text
    assert "treated as missing" in caplog.text


def test_a_folder_where_a_record_should_be(tmp_path, caplog):
    store = Store(tmp_path)
    good = record()
    store.write(good)
    store.path("0123456789abcdef").mkdir(parents=True)
    (tmp_path / "folder.jsonl").mkdir()
    with caplog.at_level(logging.WARNING):
        assert list(store.scan()) == [good]
    assert "record.json cannot be read" in caplog.text
    assert "folder.jsonl cannot be read" in caplog.text


def test_a_newer_schema_is_named_and_used(tmp_path, caplog):
    store = Store(tmp_path)
    path = store.write(record(schema=SCHEMA + 1))
    with caplog.at_level(logging.WARNING):
        (only,) = store.scan()
    assert only.metrics == {"acc": 0.5}
    assert (
        f"{path} was written by a newer gclbench (schema {SCHEMA + 1}, here {SCHEMA})"
        in caplog.text
    )


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (
            {"metrics": {"acc": 0.1}, "created": "2026-01-02"},
            {"metrics": {"acc": 0.2}, "created": "2026-01-01"},
            0,
        ),
        (
            {"metrics": {"acc": 0.1}, "created": "2026-01-01"},
            {"metrics": {"acc": 0.2}, "created": "2026-01-02"},
            1,
        ),
        (
            {"metrics": {"acc": 0.1}, "created": "2026-01-01"},
            {"status": "failed", "metrics": {}, "created": "2026-01-02"},
            0,
        ),
        (
            {"status": "timeout", "metrics": {}, "created": "2026-01-03"},
            {"metrics": {"acc": 0.2}, "created": "2026-01-02"},
            1,
        ),
    ],
)
def test_two_records_of_one_run(tmp_path, caplog, first, second, kept):
    both = [record(**first), record(**second)]
    Store(tmp_path / "a").write(both[0])
    Store(tmp_path / "b").write(both[1])
    with caplog.at_level(logging.WARNING):
        assert list(Store(tmp_path).scan()) == [both[kept]]
    assert len(caplog.records) == 1
    assert f"holds another record of run {SPEC.id} with different content" in caplog.text


def test_two_equal_records_are_no_news(tmp_path, caplog):
    """Also where a metric is NaN, which no two numbers have in common."""
    same = record(metrics={"acc": 0.5, "auc": math.nan})
    Store(tmp_path / "a").write(same)
    Store(tmp_path / "b").write(replace(same, seconds={"fit": 3.0}))
    with caplog.at_level(logging.WARNING):
        assert len(list(Store(tmp_path).scan())) == 1
    assert not caplog.records


def test_a_root_that_cannot_be_made(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    for root in (file, file / "runs"):
        with pytest.raises(
            StoreError, match="a file stands|a part of the path is a file"
        ) as caught:
            Store(root).ensure_writable()
        assert f"cannot write {root}" in str(caught.value)
        assert "runs_dir=FOLDER sets where records go" in str(caught.value)
        with pytest.raises(StoreError, match="cannot write .*record.json"):
            Store(root).write(record())
    assert file.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_root_without_permission(tmp_path):
    root = tmp_path / "locked"
    root.mkdir(mode=0o555)
    with pytest.raises(StoreError, match="permission denied; choose another folder"):
        Store(root).ensure_writable()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EDQUOT, "the quota is used up"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "permission denied"),
    ],
)
def test_a_failed_write_says_why_and_keeps_what_was_there(tmp_path, monkeypatch, number, text):
    store = Store(tmp_path)
    store.write(record())

    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=text) as caught:
        store.write(record(metrics={"acc": 0.9}))
    assert caught.value.errno == number
    assert str(store.path(SPEC.id)) in str(caught.value)
    with pytest.raises(StoreError, match=text):
        store.ensure_writable()
    monkeypatch.undo()
    assert names(tmp_path) == [f"{SPEC.id}/record.json"]
    assert list(store.scan()) == [record()]


def test_an_unknown_cause_is_the_systems_own_word():
    assert "Input/output error" in unwritable(Path("x"), OSError(errno.EIO, "Input/output error"))
    assert "something else" in unwritable(Path("x"), OSError("something else"))


def test_what_sets_the_folder_is_told():
    told = unwritable(Path("x"), OSError(errno.EACCES, "no"), "launcher.folder")
    assert told.endswith("(launcher.folder=FOLDER sets where it is)")


def test_ensure_writable_leaves_nothing(tmp_path):
    Store(tmp_path / "new").ensure_writable()
    assert (tmp_path / "new").is_dir()
    assert names(tmp_path) == []


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "file"
    write_atomically(target, b"old")

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, b"new")
    assert names(tmp_path) == ["file"]
    assert target.read_bytes() == b"old"


def test_another_runs_record_in_a_folder_hides_no_end_of_its_own(tmp_path, caplog):
    store = Store(tmp_path)
    other, failed = record(replace(SPEC, seed=7)), record(status="failed", metrics={})
    store.path(failed.id).parent.mkdir()
    store.path(failed.id).write_text(other.to_json() + "\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        store.write(failed)
    assert store.read(failed.id) == failed and "stays so" not in caplog.text


def test_a_damaged_line_is_named_by_number(tmp_path, caplog):
    pack([record()], tmp_path)
    path = tmp_path / "dmat_i" / "cora.jsonl"
    path.write_bytes(b"{}\n\n" + path.read_bytes())
    with caplog.at_level(logging.WARNING):
        assert list(Store(tmp_path).scan()) == [record()]
    assert f"{path} line 1 is not a readable record" in caplog.text
    assert len(caplog.records) == 1


def write_many(root: str, writer: int) -> None:
    """Eight runs of its own, and one that every writer has."""
    store = Store(root)
    for seed in range(8):
        store.write(record(replace(SPEC, seed=100 * writer + seed)))
        store.write(record(metrics={"acc": float(writer)}, reason="x" * 5000))


def check_many(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = list(Store(root).scan())
    assert not caplog.records
    assert len(found) == 8 * 8 + 1
    (shared,) = [item for item in found if item.id == SPEC.id]
    assert shared.metrics["acc"] in range(1, 9)
    assert all(name.endswith("/record.json") for name in names(root))


@pytest.fixture
def no_fsync(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # no power failure is being tested


def test_eight_threads_write_one_store_while_it_is_read(tmp_path, caplog, no_fsync):
    threads = [
        threading.Thread(target=write_many, args=(str(tmp_path), writer)) for writer in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        with caplog.at_level(logging.WARNING):
            for item in Store(tmp_path).scan():
                assert item.ok
    for thread in threads:
        thread.join()
    check_many(tmp_path, caplog)


@pytest.mark.skipif(sys.platform != "linux", reason="forked writers")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_eight_processes_write_one_store(tmp_path, caplog, no_fsync):
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=write_many, args=(str(tmp_path), writer)) for writer in range(1, 9)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=30)
        assert process.exitcode == 0
    check_many(tmp_path, caplog)
