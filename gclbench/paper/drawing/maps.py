"""t-SNE maps side by side, from runs of task=tsne."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gclbench.paper.columns import Condition
from gclbench.paper.drawing.panels import Cloud, FigureContent, PlotPanel
from gclbench.paper.drawing.selection import (
    dataset_of,
    groups_of,
    holding,
    most,
    on,
    shown_dataset,
)
from gclbench.paper.figure_definition import Build
from gclbench.paper.measure import finite_number
from gclbench.paper.sources import Collection
from gclbench.records import Record

TSNE = "tsne"


class NoMap(ValueError):
    """A record's data is no map; the text says why."""


def cloud(record: Record) -> Cloud:
    """The map that a run of task=tsne recorded.

    Raises:
        NoMap: parts are missing, of different lengths, or no numbers.
    """
    parts = [
        record.data.get(name) if isinstance(record.data, Mapping) else None
        for name in ("x", "y", "classes")
    ]
    lists = [part for part in parts if isinstance(part, list)]
    if len(lists) < len(parts) or not lists[0]:
        raise NoMap("it holds no coordinates")
    if len({len(part) for part in lists}) > 1:
        raise NoMap(f"it holds {len(lists[0])} x, {len(lists[1])} y and {len(lists[2])} classes")
    x, y, classes = (
        tuple(value for item in part if (value := finite_number(item)) is not None)
        for part in lists
    )
    if not len(x) == len(y) == len(classes) == len(lists[0]):
        raise NoMap("a coordinate or class is no number")
    if not all(value.is_integer() for value in classes):
        raise NoMap("a class is no whole number")
    return Cloud(x, y, tuple(int(value) for value in classes))


def side_by_side(panels: Mapping[str, tuple[Condition, ...]], preferred: Sequence[str]) -> Build:
    """A figure with one map per entry of `panels`, of the lowest seed that has one."""

    def content(collection: Collection, datasets: Sequence[str]) -> FigureContent:
        found = groups_of(collection, TSNE, datasets=datasets or preferred)
        fitting = [group for conditions in panels.values() for group in holding(found, *conditions)]
        dataset = dataset_of(fitting, datasets, preferred)
        here = on(found, dataset)
        shown, used, remarks = [], [], []
        for title, conditions in panels.items():
            group = most(holding(here, *conditions))
            panel, record, remark = _panel(title, group.records if group else ())
            shown.append(panel)
            used += [record] if record else []
            remarks += remark
        return FigureContent(
            tuple(shown), tuple(used), remarks=(shown_dataset(dataset, preferred[0]), *remarks)
        )

    return content


def _panel(title: str, records: Sequence[Record]) -> tuple[PlotPanel, Record | None, list[str]]:
    """The map of the first record that has one."""
    remarks = []
    for record in records:
        if not record.ok:
            remarks.append(f"{title}, seed {record.seed}: {record.status}.")
            continue
        try:
            places = cloud(record)
        except NoMap as error:
            remarks.append(f"{title}: run {record.id} has no map that could be drawn: {error}.")
            continue
        scores = [
            ("", finite_number(record.metrics.get("silhouette"))),
            ("on the map ", finite_number(record.data.get("silhouette"))),
        ]
        told = [f"{where}{value:.2f}" for where, value in scores if value is not None]
        return (
            PlotPanel(
                title, f"silhouette of classes {', '.join(told)}" if told else "", cloud=places
            ),
            record,
            remarks,
        )
    return PlotPanel(title, missing="no usable map" if remarks else "not run"), None, remarks


def map_commands(*methods: str) -> Callable[[Sequence[str]], list[str]]:
    """The commands whose runs have the maps, of one dataset."""
    return lambda datasets: [
        f"gclbench {method} dataset={datasets[0]} task=tsne" for method in methods
    ]
