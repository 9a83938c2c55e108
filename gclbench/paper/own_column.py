"""A column of one's own in a paper's table: a method and settings as typed, `grace method.tau=0.4`.

On every dataset it stands for what these words run there. Nothing printed stands beside it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gclbench.component.declared import declared_or_none
from gclbench.component.registry import METHODS
from gclbench.config.composition import items_of_tasks
from gclbench.paper.aggregate import Group
from gclbench.paper.asked_settings import (
    CHOSEN,
    departing,
    methods_of,
    no_runs,
    settings_of,
    stands_for,
    words_of,
)
from gclbench.paper.columns import (
    DATASET,
    SCORED,
    Column,
    Condition,
    dataset_departures,
    is_,
    typed,
)
from gclbench.paper.config_defaults import unnamed_settings
from gclbench.paper.table_definition import Definition

ELSEWHERE = (
    "a row is method=, filter=, negatives= and their settings; the table says on which datasets and"
    " for which task"
)


@dataclass(frozen=True)
class OwnColumn(Column):
    """Runs of the words' method, filter and strategy, with the settings that the words name.

    Other settings than those, and than what is shipped, are departures.
    """

    @property
    def added(self) -> str:
        """As typed."""
        return self.label

    def matches(self, flat: Mapping[str, Any]) -> bool:
        """Whether a flattened spec is of that method, filter and strategy, and has the settings
        that the words name."""
        if not super().matches(flat):
            return False
        named = {word.partition("=")[0] for word in self.words}
        wanted = stands_for(self.words, str(flat["dataset.name"]))
        if not wanted:
            return False
        return all(
            flat.get(f"{kind}.name", wanted[f"{kind}.name"]) == wanted[f"{kind}.name"]
            for kind in CHOSEN
        ) and not any(key in named for key in departing(self.words, flat))

    def departures(self, flat: Mapping[str, Any], asked: Sequence[Condition] = ()) -> list[str]:
        """`method.lr=0.1 (asked: 0.001)`; and how the task scores and the form of the dataset, as
        of every column."""
        fixed = {condition.key for condition in asked if not condition.excluded}
        unnamed = unnamed_settings(flat)
        own = [
            f"{key}={ours} (asked: {wanted})"
            for key, (ours, wanted) in departing(self.words, flat).items()
            if key not in unnamed or key in flat
        ]
        scored = [
            f"{key}={typed(flat[key])} (shipped: {typed(value)})"
            for key, value in SCORED.items()
            if key not in fixed and flat.get(key, value) != value
        ]
        return own + scored + dataset_departures(flat, fixed, every=True)


def own_columns(texts: Iterable[str]) -> tuple[OwnColumn, ...]:
    """The columns that texts stand for, each once.

    Raises:
        UnknownName, ConfigErrors, ValueError: for a text that stands for nothing.
    """
    found = {}
    for text in texts:
        words = words_of(text, ELSEWHERE)
        label = shlex.join([word.removeprefix("method=") for word in words])
        found[label] = OwnColumn(label, (is_("method.name", *methods_of(words)),), words=words)
    return tuple(found.values())


def with_columns(definition: Definition, columns: Sequence[OwnColumn]) -> Definition:
    """The table with columns of one's own behind the paper's, of the methods that they stand for on
    its datasets.

    Raises:
        ConfigErrors: for words that mean nothing on its datasets.
        ValueError: for a table that compares no methods, and for a column that it has already.
    """
    if not takes_columns(definition):
        raise ValueError(
            f"table {definition.id} compares no methods on a task, so no row can be added;"
            " `gclbench table` lists the tables"
        )
    for column in columns:
        there = _already(definition, column)
        if there is not None:
            raise ValueError(
                f"'{column.label}' is in table {definition.id} already, as {there.label}; add it at"
                f" other settings, as in '{column.method_name} method.SETTING=VALUE'"
            )
        _check_items(definition, column)
    here = [replace(column, where=(_of_method(definition, column),)) for column in columns]
    for place, column in enumerate(columns):
        for other in columns[:place]:
            if all(
                stands_for(column.words, dataset) == stands_for(other.words, dataset)
                for dataset in definition.datasets
            ):
                raise ValueError(
                    f"'{column.label}' and '{other.label}' are the same settings; leave one out"
                )
    return replace(definition, columns=(*definition.columns, *here))


def _methods(definition: Definition, column: OwnColumn) -> list[str]:
    """The methods that the words stand for on the table's datasets."""
    names = (
        str(settings_of(column.words, dataset)["method.name"]) for dataset in definition.datasets
    )
    return list(dict.fromkeys(names))


def _of_method(definition: Definition, column: OwnColumn) -> Condition:
    return is_("method.name", *_methods(definition, column))


def _check_items(definition: Definition, column: OwnColumn) -> None:
    """Raises ValueError where a method embeds none of what the table's task evaluates."""
    wanted = items_of_tasks([definition.task])
    for name in _methods(definition, column):
        said = declared_or_none(METHODS, name)
        embedded = (said and said.items) or ("nodes",)
        if wanted not in embedded:
            raise ValueError(
                f"'{column.label}' embeds {' and '.join(embedded)}, and table {definition.id} is"
                f" about {wanted}; `gclbench list methods` lists the methods, `gclbench table` the"
                " tables"
            )


def with_rows(
    definitions: Iterable[Definition], columns: Sequence[OwnColumn], groups: Iterable[Group]
) -> list[Definition]:
    """Tables, those with columns of one's own that have runs of them and do not have them already.

    Raises:
        ValueError: for a column that no table takes; the text says what is recorded.
    """
    definitions, groups = list(definitions), list(groups)
    placed: dict[str, None] = {}
    found = []
    for definition in definitions:
        there = [group for group in groups if definition.matches(group.flat)]
        taken = [
            column
            for column in columns
            if takes_columns(definition)
            and any(column.matches(group.flat) for group in there)
            and _already(definition, column) is None
        ]
        placed |= dict.fromkeys(column.label for column in taken)
        found.append(with_columns(definition, taken) if taken else definition)
    for column in columns:
        if column.label not in placed:
            where = " that a paper's table could show beside its own rows"
            table = next(
                (
                    each.id
                    for each in definitions
                    if takes_columns(each)
                    and _means(each, column)
                    and _already(each, column) is None
                ),
                "nml/1",
            )
            sweep = ["sweep", f"table={table}", "--with", column.label]
            raise ValueError(no_runs(column.words, column.label, where, groups, sweep))
    return found


def _means(definition: Definition, column: OwnColumn) -> bool:
    """Whether a column's words mean something on all datasets of a table."""
    return all(stands_for(column.words, dataset) for dataset in definition.datasets)


def takes_columns(definition: Definition) -> bool:
    """Whether a table compares methods by results of runs of one task."""
    return definition.source == "runs" and bool(definition.task) and not definition.crossed


def check_runs(definition: Definition, groups: Iterable[Group]) -> None:
    """Whether every column of one's own has runs.

    Raises:
        ValueError: for one without; the text says what is recorded of its method, and what makes
            its runs.
    """
    groups = [group for group in groups if group.name("dataset") in definition.datasets]
    there = [group for group in groups if definition.matches(group.flat)]
    for column in definition.columns:
        if isinstance(column, OwnColumn) and not any(column.matches(group.flat) for group in there):
            sweep = ["sweep", f"table={definition.id}", "--with", column.label]
            where = f" of table {definition.id}"
            raise ValueError(no_runs(column.words, column.label, where, there, sweep))


def _already(definition: Definition, column: OwnColumn) -> Column | None:
    """The paper's column that stands for the same runs on every dataset."""
    for other in definition.columns:
        stands = []
        for dataset in definition.datasets:
            flat = {"dataset.name": dataset, **stands_for(column.words, dataset)}
            stands.append(
                "method.name" in flat
                and other.matches(flat)
                and all(
                    text.startswith(DATASET)
                    for text in other.departures(flat, definition.conditions(dataset))
                )
            )
        if all(stands):
            return other
    return None
