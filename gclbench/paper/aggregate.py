"""Records to cells: the runs of one setting over seeds, and what became of each of them."""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gclbench.paper.config_defaults import with_younger
from gclbench.records import NAMED_BY_USER, STATUSES, Record, digest, flatten

MISSING_METRIC = "no value"
NOT_FINITE = "not finite"
NOT_RUN = "not run"
NOT_COUNTED = "not counted"
SHOWN_STATUS = {"oom": "OOM"}
FAILURES = (*STATUSES, NOT_FINITE, MISSING_METRIC)
"""Why a run has no value, in the order in which they are told."""


@dataclass(frozen=True)
class Cell:
    """One metric of one setting over seeds.

    Attributes:
        values: seed to value, finite ones only.
        absent: seeds without a value, by reason: a record's status, `not finite` or `no value`.
    """

    values: Mapping[int, float] = field(default_factory=dict)
    absent: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of runs that count."""
        return len(self.values)

    @property
    def mean(self) -> float | None:
        """Mean over runs, None without one."""
        return statistics.fmean(self.values.values()) if self.values else None

    @property
    def std(self) -> float | None:
        """Standard deviation over runs with ddof=1; None for fewer than two."""
        return statistics.stdev(self.values.values()) if self.n > 1 else None

    @property
    def statuses(self) -> Counter[str]:
        """How many runs have no value, by reason."""
        return Counter({reason: len(seeds) for reason, seeds in self.absent.items()})

    def show_absent(self) -> str:
        """`OOM ×2, diverged ×1`; empty when every run has a value."""
        return ", ".join(
            f"{SHOWN_STATUS.get(reason, reason)} ×{count}"
            for reason, count in self.statuses.items()
        )

    def show(self, factor: float = 1) -> str:
        """`70.57 ± 1.28 (10)`, `70.57 (1)`, `70.57 ± 1.28 (8; OOM ×2)`, `OOM ×10` or `not run`.

        Args:
            factor: what values are multiplied by: 100 for fractions in percent.
        """
        absent = self.show_absent()
        if self.mean is None:
            return absent or NOT_RUN
        spread = "" if self.std is None else f" ± {factor * self.std:.2f}"
        return f"{factor * self.mean:.2f}{spread} ({self.n}{'; ' if absent else ''}{absent})"

    def apart(self) -> tuple[tuple[str, Cell], ...]:
        """(what differs, cell) for each of several settings; ("", self) for a single one."""
        return (("", self),)


@dataclass(frozen=True)
class SideBySide(Cell):
    """Several settings in one place, never averaged.

    Attributes:
        settings: as `apart` gives them.
    """

    settings: tuple[tuple[str, Cell], ...] = ()

    def apart(self) -> tuple[tuple[str, Cell], ...]:
        """The settings."""
        return self.settings

    def show(self, factor: float = 1) -> str:
        """`69.58 (1) [negatives.diversity=False]; 64.33 (1) [negatives.diversity=True]`."""
        return "; ".join(f"{cell.show(factor)} [{what}]" for what, cell in self.settings)


@dataclass(frozen=True)
class Fact(Cell):
    """What is no result of runs: a count of a dataset, a setting.

    Attributes:
        text: as shown; "" where it is not known. number: its value where it has one.
    """

    text: str = ""
    number: float | None = None

    @property
    def mean(self) -> float | None:
        """The number."""
        return self.number

    def show(self, factor: float = 1) -> str:
        """The text; `not counted` without one."""
        return self.text or NOT_COUNTED


@dataclass(frozen=True)
class Group:
    """The runs of one setting: specs that agree in everything but the seed.

    Attributes:
        settings: the spec without its seed; a user's own graph has the alphabetically first of its
            names. records: one per seed, in order of seed.
        called: the other names of a user's own graph, in runs of this or of other settings.
    """

    settings: Mapping[str, Any]
    records: tuple[Record, ...]
    called: tuple[str, ...] = ()

    @functools.cached_property
    def key(self) -> str:
        """Hash of the settings."""
        return digest(self.settings)

    def name(self, kind: str) -> str:
        """The name of a component: `group.name("method")`."""
        return str(self.settings[kind]["name"])

    def is_on(self, datasets: Container[str]) -> bool:
        """Whether the dataset is among these, under any of its names."""
        return any(name in datasets for name in (self.name("dataset"), *self.called))

    def metrics(self) -> list[str]:
        """Names of the metrics that some run recorded, in the order of the records."""
        return list(
            dict.fromkeys(
                metric for record in self.records if record.ok for metric in record.metrics
            )
        )

    @functools.cached_property
    def flat(self) -> dict[str, Any]:
        """The settings, flattened."""
        return flatten(self.settings)

    def cell(self, metric: str, read: Callable[[Record], float | None] | None = None) -> Cell:
        """The metric, or what `read` makes of a record, over seeds.

        A run without a finite value is counted by reason, never averaged or dropped.
        """
        values: dict[int, float] = {}
        absent: dict[str, list[int]] = {}
        for record in self.records:
            value = record.metrics.get(metric) if read is None else read(record)
            if not record.ok:
                absent.setdefault(record.status, []).append(record.seed)
            elif value is None:
                absent.setdefault(MISSING_METRIC, []).append(record.seed)
            elif not math.isfinite(value):
                absent.setdefault(NOT_FINITE, []).append(record.seed)
            else:
                values[record.seed] = value
        found = {reason: tuple(absent[reason]) for reason in FAILURES if reason in absent}
        return Cell(values, found)


def group_records(records: Iterable[Record]) -> list[Group]:
    """Records by setting, sorted by task, dataset, method and settings; of two records of one run
    the one that is ok, else the newer.

    The name of a user's own graph is no part of a run (`records.id_of`): it tells no settings
    apart.
    """
    records = tuple(records)
    names = _names_of_own(records)
    groups: dict[str, dict[int, Record]] = {}
    settings: dict[str, dict[str, Any]] = {}
    called: dict[str, tuple[str, ...]] = {}
    for record in records:
        setting = {key: value for key, value in record.spec.items() if key != "seed"}
        first, *others = names.get(_own_graph(record.spec), [record.name("dataset")])
        setting["dataset"] = {**setting["dataset"], "name": first}
        key = digest(setting)
        called[key] = tuple(others)
        settings[key] = setting
        seeds = groups.setdefault(key, {})
        earlier = seeds.get(record.seed)
        if earlier is None or (record.ok, record.created, record.id) > (
            earlier.ok,
            earlier.created,
            earlier.id,
        ):
            seeds[record.seed] = record
    found = [
        Group(settings[key], tuple(seeds[seed] for seed in sorted(seeds)), called[key])
        for key, seeds in groups.items()
    ]
    return sorted(
        found,
        key=lambda group: (
            group.name("task"),
            group.name("dataset"),
            group.name("method"),
            group.key,
        ),
    )


def _own_graph(spec: Mapping[str, Any]) -> str:
    """Equal for runs on one graph of a user's own, whatever it is called; "" of any other graph,
    and where a record does not say what the graph holds."""
    dataset, content = spec["dataset"], spec.get("dataset_hash")
    if NAMED_BY_USER not in dataset or not content:
        return ""
    return digest([content, {key: value for key, value in dataset.items() if key != "name"}])


def _names_of_own(records: Iterable[Record]) -> dict[str, list[str]]:
    """The names of each of a user's own graphs, alphabetically."""
    found: dict[str, set[str]] = {}
    for record in records:
        if graph := _own_graph(record.spec):
            found.setdefault(graph, set()).add(record.name("dataset"))
    return {graph: sorted(names) for graph, names in found.items()}


def differences(groups: Sequence[Group]) -> list[str]:
    """For each setting, what tells it from the others: `method.epochs=3, filter.name=none`; empty
    for a single one.

    Where the name of a component differs, its own settings are named only if two groups of that
    name differ in them.
    """
    flat = [group.flat for group in groups]
    keys = sorted({key for settings in flat for key in settings})
    telling = [key for key in keys if _tells(key, flat)]
    # A setting that is younger than the first records stands in none at its default.
    named = [with_younger(settings) for settings in flat]
    return [
        ", ".join(f"{key}={_short(settings[key])}" for key in telling if key in settings)
        for settings in named
    ]


def _tells(key: str, flat: Sequence[Mapping[str, Any]]) -> bool:
    """Whether groups differ in a setting, and not only because another component of that kind has
    no such setting, or another version."""
    kind, _, leaf = key.partition(".")
    name = f"{leaf if kind == 'versions' else kind}.name"
    values: dict[Any, set[str]] = {}
    for settings in flat:
        values.setdefault(None if key == name else settings.get(name), set()).add(
            digest([settings.get(key)])
        )
    return any(len(found) > 1 for found in values.values())


def _short(value: Any) -> str:
    """A setting as typed; a hash cut to eight digits."""
    text = "null" if value is None else str(value)
    return (
        text[:8]
        if len(text) == 64 and set(text) <= set("0123456789abcdef")
        else text.replace(" ", "")
    )
