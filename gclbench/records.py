"""A run's identity, its record, and the store: one JSON file per run, no index, no lock, no torch.

A run is one (dataset, filter, method, negatives, task, seed). Its id is a hash of the resolved
settings, the dataset's content and the versions of protocol and method, so the same run has the
same id on every machine and is never repeated by accident. A record is written under a temporary
name, flushed to disk and renamed, so a reader sees a whole record or none, and any number of
writers, on NFS too, never disturb each other.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import math
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gclbench.atomic import write_atomically, write_unless

SCHEMA = 1
"""Version of the record's layout. Older records stay readable; newer ones are named in a warning."""

STATUSES = ("ok", "diverged", "oom", "timeout", "failed", "unsupported", "interrupted")
"""ok: metrics are there. unsupported: the pair makes no sense; the others say how the run ended."""

log = logging.getLogger(__name__)


class StoreError(OSError):
    """The store cannot be written, or not be listed; the text names the path and what to do."""


@dataclass(frozen=True)
class RunSpec:
    """What a run is: small, picklable, hashable by `id`.

    Attributes:
        dataset, filter, method, negatives, task: `{"name": …, setting: value, …}` of each component.
        seed: the run's seed.
        versions: protocol version of the task and version of the method.
        dataset_hash: content hash of the graph as loaded.
    """

    dataset: dict[str, Any]
    filter: dict[str, Any]
    method: dict[str, Any]
    negatives: dict[str, Any]
    task: dict[str, Any]
    seed: int
    versions: dict[str, str]
    dataset_hash: str

    @property
    def id(self) -> str:
        """16 hexadecimal digits of the sha256 of the canonical JSON of all fields."""
        return digest(asdict(self))[:16]


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON of a plain value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Record:
    """The outcome of one run.

    Attributes:
        id: the spec's id. spec: the spec as plain values. status: one of `STATUSES`.
        metrics: name to value; fractions, not percent. Only where status is ok.
        reason: one line on why the status is not ok. traceback: of a failed run.
        seconds: wall-clock seconds per phase (load, filter, fit, evaluate); `shared` names the phases
            that this run shared with other tasks of the same embedding.
        memory: bytes: `rss_peak` of the process, `gpu_allocated`, `gpu_reserved` where a GPU was used.
        device: name of the device. environment: versions of Python and libraries, platform, git commit.
        filter_report: what the filter's solver did. split: protocol and hash. fit: epochs run, final loss, loss curve.
        repairs: what was repaired in the graph when it was loaded.
        limits: those the run was held to: `time` in seconds, `memory` in GiB.
        command: the command that repeats the run. created: UTC time, ISO 8601.
    """

    id: str
    spec: dict[str, Any]
    status: str
    metrics: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    traceback: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    memory: dict[str, int] = field(default_factory=dict)
    device: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    filter_report: dict[str, Any] = field(default_factory=dict)
    split: dict[str, str] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)
    repairs: list[str] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    command: str = ""
    created: str = ""
    schema: int = SCHEMA

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def name(self, kind: str) -> str:
        """The name of the run's component of a kind: `record.name("method")`."""
        return str(self.spec[kind]["name"])

    @property
    def seed(self) -> int:
        return int(self.spec["seed"])

    def to_json(self) -> str:
        """One line of JSON, keys in the order of declaration, non-finite numbers as strings."""
        return json.dumps(_finite(asdict(self)), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Reads a record of this or an older schema.

        Raises:
            ValueError: when the text is no record; the message says what is wrong.
        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not valid JSON ({error.msg} at character {error.pos})") from error
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        missing = [key for key in ("id", "spec", "status") if key not in data]
        if missing:
            raise ValueError(f"no '{missing[0]}' field, so not a gclbench record")
        if not _is_spec(data["spec"]) or data["status"] not in STATUSES:
            raise ValueError(f"its spec or its status ('{data['status']}') is not one of gclbench's")
        metrics = data.get("metrics", {})
        if not isinstance(data["id"], str) or not isinstance(metrics, dict) or not isinstance(data.get("schema", SCHEMA), int):
            raise ValueError("its id, metrics or schema is of another type than gclbench's")
        known = {item.name for item in fields(cls)}
        record = cls(**{key: value for key, value in data.items() if key in known})
        try:
            record.metrics = {key: float(value) for key, value in metrics.items()}
        except (TypeError, ValueError) as error:
            raise ValueError(f"a metric is no number ({error})") from error
        return record


def _is_spec(spec: Any) -> bool:
    kinds = ("dataset", "filter", "method", "negatives", "task")
    return (
        isinstance(spec, dict)
        and "seed" in spec
        and all(isinstance(spec.get(kind), dict) and "name" in spec[kind] for kind in kinds)
    )


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(float(value))  # NumPy's own floats have another repr
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


class Store:
    """The records under a folder: `<root>/<id>/record.json`, and packed `*.jsonl` files at any depth.

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
            StoreError: when the folder cannot be made or written; called before any training starts.
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
        """Writes a record in one step; an earlier one of the same id is replaced, unless it is ok and the new one is not.

        Which of two records stays is not decided by their times: clocks of nodes differ. One that is ok stays when another
        attempt at the same run, on another node perhaps, ended worse; a warning says so.

        Raises:
            StoreError: when it cannot be written; what was recorded before stays intact.
        """
        path = self.path(record.id)
        content = _encoded(record.to_json() + "\n")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if record.ok:
                write_atomically(path, content)
            elif not write_unless(path, content, _holds_ok) and _holds_ok(path):
                log.warning("run %s is recorded as ok in %s, and stays so: now it is %s", record.id, path, record.status)
        except OSError as error:
            theirs = self.read(record.id) if isinstance(error, PermissionError) and _of_another_user(path) else None
            if theirs is None or (record.ok and not theirs.ok):
                raise StoreError(error.errno, unwritable(path, error)) from error
            log.warning("run %s has been recorded by another user meanwhile; that record stays", record.id)
        return path

    def ids(self) -> set[str]:
        """Ids of runs that have a folder, recorded or begun: one listing of the root, however many runs are asked about.

        Raises:
            StoreError: when the root cannot be listed: taken for empty, everything would be run again.
        """
        try:
            with os.scandir(self.root) as entries:
                return {entry.name for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            return set()
        except OSError as error:
            text = f"cannot read {self.root}: {error.strerror or error} (runs_dir=FOLDER sets where records are)"
            raise StoreError(error.errno, text) from error

    def read(self, run_id: str) -> Record | None:
        """The record of a run from its own file, or None when there is none or it is damaged (a warning names it)."""
        path = self.path(run_id)
        try:
            return Record.from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, OSError) as error:
            log.warning("%s is not a readable record: %s; it is treated as missing", path, error)
            return None

    def scan(self) -> Iterator[Record]:
        """Every readable record, in order of id; damaged ones are named in a warning.

        Of two records with one id the one that is ok, else the newer, is kept; different contents are named in a warning.
        """
        found: dict[str, Record] = {}
        for source, text in self._texts():
            try:
                record = Record.from_json(text)
            except ValueError as error:
                log.warning("%s is not a readable record: %s; it is left out", source, error)
                continue
            if record.schema > SCHEMA:
                log.warning(
                    "%s was written by a newer gclbench (schema %d, here %d); fields unknown here are left out",
                    source,
                    record.schema,
                    SCHEMA,
                )
            earlier = found.get(record.id)
            if earlier is None:
                found[record.id] = record
                continue
            if _finite(earlier.metrics) != _finite(record.metrics) or earlier.status != record.status:
                log.warning(
                    "%s holds another record of run %s with different content; the newer one that is ok is used", source, record.id
                )
            found[record.id] = max(earlier, record, key=lambda item: (item.ok, item.created))
        for run_id in sorted(found):
            yield found[run_id]

    def _texts(self) -> Iterator[tuple[str, str]]:
        if not self.root.is_dir():
            return
        for path in sorted(self.root.rglob("record.json")):
            text = _text(path)
            if text is not None:
                yield str(path), text
        for path in sorted(self.root.rglob("*.jsonl")):
            # Not splitlines: JSON strings may hold U+2028 and other line ends of Unicode as they are.
            for number, line in enumerate((_text(path) or "").split("\n"), start=1):
                if line.strip():
                    yield f"{path} line {number}", line


def _holds_ok(path: Path) -> bool:
    try:
        return Record.from_json(path.read_text(encoding="utf-8")).ok
    except (OSError, ValueError):
        return False


def _of_another_user(path: Path) -> bool:
    try:
        return path.stat().st_uid != os.getuid()
    except OSError:
        return False


def _text(path: Path) -> str | None:
    """The text of a file of a store, or None where there is none to read (a warning names it unless it has just gone)."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("%s cannot be read: %s; it is left out", path, error.strerror or error)
        return None


def pack(records: Iterable[Record], folder: Path) -> list[Path]:
    """Writes records as one JSON-lines file per method and dataset, `<folder>/<method>/<dataset>.jsonl`, sorted by id.

    Records of the same files that are already there are kept unless replaced by one of the same id.

    Raises:
        ValueError: when a line that is already there is no record; nothing of that file is changed.
        OSError: when a file cannot be written.
    """
    groups: dict[Path, dict[str, Record]] = {}
    for record in records:
        path = folder / record.name("method") / f"{record.name('dataset')}.jsonl"
        groups.setdefault(path, {})[record.id] = record
    for path, group in groups.items():
        kept: dict[str, Record] = {}
        if path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
                if line.strip():
                    try:
                        old = Record.from_json(line)
                    except ValueError as error:
                        raise ValueError(f"{error}, in {path} line {number}") from error
                    kept[old.id] = old
        merged = {**kept, **group}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _encoded("".join(merged[key].to_json() + "\n" for key in sorted(merged))))
    return sorted(groups)


def _encoded(text: str) -> bytes:
    """UTF-8; what it cannot hold (bytes of a path that are no text) becomes a JSON escape."""
    return text.encode("utf-8", "backslashreplace")


def unwritable(path: Path, error: OSError) -> str:
    """What to tell a user whose file could not be written."""
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
    return f"cannot write {path}: {cause} (runs_dir=FOLDER sets where records go)"
