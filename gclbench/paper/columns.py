"""Which recorded settings a column of a table holds."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from gclbench.config.value_text import text_of
from gclbench.paper.config_defaults import shipped_settings, unnamed_settings, younger_settings
from gclbench.paper.reference import printed_settings
from gclbench.records import flatten

DATASET = "dataset."

SCORED = {
    "task.normalize": "auto",
    "task.n_init": 10,
    "task.max_iter": 1000,
    "task.tolerance": 1e-5,
}
"""How rows are scaled before a task reads them, and how hard k-means and the probe try: the same
for all methods (docs/choices.md). A control of ours may have it otherwise."""

FLOORS = ("majority class", "chance")
"""What stands among the methods for a task's floor (`floors`), and is none."""


@dataclass(frozen=True)
class Condition:
    """One setting must be, or must not be, one of some values.

    Attributes:
        key: as on the command line, `method.epochs`. values: those meant. excluded: they are ruled
            out rather than asked for.
        default: what a spec without the key counts as. on: (dataset, value) of datasets where it is
            another value instead.
    """

    key: str
    values: tuple[Any, ...]
    excluded: bool = False
    default: Any = None
    on: tuple[tuple[str, Any], ...] = ()

    def of(self, dataset: str) -> Condition:
        """The condition as it is on a dataset."""
        if not self.on:
            return self
        other = dict(self.on)
        values = (other[dataset],) if dataset in other else self.values
        return replace(self, values=values, on=())

    def holds(self, flat: Mapping[str, Any]) -> bool:
        """Whether flattened settings satisfy it."""
        values = self.of(str(flat["dataset.name"])).values if self.on else self.values
        return (flat.get(self.key, self.default) in values) != self.excluded

    def override(self, task: str) -> str:
        """What makes it hold, as typed on the command line of a run of a task: `filter=none`,
        `task.clustering.clusters=null`. Of a condition that differs by dataset ask `of` first.

        Raises:
            ValueError: for a condition that only rules values out, or differs by dataset.
        """
        if self.on:
            raise ValueError(f"{self.key} differs by dataset; ask for `of` a dataset first")
        if self.excluded:
            raise ValueError(
                f"the default of {self.key} is one that the table rules out; give another one"
            )
        value = self.values[0]
        text = "null" if value is None else str(value)
        kind, _, leaf = self.key.partition(".")
        if leaf == "name":
            return f"{kind}={text}"
        return f"task.{task}.{leaf}={text}" if kind == "task" else f"{self.key}={text}"


def is_(
    key: str, *values: Any, default: Any = None, on: Mapping[str, Any] | None = None
) -> Condition:
    """`key` is one of `values`; on the datasets of `on` it is what that says."""
    return Condition(key, values, default=default, on=tuple((on or {}).items()))


def is_not(key: str, *values: Any, default: Any = None) -> Condition:
    """`key` is none of `values`."""
    return Condition(key, values, excluded=True, default=default)


RAW = is_("filter.name", "none", default="none")
GNNBP = is_("filter.name", "gnnbp")
TRAINED = is_not("method.epochs", 0)
TEN_FOLDS, LINEAR, RBF = is_("task.folds", 10), is_("task.svm", "linear"), is_("task.svm", "rbf")
PLAIN = is_("negatives.name", "uniform", "none", default="uniform")
"""Without a strategy for negatives of its own: what base methods are run with outside the
matrix."""


@dataclass(frozen=True)
class Column:
    """A column: settings of ours, and the printed row they stand beside.

    Attributes:
        label: heading. where: conditions on the spec, all of which hold.
        method, variant: whose printed values stand beside ours; no method for a control of ours.
        tuned: name of the paper whose printed settings per dataset count; without it those in
            `configs/` count, which are the papers' or their official codes'.
        footnote: on the printed values, where they are in the table.
        words: what runs it, as typed; empty for the method and what `where` asks for.
    """

    label: str
    where: tuple[Condition, ...]
    method: str | None = None
    variant: str = ""
    tuned: str = ""
    footnote: str = ""
    words: tuple[str, ...] = ()

    @cached_property
    def method_name(self) -> str:
        """The method that the column's conditions ask for (the first, where several do); "" for a
        column of no runs."""
        return next(
            (
                str(condition.values[0])
                for condition in self.where
                if condition.key == "method.name"
            ),
            "",
        )

    @property
    def added(self) -> str:
        """What a user typed to add the column to the table; "" for one of the table's own."""
        return ""

    def conditions(self, dataset: str) -> tuple[Condition, ...]:
        """What its runs on a dataset meet."""
        return tuple(condition.of(dataset) for condition in self.where)

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether a spec belongs in the column."""
        return self.matches(flatten(settings))

    def matches(self, flat: Mapping[str, Any]) -> bool:
        """Whether a flattened spec belongs in the column."""
        return all(condition.holds(flat) for condition in self.where)

    def departures(self, flat: Mapping[str, Any], asked: Sequence[Condition] = ()) -> list[str]:
        """Flattened settings that differ from the paper's: `method.epochs=3 (paper: 300)`; keys
        that `where` or the table's own conditions, `asked`, ask for are not compared.

        What is not printed is compared with what is shipped, the paper's code's or a choice of
        ours, or what a class of another package says: `method.epochs=3 (shipped: 200)`. A setting
        that a record lacks counts as different, `method.lr=unrecorded (shipped: 0.001)`, unless
        runs at the shipped one do not name it, or the setting is younger than the record: then it
        has the default.
        """
        fixed = {condition.key for condition in (*self.where, *asked) if not condition.excluded}
        printed = printed_settings(self.tuned, str(flat["dataset.name"])) if self.tuned else {}
        shipped = shipped_settings(flat)
        expected = {
            key: ("paper", value)
            for key, value in printed.items()
            if key in flat or key in shipped  # else the method has no such setting
        }
        expected |= {
            key: ("shipped", value)
            for key, value in shipped.items()
            if key not in expected and not key.startswith(DATASET)
        }
        unnamed, younger = unnamed_settings(flat), younger_settings(flat)
        if self.method:
            expected |= {key: ("shipped", value) for key, value in SCORED.items()}
            unnamed |= SCORED.keys()
        departing = [
            f"{key}={_recorded(key, flat, younger)} ({whose}: {typed(value)})"
            for key, (whose, value) in expected.items()
            if key not in fixed and not (_same(flat[key], value) if key in flat else key in unnamed)
        ]
        return departing + dataset_departures(flat, fixed, every=True)


def _recorded(key: str, flat: Mapping[str, Any], younger: Mapping[str, Any]) -> str:
    """A setting as typed; of one that is younger than the record, its default."""
    known = flat if key in flat else younger
    return typed(known[key]) if key in known else "unrecorded"


def dataset_departures(
    flat: Mapping[str, Any], fixed: Container[str] = (), every: bool = False
) -> list[str]:
    """Settings of a published dataset that differ from the shipped ones: `dataset.features=binary
    (shipped: counts)`.

    A record without the setting is older than it. It may hold another form of the graph, so it
    counts as different, unless the setting's default is the graph of before.

    Args:
        fixed: keys that are not compared. every: of a generated graph and of another package's
            dataset, too: a table stands for what its sweep makes.
    """
    unnamed = unnamed_settings(flat)
    return [
        f"{key}={typed(flat[key]) if key in flat else 'unrecorded'} (shipped: {typed(value)})"
        for key, value in shipped_settings(flat, every_dataset=every).items()
        if key.startswith(DATASET)
        and key not in fixed
        and not (_same(flat[key], value) if key in flat else key in unnamed)
    ]


def _same(ours: Any, theirs: Any) -> bool:
    return (
        list(ours) == list(theirs)
        if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple))
        else bool(ours == theirs)
    )


def typed(value: Any) -> str:
    """A setting as on the command line."""
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(typed(item) for item in value) + "]"
    if value is None or isinstance(value, (str, Mapping)):
        return text_of(value)
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
