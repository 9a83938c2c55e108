"""Records packed into a few files, for committing or sharing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gclbench.records.atomic import turn, write_atomically
from gclbench.records.files import content
from gclbench.records.record import Record
from gclbench.records.schema import SCHEMA
from gclbench.records.store import better_of, encoded


def pack(records: Iterable[Record], folder: Path) -> tuple[list[Path], list[str]]:
    """Writes records as one JSON-lines file per method and dataset,
    `<folder>/<method>/<dataset>.jsonl`, sorted by id.

    Records of the same files that are already there are kept unless replaced by one of the same
    id. One that is ok is replaced only by another one that is (as `Store.write` does), and that
    holds all parts of its data, such as a course that a command had asked for. Several processes
    may pack into one folder at once (`atomic.turn`).

    Returns:
        The files, and the ids of records there that were better and stay.

    Raises:
        ValueError: when a line that is already there is not a record; the file stays as it is.
        OSError: when a file cannot be written.
    """
    groups: dict[Path, dict[str, Record]] = {}
    stayed: list[str] = []
    for record in records:
        path = folder / record.name("method") / f"{record.name('dataset')}.jsonl"
        group = groups.setdefault(path, {})
        if _replaces(record, group.get(record.id)):
            group[record.id] = record
    for path, group in groups.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with turn(path.parent):
            stayed += _merge(group, path)
    return sorted(groups), sorted(stayed)


def _merge(group: dict[str, Record], path: Path) -> list[str]:
    """Writes records into one packed file, with those that it has.

    Args:
        group: the records, by id.

    Returns:
        The ids of those that do not replace what is there.
    """
    kept: dict[str, Record] = {}
    newer: dict[str, str] = {}
    if path.exists():
        for number, line in enumerate(content(path).split(b"\n"), start=1):
            if line.strip():
                try:
                    old = Record.from_json(line.decode())
                except ValueError as error:
                    raise ValueError(f"{error}, in {path} line {number}") from error
                # Of two lines of one run, as a merge of branches leaves them, that of `Store.scan`.
                kept[old.id] = better_of(kept.get(old.id, old), old)
                if kept[old.id] is old:
                    newer.pop(old.id, None)
                    if old.schema > SCHEMA:
                        newer[old.id] = line.decode()
    better = {key: new for key, new in group.items() if _replaces(new, kept.get(key))}
    merged = {key: record.to_json() for key, record in {**kept, **better}.items()}
    # A record of a newer schema stays as it is: its fields that are unknown here, too.
    merged |= {key: line for key, line in newer.items() if merged[key] == kept[key].to_json()}
    write_atomically(path, encoded("".join(f"{merged[key]}\n" for key in sorted(merged))))
    return [key for key in group if key not in better]


def _replaces(new: Record, old: Record | None) -> bool:
    """Whether a record takes the place of another one of its id."""
    if old is None or not old.ok:
        return True
    return new.ok and _parts(old) <= _parts(new)


def _parts(record: Record) -> set[str]:
    """What a run's command may have asked for besides its metrics."""
    return {*record.data, *record.fit.get("criteria", {})}
