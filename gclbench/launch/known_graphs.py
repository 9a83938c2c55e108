"""What is known of graphs without reading them: for a dry run, which reads none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.data.file_format import unusable
from gclbench.data.mirror import DataUnavailable
from gclbench.machine.paths import expanded
from gclbench.records import Record, digest

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment

UNREAD = "unread"
"""Begins what stands in the place of a content hash that nothing tells: no run is recorded on such
a graph. The file's path follows, since two files are two graphs."""


class KnownGraphs:
    """The content of graphs, as runs on them recorded it.

    A user's own graph that was written later than its runs counts as another one.
    """

    def __init__(self) -> None:
        self._latest: dict[str, Record] = {}

    def noted(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records; what they say of their graphs is kept."""
        for record in records:
            key = digest(record.spec["dataset"])
            before = self._latest.get(key)
            if before is None or record.created > before.created:
                self._latest[key] = record
            yield record

    def completed(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records; of graphs that nothing is known of, what they say is kept."""
        known = frozenset(self._latest)
        for record in records:
            key = digest(record.spec["dataset"])
            before = self._latest.get(key)
            if key not in known and (before is None or record.created > before.created):
                self._latest[key] = record
            yield record

    def content_hashes(self, experiments: Iterable[Experiment]) -> dict[Any, str]:
        """Dataset to content hash, `UNREAD` and its path where it is not known."""
        found = {}
        for experiment in experiments:
            dataset = experiment.components.dataset
            record = self._latest.get(digest(experiment.settings["dataset"]))
            stamp = getattr(dataset, "stamp", None)
            if record is None or (stamp is not None and stamp[0] / 1e9 > _moment(record.created)):
                found[dataset] = f"{UNREAD} {getattr(dataset, 'path', '')}"
            else:
                found[dataset] = str(record.spec["dataset_hash"])
        return found


def _moment(created: str) -> float:
    """Seconds since 1970 at the end of the second that a record names; 0 where it names none, as a
    record of another program may."""
    try:
        return datetime.fromisoformat(created).timestamp() + 1
    except ValueError:
        return 0.0


def refused_unread(dataset: Any) -> None:
    """Says of a user's own file what can be said without reading it.

    Raises:
        DataUnavailable: it is not there, or no `.npz`.
    """
    if hasattr(dataset, "stamp") and (why := unusable(Path(expanded(dataset.path)))):
        raise DataUnavailable(why)
