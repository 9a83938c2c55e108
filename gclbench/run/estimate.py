"""How long runs will take, by earlier records of the same method on the same dataset.

A training of another number of epochs is scaled by the seconds of an epoch. Nothing is guessed
from other methods, filters, strategies for negatives or datasets, nor from the same ones with other
choices in words: a graph kernel does not tell what another one costs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gclbench.records import Record
from gclbench.run.unit import Unit

BESIDE = ("split", "hide", "filter")
"""Phases before the training, which its length does not change."""

Key = tuple[str, ...]
"""Method and dataset, their names or more of a run's settings; with a task behind them."""


def name_key(settings: Mapping[str, Any]) -> Key:
    """The names of a run's method and dataset."""
    return settings["method"]["name"], settings["dataset"]["name"]


def cost_key(settings: Mapping[str, Any]) -> Key:
    """What a run's cost hangs on besides quantities and the task: its method, filter and strategy
    for negatives, and its dataset, with the settings of each that are words or switches.

    Args:
        settings: per kind of component, `name` and its settings, as in a record's spec.
    """
    return (
        " · ".join(_words(settings.get(kind, {})) for kind in ("method", "filter", "negatives")),
        _words(settings["dataset"]),
    )


def _words(settings: Mapping[str, Any]) -> str:
    chosen = [f"{key}={value}" for key, value in settings.items() if _is_choice(value)]
    return " ".join(sorted(chosen))


def _is_choice(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, (str, bool))


@dataclass
class Durations:
    """Seconds of trainings and of evaluations, as recorded.

    Attributes:
        beside: of the phases before the training, by method and dataset.
        trainings: of (epochs asked for, seconds), by method and dataset; None where the method has
            no epochs.
        evaluations: by method, dataset and task.
        fallback: what tells of units that these do not tell of, or only by scaling.
    """

    beside: dict[Key, list[float]] = field(default_factory=dict)
    trainings: dict[Key, list[tuple[int | None, float]]] = field(default_factory=dict)
    evaluations: dict[Key, list[float]] = field(default_factory=dict)
    fallback: Durations | None = None

    @classmethod
    def of(
        cls,
        records: Iterable[Record],
        key_of: Callable[[Mapping[str, Any]], Key] = cost_key,
        on_gpu: bool | None = None,
    ) -> Durations:
        """Those of runs that came to their end.

        Args:
            key_of: the method and dataset of a run's settings, as they are looked up.
            on_gpu: of runs on a GPU alone, or of those on a processor alone: the one says nothing
                of the other's seconds. None: of all.
        """
        found = cls()
        for record in records:
            if record.ok and on_gpu in (None, record.on_gpu):
                key = key_of(record.spec)
                found.beside.setdefault(key, []).append(
                    sum(record.seconds.get(phase, 0.0) for phase in BESIDE)
                )
                found.trainings.setdefault(key, []).append(
                    (_epochs(record.spec["method"]), record.seconds.get("fit", 0.0))
                )
                found.evaluations.setdefault((*key, record.name("task")), []).append(
                    record.seconds.get("evaluate", 0.0)
                )
        return found

    def seconds(self, unit: Unit) -> float | None:
        """Those of one unit: of trainings of as many epochs, here or in `fallback`; else scaled
        from others, here or there. None where nothing of its `cost_key`, or one of its tasks, is
        recorded, or not at a number of epochs that says what its own cost."""
        return self._found(unit)[0]

    def by_fallback(self, unit: Unit) -> bool:
        """Whether its seconds are those of `fallback`."""
        return self._found(unit)[1]

    def _found(self, unit: Unit) -> tuple[float | None, bool]:
        places = (
            [(self, False)] if self.fallback is None else [(self, False), (self.fallback, True)]
        )
        for find in (Durations._alike, Durations._scaled):
            for durations, other in places:
                evaluated = durations._evaluated(unit)
                training = find(durations, unit.cost_key, unit.epochs)
                if training is not None and evaluated is not None:
                    return training + evaluated, other
        return None, False

    def _evaluated(self, unit: Unit) -> float | None:
        """Seconds beside the training; None where a task is not recorded."""
        key = unit.cost_key
        evaluations = [self.evaluations.get((*key, task)) for task in unit.tasks]
        if None in evaluations or key not in self.beside:
            return None
        found = statistics.fmean(self.beside[key])
        return found + sum(statistics.fmean(values) for values in evaluations if values)

    def training(self, key: Key, epochs: int | None) -> float | None:
        """Seconds of a training of a (method, dataset): the mean of those of as many epochs; else
        the seconds of an epoch in the longest ones, times the epochs; None where neither is
        known."""
        alike = self._alike(key, epochs)
        return self._scaled(key, epochs) if alike is None else alike

    def _alike(self, key: Key, epochs: int | None) -> float | None:
        alike = [seconds for count, seconds in self.trainings.get(key, []) if count == epochs]
        return statistics.fmean(alike) if alike else None

    def _scaled(self, key: Key, epochs: int | None) -> float | None:
        recorded = self.trainings.get(key, [])
        counts = [count for count, _ in recorded if count]
        if not epochs or not counts:
            return None
        longest = max(counts)
        return epochs * statistics.fmean(
            seconds / count for count, seconds in recorded if count == longest
        )

    def total(self, units: Sequence[Unit]) -> tuple[float, int]:
        """Seconds of those units that something is known of, one after the other, and how many
        nothing is known of."""
        known = [self.seconds(unit) for unit in units]
        return sum(value for value in known if value is not None), sum(
            value is None for value in known
        )

    def left(self, units: Sequence[Unit], at_once: int) -> str:
        """`about 12 min`, for units of which `at_once` run at a time; what nothing is known of is
        not guessed: `about 12 min for 3 units; unknown for 2: …`."""
        seconds, unknown = self.total(units)
        if not units:
            return "nothing"
        if unknown == len(units):
            return "unknown: nothing like these runs is recorded"
        told = f"about {spoken(seconds / max(1, min(at_once, len(units))))}"
        if not unknown:
            return told
        return (
            f"{told} for {len(units) - unknown} of {len(units)} units; unknown for {unknown}:"
            " nothing like them is recorded"
        )


def _epochs(method: Mapping[str, Any]) -> int | None:
    found = method.get("epochs")
    return found if isinstance(found, int) else None


def spoken(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h`, `2.1 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
