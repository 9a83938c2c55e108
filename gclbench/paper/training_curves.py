"""The loss of runs over their training, as lines of a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gclbench.paper.drawing.panels import Series
from gclbench.records import Record, digest, flatten

NOT_OF_THE_TRAINING = ("seed", "task", "versions")
"""Parts of a spec in which runs of one line may differ."""


def curves(records: Sequence[Record]) -> tuple[Series, ...]:
    """A line per setting: the mean loss of its runs at the iterations that all of them have.

    Runs of one setting differ in seed or task only. Where several lines have the same method and
    dataset, a label names the settings in which they differ.

    Raises:
        LookupError: for a run without a loss curve.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if len(_curve(record)) < 2:
            raise LookupError(
                f"run {record.id} ({record.name('method')} · {record.name('dataset')}) has no loss"
                " curve: it trained nothing, or ended before its second look at the loss"
            )
        groups.setdefault(digest(_settings(record)), []).append(record)
    lines = [_mean(group) for group in groups.values()]
    labels = _labels([group[0] for group in groups.values()])
    made = []
    for label, line, group in zip(labels, lines, groups.values(), strict=True):
        seeds = sorted({record.seed for record in group})
        of = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        made.append(Series(f"{label} ({of})", tuple(line), tuple(line.values())))
    return tuple(made)


def _settings(record: Record) -> dict[str, object]:
    parts = {key: part for key, part in record.spec.items() if key not in NOT_OF_THE_TRAINING}
    return flatten(parts)


def _curve(record: Record) -> dict[float, float]:
    """Iteration to loss, finite ones."""
    points = record.fit.get("curve", [])
    return {
        float(iteration): float(loss)
        for iteration, loss in points
        if isinstance(loss, (int, float)) and math.isfinite(loss)
    }


def _mean(records: Sequence[Record]) -> dict[float, float]:
    """The mean of runs that may share a training: one of each seed."""
    each = {record.seed: _curve(record) for record in records}
    shared = sorted(set.intersection(*(set(curve) for curve in each.values())))
    return {
        iteration: sum(curve[iteration] for curve in each.values()) / len(each)
        for iteration in shared
    }


def _labels(records: Sequence[Record]) -> list[str]:
    """`grace · cora`, and settings where that names several."""
    titles = [f"{record.name('method')} · {record.name('dataset')}" for record in records]
    labels = []
    for title, record in zip(titles, records, strict=True):
        alike = [
            _settings(other) for other, own in zip(records, titles, strict=True) if own == title
        ]
        own = _settings(record)
        apart = [
            f"{key.rpartition('.')[2]}={value}"
            for key, value in own.items()
            if any(other.get(key) != value for other in alike)
        ]
        labels.append(" ".join([title, *apart]))
    return labels
