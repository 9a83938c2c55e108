"""Records of several stores as one collection."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gclbench.records import Record, Store

log = logging.getLogger(__name__)

DEFAULT_STORES = ("results", "runs")


class MissingStore(LookupError):
    """A folder of records that was asked for is not there."""


@dataclass(frozen=True)
class Collection:
    """Records, one per run.

    Attributes:
        records: in order of id. origin: id of a record to the store it came from. stores: folders read, as given.
    """

    records: tuple[Record, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    stores: tuple[str, ...] = ()

    def per_store(self, records: Iterable[Record]) -> Counter[str]:
        """How many of `records` came from each store."""
        return Counter(self.origin[record.id] for record in records if record.id in self.origin)


def collect(folders: Iterable[str] | None = None) -> Collection:
    """The records under the folders.

    A run recorded in several stores is taken once: the record that is ok, then the newer, then the one of the store named first.

    Args:
        folders: stores; None means `results` and `runs` of the current folder, those that exist.

    Raises:
        MissingStore: a named folder does not exist.
    """
    if folders is None:
        names = [name for name in DEFAULT_STORES if Path(name).is_dir()]
    else:
        names = list(dict.fromkeys(folders))
        for name in names:
            if not Path(name).is_dir():
                raise MissingStore(f"there is no folder '{name}'; name folders of records with --runs, such as --runs results runs")
    kept: dict[str, Record] = {}
    origin: dict[str, str] = {}
    for name in names:
        for record in Store(name).scan():
            earlier = kept.get(record.id)
            if earlier is not None and (earlier.status, earlier.metrics) != (record.status, record.metrics):
                log.warning(
                    "run %s differs between %s and %s; the newer one that is ok is used", record.id, origin[record.id], name
                )
            if earlier is None or (record.ok, record.created) > (earlier.ok, earlier.created):
                kept[record.id], origin[record.id] = record, name
    return Collection(tuple(kept[key] for key in sorted(kept)), origin, tuple(names))
