"""What is reached without an embedding, beside results that no paper prints a number for.

A majority class or clusters dealt at random are what a method has to beat; on a dataset that papers
print, their numbers and the controls say more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gclbench.paper.aggregate import Cell, Group, differences
from gclbench.paper.columns import FLOORS, SCORED
from gclbench.paper.filled_table import Entry
from gclbench.paper.metrics import OF_TASK, find_metric
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES
from gclbench.records import Record, digest
from gclbench.records.record import id_of

MAJORITY, CHANCE = FLOORS
NAMES = {
    "classification": MAJORITY,
    "graph_classification": MAJORITY,
    "clustering": CHANCE,
    "graph_clustering": CHANCE,
}
"""What a task's floor is called, as a row among the methods."""

FIRST = {
    "classification": "accuracy",
    "graph_classification": "accuracy",
    "clustering": "acc",
    "graph_clustering": "acc",
}
"""The metric that says whether a method is below it."""


def with_floors(collection: Collection) -> Collection:
    """Records with those of the floors beside them, as if they were methods.

    A floor depends on the graph, the task and the seed, not on how hard a task tries, so runs of
    several methods give one.
    """
    found: dict[str, Record] = {}
    for record in collection.records:
        if record.floor and record.name("task") in NAMES and not _printed(record.name("dataset")):
            name = NAMES[record.name("task")]
            task = record.spec["task"]
            scored = {key: SCORED[f"task.{key}"] for key in task if f"task.{key}" in SCORED}
            plain = {
                **record.spec,
                "task": {**task, **scored},
                "filter": {"name": "none"},
                "method": {"name": name},
                "negatives": {"name": "uniform"},
                "versions": {
                    key: text
                    for key, text in record.spec.get("versions", {}).items()
                    if key == "protocol"
                },
            }
            floor = Record(
                id=id_of(plain),
                spec=plain,
                status="ok",
                metrics=record.floor,
                command=record.command,
                created=record.created,
            )
            found.setdefault(floor.id, floor)
    return replace(collection, records=(*collection.records, *found.values()))


def _printed(dataset: str) -> bool:
    """Whether a paper's table has numbers on a dataset."""
    return any(dataset in table.datasets for table in TABLES.values())


@dataclass
class Floors:
    """The floors of the groups of a closing table.

    Attributes:
        seen: by (task, dataset, digest of the task's settings), the groups with their labels.
    """

    seen: dict[tuple[str, str, str], list[tuple[str, Group]]] = field(default_factory=dict)

    def add(self, label: str, group: Group) -> None:
        """Adds a group whose dataset no paper's table has and whose runs have a floor."""
        if (
            group.name("task") in NAMES
            and not _printed(group.name("dataset"))
            and any(record.floor for record in group.records)
        ):
            settings = digest([group.settings["task"], group.settings.get("dataset_hash")])
            key = (group.name("task"), group.name("dataset"), settings)
            self.seen.setdefault(key, []).append((label, group))

    def beside(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries with those of the floors behind the last one of their task and graph."""
        found, labels = list(entries), self._labels()
        for key, groups in self.seen.items():
            task, dataset, _ = key
            own = [
                Entry(dataset, metric, labels[key], Cell(values), None, task=task)
                for metric in OF_TASK[task]
                if (values := _values(groups, metric))
            ]
            last = max(
                place
                for place, entry in enumerate(found)
                if (entry.task, entry.dataset) == (task, dataset)
                and entry.column in {label for label, _ in groups}
            )
            found[last + 1 : last + 1] = own
        return found

    def below(self) -> list[str]:
        """One line per task and dataset on the methods whose mean is not above the floor's."""
        lines, labels = [], self._labels()
        for key, groups in self.seen.items():
            task, dataset, _ = key
            metric = FIRST[task]
            floor = Cell(_values(groups, metric)).mean
            low = [
                label
                for label, group in groups
                if floor is not None
                if (mean := group.cell(metric).mean) is not None and mean <= floor
            ]
            if low and floor is not None:
                shown = f"{find_metric(metric).factor * floor:.2f}"
                lines.append(
                    f"{dataset} · {task}: not above the {labels[key]} ({metric} {shown}):"
                    f" {', '.join(low)}"
                )
        return lines

    def _labels(self) -> dict[tuple[str, str, str], str]:
        """A floor's name; `chance [dataset.nodes=100]` where a dataset's name has several graphs,
        or a task several settings."""
        alike: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for key in self.seen:
            alike.setdefault(key[:2], []).append(key)
        found = {}
        for (task, _), keys in alike.items():
            alone = [_without_a_method(self.seen[key][0][1]) for key in keys]
            for key, what in zip(keys, differences(alone), strict=True):
                found[key] = f"{NAMES[task]} [{what}]" if what else NAMES[task]
        return found


def _without_a_method(group: Group) -> Group:
    """The group's graph and task alone."""
    kept = ("dataset", "dataset_hash", "task")
    return Group({kind: value for kind, value in group.settings.items() if kind in kept}, ())


def _values(groups: Sequence[tuple[str, Group]], metric: str) -> Mapping[int, float]:
    """The floor by seed: it depends on the split, not on the method."""
    return {
        record.seed: record.floor[metric]
        for _, group in groups
        for record in group.records
        if metric in record.floor
    }
