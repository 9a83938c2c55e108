"""Records of several stores as one collection."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gclbench.machine.paths import expanded, no_folder
from gclbench.paper.aggregate import Group, group_records
from gclbench.records import Record, Store, StoreWarnings, differ

RESULTS = "results"
"""The folder of records that were exported, beside the folder of runs."""

DEFAULT_STORES = (RESULTS, "runs")

BETWEEN = "runs differ between stores; the newer one that is ok is used"


class MissingStore(LookupError):
    """A folder of records that was asked for is not there."""


@dataclass(frozen=True)
class Collection:
    """Records, one per run.

    Attributes:
        records: in order of id. origin: id of a record to the store it came from. stores: folders
            read, as given.
        warnings: one line on each file, line or record of the stores that is not what it should be,
            in order.
    """

    records: tuple[Record, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    stores: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @cached_property
    def groups(self) -> list[Group]:
        """The records by setting, as `group_records` gives them; made once, however many tables are
        filled."""
        return group_records(self.records)

    def per_store(self, records: Iterable[Record]) -> Counter[str]:
        """How many of `records` came from each store."""
        return Counter(self.origin[record.id] for record in records if record.id in self.origin)


def collect(folders: Iterable[str] | None = None) -> Collection:
    """The records under the folders.

    A run recorded in several stores is taken once: the record that is ok, then the newer, then the
    one of the store named first.

    Args:
        folders: stores; None means `results` and `runs` of the current folder, those that exist.

    Raises:
        MissingStore: a named folder does not exist.
    """
    if folders is None:
        names = [name for name in DEFAULT_STORES if Path(name).is_dir()]
    else:
        names = list(dict.fromkeys(map(expanded, folders)))
        for name in names:
            if not Path(name).is_dir():
                raise MissingStore(
                    f"{no_folder(name)}; name folders of records with --runs, such as"
                    " --runs results runs"
                )
    kept: dict[str, Record] = {}
    origin: dict[str, str] = {}
    warnings = StoreWarnings()
    with _no_garbage():
        for name in names:
            for record in Store(name).scan(warnings):
                earlier = kept.get(record.id)
                if earlier is not None and differ(earlier, record):
                    text = (
                        f"run {record.id} differs between {origin[record.id]} and {name}; the newer"
                        " one that is ok is used"
                    )
                    warnings.add(BETWEEN, text)
                if earlier is None or (record.ok, record.created) > (earlier.ok, earlier.created):
                    kept[record.id], origin[record.id] = record, name
        warnings.sum_up(", ".join(names))
    return Collection(
        tuple(kept[key] for key in sorted(kept)), origin, tuple(names), tuple(warnings.texts)
    )


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Millions of loss curves' numbers are made and all are kept: looking for garbage among them
    takes longer than reading them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
