"""The loss of runs over their training, as lines of a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gclbench.paper.drawing.panels import Series
from gclbench.records import Record, digest, flatten

NOT_OF_THE_TRAINING = ("seed", "task.", "versions.task", "versions.protocol")
"""Beginnings of the flattened settings in which runs of one line may differ: tasks share a training
unless they hide a part of the graph from it, or show it labels."""


def curves(records: Sequence[Record]) -> tuple[Series, ...]:
    """A line per setting: the mean loss of its runs at the iterations that all of them have.

    Runs of one setting differ in seed only, or in a task that does not touch the training: seeds
    have the same curve there. Where several lines have the same method and dataset, a label names
    the settings in which they differ.

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
    apart = [line for group in groups.values() for line in _by_training(group)]
    lines = [_mean(group) for group in apart]
    labels = _labels([group[0] for group in apart])
    made = []
    for label, line, group in zip(labels, lines, apart, strict=True):
        seeds = sorted({record.seed for record in group})
        of = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        made.append(Series(f"{label} ({of})", tuple(line), tuple(line.values())))
    return tuple(made)


def _settings(record: Record) -> dict[str, object]:
    flat = flatten(record.spec)
    return {key: part for key, part in flat.items() if not key.startswith(NOT_OF_THE_TRAINING)}


def _by_training(records: Sequence[Record]) -> list[list[Record]]:
    """Runs that differ in seed and task, those together whose tasks share a training: the tasks
    have a seed in common, and the same curve in each such seed."""
    of_task: dict[str, list[Record]] = {}
    for record in records:
        of_task.setdefault(digest(record.spec["task"]), []).append(record)
    found: list[list[Record]] = []
    for runs in of_task.values():
        group = next((each for each in found if _share(each, runs)), None)
        if group is None:
            found.append(list(runs))
        else:
            group += runs
    return found


def _share(some: Sequence[Record], others: Sequence[Record]) -> bool:
    theirs = {record.seed: _curve(record) for record in others}
    both = [record for record in some if record.seed in theirs]
    return bool(both) and all(_curve(record) == theirs[record.seed] for record in both)


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
    settings = [_settings(record) for record in records]
    labels = []
    for title, record, own in zip(titles, records, settings, strict=True):
        same = [place for place, other in enumerate(titles) if other == title]
        apart = [
            # `method=2` would be no version.
            f"{key if key.startswith('versions.') else key.rpartition('.')[2]}={value}"
            for key, value in own.items()
            if any(settings[place].get(key) != value for place in same)
        ]
        if sum(settings[place] == own for place in same) > 1:
            apart.append(record.name("task"))
        labels.append(" ".join([title, *apart]))
    return labels
