"""How long runs will take, by earlier records of the same method on the same dataset."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gclbench.records import Record
from gclbench.run.unit import Unit

TRAINING = ("split", "hide", "filter", "fit")


@dataclass
class Durations:
    """Seconds of trainings and of evaluations, as recorded.

    Attributes:
        trainings: by (method, dataset). evaluations: by (method, dataset, task).
    """

    trainings: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    evaluations: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record]) -> Durations:
        """Those of runs that came to their end."""
        found = cls()
        for record in records:
            if record.ok:
                pair = (record.name("method"), record.name("dataset"))
                found.trainings.setdefault(pair, []).append(
                    sum(record.seconds.get(phase, 0.0) for phase in TRAINING)
                )
                found.evaluations.setdefault((*pair, record.name("task")), []).append(
                    record.seconds.get("evaluate", 0.0)
                )
        return found

    def seconds(self, unit: Unit) -> float | None:
        """The mean of one unit, None where nothing like it is recorded."""
        pair = (unit.method, unit.dataset)
        if pair not in self.trainings:
            return None
        evaluations = (self.evaluations.get((*pair, task), [0.0]) for task in unit.tasks)
        return statistics.fmean(self.trainings[pair]) + sum(
            statistics.fmean(values) for values in evaluations
        )

    def total(self, units: Sequence[Unit]) -> tuple[float, int]:
        """Seconds of those units that something is known of, one after the other, and how many
        nothing is known of."""
        known = [self.seconds(unit) for unit in units]
        return sum(value for value in known if value is not None), sum(
            value is None for value in known
        )

    def left(self, units: Sequence[Unit], at_once: int) -> str:
        """`about 12 min`, for units of which `at_once` run at a time; unknown ones count as the
        mean of the others."""
        seconds, unknown = self.total(units)
        if not units:
            return "nothing"
        if unknown == len(units):
            return "unknown: nothing like these runs is recorded"
        seconds *= len(units) / (len(units) - unknown)
        return f"about {spoken(seconds / max(1, min(at_once, len(units))))}"


def spoken(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h`, `2.1 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
