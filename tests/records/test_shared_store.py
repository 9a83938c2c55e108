"""One store, many writers: nodes whose clocks differ, two users, an ending that is worse than an
earlier one."""

from __future__ import annotations

import errno
import fcntl
import logging
import multiprocessing
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from example_records import SPEC, record

from gclbench.records import Record, Store, StoreError, pack, packed
from gclbench.records.atomic import ABANDONED_AFTER

STRANGER = 65534


def files(folder: Path) -> list[str]:
    """Without what says how a worse attempt ended."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "attempt.json")
    return sorted(str(path.relative_to(folder)) for path in found)


# --- which record stays


@pytest.mark.parametrize(
    "status", ["failed", "oom", "timeout", "diverged", "interrupted", "unsupported"]
)
@pytest.mark.parametrize("created", ["1999-01-01T00:00:00", "2099-01-01T00:00:00"])
def test_a_run_that_is_ok_stays_so_whatever_the_clocks_say(
    tmp_path: Path, status: str, created: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)
    worse = record(status=status, metrics={}, created=created)
    store.write(record())
    with caplog.at_level(logging.WARNING):
        store.write(worse)
    assert store.read(SPEC.id) == record()
    assert (
        f"run {SPEC.id} is recorded as ok in " in caplog.text
        and f"and stays so: now it is {status}" in caplog.text
    )
    other = Store(tmp_path / "other")
    other.write(worse)
    other.write(record())
    assert other.read(SPEC.id) == record(), "in the other order too"


def test_of_two_endings_that_are_not_ok_and_of_two_that_are_the_later_written_is_kept(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    for status, created in (("failed", "2099"), ("oom", "1999")):
        store.write(record(status=status, metrics={}, created=created))
        assert store.read(SPEC.id).status == status  # type: ignore[union-attr]
    for value, created in ((0.25, "2099"), (0.75, "1999")):
        store.write(record(metrics={"acc": value}, created=created))
        assert store.read(SPEC.id).metrics == {"acc": value}  # type: ignore[union-attr]
    assert files(tmp_path) == [f"{SPEC.id}/record.json"]


@pytest.mark.parametrize("there,moment", [(False, 1), (True, 1), (True, 2)])
def test_an_ok_record_that_arrives_while_a_worse_one_is_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool, moment: int
) -> None:
    """The other node's record comes just before the first or the second try to write this one."""
    store = Store(tmp_path)
    if there:
        store.write(record(status="oom", metrics={}))
    plain = os.link

    def late(source: Path, target: Path) -> None:
        arrived.append(target)
        if len(arrived) == moment:
            Store(tmp_path).write(record())
        plain(source, target)

    arrived: list[Path] = []
    monkeypatch.setattr(os, "link", late)
    store.write(record(status="failed", metrics={}))
    assert store.read(SPEC.id) == record()
    assert files(tmp_path) == [f"{SPEC.id}/record.json"]


def test_an_ok_record_that_arrives_before_a_worse_one_is_moved_aside_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was moved is then the other node's record, and not the one that was judged."""
    store = Store(tmp_path)
    store.write(record(status="oom", metrics={}))
    plain = Path.rename

    def late(source: Path, target: Path) -> Path:
        Store(tmp_path).write(record())
        return plain(source, target)

    monkeypatch.setattr(Path, "rename", late)
    store.write(record(status="failed", metrics={}))
    assert store.read(SPEC.id) == record()
    assert files(tmp_path) == [f"{SPEC.id}/record.json"]


def test_an_ok_record_is_never_moved_for_a_worse_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that were killed in that moment would have lost it."""
    store = Store(tmp_path)
    store.write(record())
    monkeypatch.setattr(
        Path, "rename", lambda source, target: pytest.fail(f"{source} was taken aside")
    )
    store.write(record(status="failed", metrics={}))
    assert store.read(SPEC.id) == record() and files(tmp_path) == [f"{SPEC.id}/record.json"]


def test_what_killed_writers_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.path(SPEC.id).parent
    folder.mkdir()
    left = {
        name: folder / name
        for name in (
            f".checkpoint.pt.{'a' * 32}.tmp",
            f".record.json.{'b' * 32}.tmp",
            ".mine.tmp",
            "notes.tmp",
        )
    }
    for path in left.values():
        path.write_text("half")
    hours_ago = time.time() - 2 * ABANDONED_AFTER
    for name in (".mine.tmp", "notes.tmp", f".checkpoint.pt.{'a' * 32}.tmp"):
        os.utime(left[name], (hours_ago, hours_ago))
    store.write(record())
    assert files(tmp_path) == sorted(
        f"{SPEC.id}/{name}"
        for name in ("record.json", f".record.json.{'b' * 32}.tmp", ".mine.tmp", "notes.tmp")
    ), "a file that may be somebody's who writes now, and those of others, stay"


def test_a_root_that_cannot_be_listed_is_not_taken_for_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object) -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StoreError) as caught:
        Store(tmp_path).ids()
    assert (
        caught.value.args[1]
        == f"cannot read {tmp_path}: Stale file handle (runs_dir=FOLDER sets where records are)"
    )


def test_a_file_system_without_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store = Store(tmp_path)
    store.write(record(status="failed", metrics={}))
    assert store.read(SPEC.id).status == "failed"  # type: ignore[union-attr]
    store.write(record())
    store.write(record(status="oom", metrics={}))
    assert store.read(SPEC.id) == record() and files(tmp_path) == [f"{SPEC.id}/record.json"]


def test_a_damaged_record_is_replaced_by_any(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record()).write_text("{")
    store.write(record(status="failed", metrics={}))
    assert store.read(SPEC.id).status == "failed"  # type: ignore[union-attr]


# --- two users


def as_stranger(action: Callable[[], object]) -> int:
    """Does something as another user of the same group, in a forked process; its exit code."""
    process = os.fork()
    if not process:
        try:
            os.setgroups([0])
            os.setgid(0)
            os.setuid(STRANGER)
            action()
            os._exit(0)
        except StoreError:
            os._exit(3)
        except BaseException:
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A store of a group; pytest's own folders are opened for the other user."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o2775)
    for parent in (tmp_path, *tmp_path.parents):
        if parent != Path("/") and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


def test_with_a_groups_umask_both_users_write_the_same_runs(shared: Path) -> None:
    before = os.umask(0o002)
    try:
        Store(shared).write(record(status="failed", metrics={}))
        assert as_stranger(lambda: Store(shared).write(record())) == 0
        Store(shared).write(record(metrics={"acc": 0.75}))
    finally:
        os.umask(before)
    assert Store(shared).read(SPEC.id).metrics == {"acc": 0.75}  # type: ignore[union-attr]
    assert stat.S_IMODE(Store(shared).path(SPEC.id).stat().st_mode) == 0o664
    assert stat.S_IMODE(Store(shared).path(SPEC.id).parent.stat().st_mode) & 0o775 == 0o775


def test_without_it_another_users_record_stands_for_mine(shared: Path) -> None:
    before = os.umask(0o022)
    try:
        Store(shared).write(record())
        assert as_stranger(lambda: Store(shared).write(record(metrics={"acc": 0.9}))) == 0
        assert Store(shared).read(SPEC.id) == record(), (
            "the folder is not theirs to write, and the run is done"
        )
        worse = replace(SPEC, seed=9)
        Store(shared).write(record(worse, status="failed", metrics={}))
        assert as_stranger(lambda: Store(shared).write(record(worse))) == 3, (
            "an ok run that cannot be written is an error"
        )
        assert as_stranger(lambda: Store(shared).write(record(replace(SPEC, seed=4)))) == 0, (
            "other runs are no matter"
        )
    finally:
        os.umask(before)
    assert {found.seed: found.status for found in Store(shared).scan()} == {
        3: "ok",
        9: "failed",
        4: "ok",
    }


# --- many processes


def write_many(root: Path, writer: int, count: int) -> None:
    """Own runs, and now and then one that others write too."""
    os.fsync = lambda descriptor: None  # what is tested is who overwrites whom, not the disk
    store = Store(root)
    for number in range(count):
        store.write(
            record(replace(SPEC, seed=writer * count + number), metrics={"acc": number / count})
        )
        if number % 100 == 0:
            common = replace(SPEC, seed=10**6 + number)
            status = "ok" if writer % 2 else "failed"
            store.write(
                record(common, status=status, metrics={} if status == "failed" else {"acc": 0.5})
            )


@pytest.mark.slow
def test_sixteen_processes_write_a_thousand_records_each(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=write_many, args=(tmp_path, writer, 1000)) for writer in range(16)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 16
    with caplog.at_level(logging.WARNING):
        found: dict[int, Record] = {item.seed: item for item in Store(tmp_path).scan()}
    own = {seed: item for seed, item in found.items() if seed < 10**6}
    assert len(own) == 16_000 and all(item.ok for item in own.values()) and not caplog.records
    assert all(item.metrics == {"acc": seed % 1000 / 1000} for seed, item in own.items())
    common = [item.status for seed, item in found.items() if seed >= 10**6]
    assert common == ["ok"] * 10, "half of the writers had them ok"
    assert len(list(tmp_path.glob("*/record.json"))) == len(found) and not list(
        tmp_path.rglob("*.tmp")
    )


# --- packed files


def test_two_that_pack_into_one_folder_lose_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second reads the file only when the first has written it."""
    first, second = (record(replace(SPEC, seed=seed)) for seed in (1, 2))
    begun, may_end = threading.Event(), threading.Event()
    order: list[str] = []
    write = packed.write_atomically

    def slowly(path: Path, content: bytes) -> None:
        order.append("first" if not begun.is_set() else "second")
        if not begun.is_set():
            begun.set()
            assert may_end.wait(10)
        write(path, content)

    monkeypatch.setattr(packed, "write_atomically", slowly)
    threads = [threading.Thread(target=pack, args=([item], tmp_path)) for item in (first, second)]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    threads[1].join(0.3)
    assert order == ["first"], "the second waits"
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "second"]
    assert {item.id for item in Store(tmp_path).scan()} == {first.id, second.id}
    assert files(tmp_path) == ["dmat_i/cora.jsonl"], "no file of a lock is left"


def test_packing_goes_on_where_folders_have_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EBADF, "no locks here")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    pack([record()], tmp_path)
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    other = record(replace(SPEC, seed=1))
    pack([other], tmp_path)
    assert {item.id for item in Store(tmp_path).scan()} == {SPEC.id, other.id}
