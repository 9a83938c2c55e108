"""Which recorded settings a panel shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gclbench.paper.aggregate import Group
from gclbench.paper.columns import Condition, dataset_departures
from gclbench.paper.component_versions import of_newest_versions
from gclbench.paper.drawing.panels import Series
from gclbench.paper.metrics import find_metric
from gclbench.paper.sources import Collection
from gclbench.records import digest

SHORTER_RUNS = (
    "Every point is a run of its own: a seed's streams do not depend on the number of epochs, so a"
    " run with fewer epochs is the longer one stopped early."
)
"""Of figures over epochs."""


def groups_of(
    collection: Collection, task: str, *conditions: Condition, datasets: Sequence[str] = ()
) -> list[Group]:
    """The recorded settings of a task that meet the conditions, on these datasets, or on any;
    always on the form of a dataset that is shipped."""
    named = [
        group
        for group in collection.groups
        if group.name("task") == task and not dataset_departures(group.flat)
    ]
    return holding([group for group in named if not datasets or group.is_on(datasets)], *conditions)


def on(groups: Iterable[Group], dataset: str) -> list[Group]:
    """Those on a dataset."""
    return [group for group in groups if group.is_on([dataset])]


def holding(groups: Iterable[Group], *conditions: Condition) -> list[Group]:
    """Those that meet the conditions."""
    return [
        group for group in groups if all(condition.holds(group.flat) for condition in conditions)
    ]


def dataset_of(groups: Sequence[Group], asked: Sequence[str], preferred: Sequence[str]) -> str:
    """The dataset that a figure of one shows: the one asked for, else the first of the preferred
    that has a run, else the paper's."""
    if asked:
        return asked[0]
    recorded = {group.name("dataset") for group in groups}
    return next((name for name in preferred if name in recorded), preferred[0])


def shown_dataset(dataset: str, paper: str) -> str:
    """A sentence for the caption."""
    return (
        f"Dataset: {dataset}."
        if dataset == paper
        else f"Dataset: {dataset}; the paper's is {paper}."
    )


def most(groups: Sequence[Group]) -> Group | None:
    """The setting with the most runs that are ok, of those of the newest versions; of equal ones
    that of the smallest hash."""
    return min(
        of_newest_versions(groups),
        key=lambda group: (-sum(record.ok for record in group.records), group.key),
        default=None,
    )


def swept(groups: Sequence[Group], *keys: str) -> list[tuple[tuple[float, ...], Group]]:
    """A `family` of more than one setting; nothing where there is only one, which is no sweep."""
    found = family(groups, *keys)
    return found if len(found) > 1 else []


def family(groups: Sequence[Group], *keys: str) -> list[tuple[tuple[float, ...], Group]]:
    """Settings that differ in `keys` alone, with the values of these: of several such families the
    one with the most members.

    Settings where one of the keys is no number are left out.
    """
    families: dict[str, dict[tuple[float, ...], Group]] = {}
    for group in groups:
        flat = dict(group.flat)
        values = [flat.pop(key, None) for key in keys]
        numbers = tuple(
            float(value)
            for value in values
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        )
        if len(numbers) == len(keys):
            families.setdefault(digest(flat), {})[numbers] = group
    best = min(
        families.items(),
        key=lambda item: (-len(item[1]), -_runs(item[1].values()), item[0]),
        default=("", {}),
    )
    return sorted(best[1].items(), key=lambda item: item[0])


def _runs(groups: Iterable[Group]) -> int:
    return sum(len(group.records) for group in groups)


def line(label: str, members: Sequence[tuple[float, Group]], metric: str) -> Series | None:
    """A metric over the values of a setting: mean and standard deviation over runs; None where no
    run has one."""
    points = []
    factor = find_metric(metric).factor
    for value, group in members:
        cell = group.cell(metric)
        if cell.mean is not None:
            points.append((value, factor * cell.mean, factor * (cell.std or 0.0)))
    if not points:
        return None
    x, y, spread = zip(*points, strict=True)
    return Series(label, x, y, spread if any(spread) else ())
