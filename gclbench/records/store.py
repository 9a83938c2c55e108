"""The store: one JSON file per run, no index, no lock."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from gclbench.records.atomic import write_atomically, write_unless
from gclbench.records.files import OF_OTHERS, PACKED, content, lines
from gclbench.records.record import Record, finite
from gclbench.records.schema import SCHEMA
from gclbench.records.store_warnings import DIFFERENT, NEWER, UNREADABLE, StoreWarnings

log = logging.getLogger(__name__)

ID = re.compile(r"[0-9a-f]{16}")
"""Of a run, which is also its folder's name."""


class StoreError(OSError):
    """The store cannot be written, or not be listed; the text names the path and what to do."""


class Store:
    """The records under a folder: `<root>/<id>/record.json`, and packed `*.jsonl` files at any
    depth.

    Args:
        root: the folder; it need not exist for reading.
    """

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(root)

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def path(self, run_id: str) -> Path:
        """Where the record of a run is written."""
        return self.root / run_id / "record.json"

    def ensure_writable(self) -> None:
        """Writes and removes a small file in the root.

        Raises:
            StoreError: when the folder cannot be made or written; called before any training
                starts.
        """
        probe = self.root / f".probe-{uuid.uuid4().hex}"
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            write_atomically(probe, b"gclbench")
        except OSError as error:
            raise StoreError(error.errno, unwritable(self.root, error)) from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def write(self, record: Record) -> Path:
        """Writes a record in one step; an earlier one of the same id is replaced, unless it is ok
        and the new one is not.

        Which of two records stays is not decided by their times: clocks of nodes differ. One that
        is ok stays when another attempt at the same run, on another node perhaps, ended worse; a
        warning says so, and `attempt` how it ended.

        Raises:
            StoreError: when it cannot be written; what was recorded before stays intact.
        """
        path = self.path(record.id)
        content = encoded(record.to_json() + "\n")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if record.ok:
                write_atomically(path, content)
                self.forget_attempt(record.id)
            elif not write_unless(path, content, _holds_ok) and _holds_ok(path):
                beside = {"status": record.status, "reason": record.reason}
                write_atomically(self._attempt(record.id), encoded(json.dumps(beside)))
                log.warning(
                    "run %s is recorded as ok in %s, and stays so: now it is %s",
                    record.id,
                    path,
                    record.status,
                )
        except OSError as error:
            theirs = (
                self.read(record.id)
                if isinstance(error, PermissionError) and _of_another_user(path)
                else None
            )
            if theirs is None or (record.ok and not theirs.ok):
                raise StoreError(error.errno, unwritable(path, error)) from error
            log.warning(
                "run %s has been recorded by another user meanwhile; that record stays", record.id
            )
        return path

    def attempt(self, run_id: str) -> tuple[str, str] | None:
        """Status and reason of an attempt that ended worse than the record that is ok, and so left
        it as it is; None without one."""
        try:
            found = json.loads(self._attempt(run_id).read_text(encoding="utf-8"))
            return str(found["status"]), str(found["reason"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def forget_attempt(self, run_id: str) -> None:
        """Takes away what `attempt` reads: another one begins, or has ended well."""
        with contextlib.suppress(OSError):
            self._attempt(run_id).unlink()

    def _attempt(self, run_id: str) -> Path:
        return self.root / run_id / "attempt.json"

    def ids(self) -> set[str]:
        """Ids of runs that have a folder, recorded or begun: one listing of the root, however many
        runs are asked about.

        Raises:
            StoreError: when the root cannot be listed: taken for empty, everything would be run
                again.
        """
        try:
            with os.scandir(self.root) as entries:
                return {entry.name for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            return set()
        except OSError as error:
            text = (
                f"cannot read {self.root}: {error.strerror or error} (runs_dir=FOLDER sets where"
                " records are)"
            )
            raise StoreError(error.errno, text) from error

    def holds_packed(self) -> bool:
        """Whether packed files stand there, outside the folders of runs; `ids` and `read` know runs
        of folders alone."""
        names = [name for name in self.ids() if not ID.fullmatch(name) and name not in OF_OTHERS]
        return any(
            name.endswith(PACKED) or next((self.root / name).rglob(f"*{PACKED}"), None) is not None
            for name in names
        )

    def read(self, run_id: str) -> Record | None:
        """The record of a run from its own file, or None when there is none or it is damaged (a
        warning names it)."""
        path = self.path(run_id)
        try:
            record = Record.from_json(content(path).decode())
            if record.id != run_id:
                raise ValueError(f"it is of run {record.id}, so the folder was copied or renamed")
            return record
        except FileNotFoundError:
            return None
        except (ValueError, OSError) as error:
            log.warning("%s is not a readable record: %s; it is treated as missing", path, error)
            return None

    def scan(self, warnings: StoreWarnings | None = None) -> Iterator[Record]:
        """Every readable record, in order of id; what is not readable is named in a warning and
        left out.

        Of two records with one id the one that is ok, else the newer, is kept; different contents
        are named in a warning. Of many warnings of a kind the first five are logged, and then their
        number.

        Args:
            warnings: takes every warning, so that it can be shown elsewhere than in the log.
        """
        warnings = StoreWarnings() if warnings is None else warnings
        found: dict[str, Record] = {}
        for source, line in lines(self.root, warnings):
            try:
                record = Record.from_json(line.decode())
            except UnicodeDecodeError as error:
                warnings.add(
                    UNREADABLE,
                    f"{source} is not a readable record: not UTF-8 at byte {error.start}; it is"
                    " left out",
                )
                continue
            except ValueError as error:
                warnings.add(
                    UNREADABLE, f"{source} is not a readable record: {error}; it is left out"
                )
                continue
            if record.schema > SCHEMA:
                text = (
                    f"{source} was written by a newer gclbench (schema {record.schema}, here"
                    f" {SCHEMA}); fields unknown here are left out"
                )
                warnings.add(NEWER, text)
            earlier = found.get(record.id)
            if earlier is None:
                found[record.id] = record
                continue
            if differ(earlier, record):
                text = (
                    f"{source} holds another record of run {record.id} with different content; the"
                    " newer one that is ok is used"
                )
                warnings.add(DIFFERENT, text)
            found[record.id] = better_of(earlier, record)
        warnings.sum_up(str(self.root))
        for run_id in sorted(found):
            yield found[run_id]


def differ(one: Record, other: Record) -> bool:
    """Whether two records of a run say different things; NaN is as good as NaN."""
    return (one.status, one.spec, finite(one.metrics)) != (
        other.status,
        other.spec,
        finite(other.metrics),
    )


def better_of(one: Record, other: Record) -> Record:
    """Of two records of a run the one that is ok, else the newer, else the first."""
    return max(one, other, key=lambda record: (record.ok, record.created))


def _holds_ok(path: Path) -> bool:
    """Whether a run's own folder has a record of it that is ok; that of another run is none."""
    try:
        there = Record.from_json(content(path).decode())
        return there.ok and there.id == path.parent.name
    except (OSError, ValueError):
        return False


def _of_another_user(path: Path) -> bool:
    try:
        return path.stat().st_uid != os.getuid()
    except OSError:
        return False


def encoded(text: str) -> bytes:
    """UTF-8; what it cannot hold (bytes of a path that are not text) becomes a JSON escape."""
    return text.encode("utf-8", "backslashreplace")


def unwritable(path: Path, error: OSError, setting: str = "runs_dir") -> str:
    """The sentence for a user whose file could not be written.

    Args:
        setting: what sets the folder.
    """
    causes = {
        errno.ENOSPC: "the disk is full; free some space",
        errno.EDQUOT: "the quota is used up; free some space",
        errno.EROFS: "the file system is read-only; choose another folder",
        errno.EACCES: "permission denied; choose another folder",
        errno.EPERM: "permission denied; choose another folder",
        errno.ENOTDIR: "a part of the path is a file, not a folder; choose another folder",
        errno.EEXIST: "a file stands where a folder is needed; choose another folder",
    }
    cause = causes.get(error.errno or 0, error.strerror or str(error))
    what = "records go" if setting == "runs_dir" else "it is"
    return f"cannot write {path}: {cause} ({setting}=FOLDER sets where {what})"
