"""What training adds: every column against up to five controls, paired over equal seeds.

untrained: the column's own settings with `method.epochs=0`, of a method that takes it. raw
features: k-means, or the task's probe, on the features as they are. filter alone: the same on the
features after GnnBP at the dataset's settings. Both also with rows of length 1, as embeddings
trained on cosines are read: on some datasets that alone doubles a control. Recent work finds that
untrained encoders rival contrastive learning. The features of nodes are no embedding of graphs, so
on collections the first control is the only one; histograms and statistics of graphs are columns of
their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gclbench.config.composition import items_of_tasks
from gclbench.paper import run_words
from gclbench.paper.aggregate import Cell, Group
from gclbench.paper.columns import DATASET, FLOORS, GNNBP, Column, is_
from gclbench.paper.component_versions import (
    of_newest_versions,
    of_other_versions,
    others,
    recorded_seeds,
)
from gclbench.paper.config_defaults import can_be_untrained, with_younger
from gclbench.paper.paired_verdict import Settled, settled
from gclbench.paper.table_definition import SEEDS, Definition
from gclbench.paper.verdict import NOT_RUN
from gclbench.records import Record, flatten

if TYPE_CHECKING:
    from gclbench.paper.filled_table import Entry

UNTRAINED, RAW_FEATURES, FILTER_ALONE = "untrained", "raw features", "filter alone"
UNIT_ROWS, FILTERED_UNIT_ROWS = "raw unit rows", "filtered unit rows"
CONTROLS = (UNTRAINED, RAW_FEATURES, UNIT_ROWS, FILTER_ALONE, FILTERED_UNIT_ROWS)

FEATURES = "kmeans"
"""The method whose embedding is the features."""
FILTERED = Column(FILTER_ALONE, (is_("method.name", FEATURES), GNNBP), tuned="dmat")

SCALING = "task.normalize"
OF_EPOCHS = ("method.epoch_is", "method.epoch_by")
"""What an epoch is, and which of them is taken; without any, that says nothing."""
DATASET_NAME = "dataset.name"
OF_A_RUN = ("dataset.", "filter.", "method.", "negatives.", "task.")
VERSION = "versions.method"
OF_THE_DATA = ("dataset_hash", "versions.protocol")
"""What a column and a control of it have in common: the graph, and how the task splits it."""


@dataclass(frozen=True)
class Gain:
    """A column's cell against a control.

    Attributes:
        control: one of CONTROLS. settled: ours minus the control's, and the verdict on it.
        words: what runs the control, without dataset and seeds; empty where nobody can tell here.
        lacking: seeds that ours has and the control was not run with, as many as make ten that both
            have.
        older: components of which the control's runs have another version than the code.
    """

    control: str
    settled: Settled
    words: tuple[str, ...]
    lacking: tuple[int, ...] = ()
    older: tuple[str, ...] = ()

    def show(self, factor: float) -> str:
        """`+5.12 (10) ▲`, or why there is nothing."""
        return self.settled.show(factor)


def with_gains(
    definition: Definition,
    entries: Sequence[Entry],
    groups: Mapping[str, Sequence[Group]],
    tested: bool = True,
) -> tuple[list[Entry], int]:
    """The entries with their gains, and the number of tests, over which Holm's correction is.

    Only cells of methods at the paper's settings have gains, of metrics of which one direction is
    better.

    Args:
        groups: dataset to the table's recorded settings.
        tested: False leaves the verdicts out; which controls lack runs is said all the same.
    """
    found: list[tuple[int, str, Group | None, tuple[str, ...]]] = []
    controls: dict[str, list[tuple[str, Group | None, tuple[str, ...]]]] = {}
    for place, entry in enumerate(entries):
        if not _has_gains(entry):
            continue
        first = entry.records[0]
        if first.id not in controls:
            flat = flatten(first.spec)
            task_files = _files_of_task(flat, groups)
            controls[first.id] = [
                (name, group, (*words, *task_files) if words else ())
                for name, group, words in _controls(flat, groups[entry.dataset], entry.records)
            ]
        found += [(place, *control) for control in controls[first.id]]
    cells = [definition.measure(entries[place].metric).cell(group) for place, _, group, _ in found]
    settlements, tests = (
        _unsettled(cells)
        if not tested
        else settled(
            [(entries[place].ours, cell) for (place, *_), cell in zip(found, cells, strict=True)],
            [entries[place].shown.is_fraction for place, *_ in found],
            [entries[place].shown.lower_is_better for place, *_ in found],
        )
    )
    gains: dict[int, list[Gain]] = {}
    for (place, control, group, words), settlement in zip(found, settlements, strict=True):
        seeds = recorded_seeds(group.records) if group is not None else set()
        ours = entries[place].ours.values
        # Runs of other versions have no controls that could still be run.
        asked = () if of_other_versions(entries[place].records) else ours
        lacking = [seed for seed in asked if seed not in seeds]
        lacking = lacking[: max(0, SEEDS - (len(ours) - len(lacking)))]
        older = tuple(others(group.flat)) if group is not None and settlement.n else ()
        gains.setdefault(place, []).append(Gain(control, settlement, words, tuple(lacking), older))
    return [
        replace(entry, gains=tuple(gains.get(place, ()))) for place, entry in enumerate(entries)
    ], tests


def _has_gains(entry: Entry) -> bool:
    """Whether a cell is set against controls: not that of the features, nor a floor, which embeds
    nothing."""
    directed = entry.shown.better != "neither"
    embeds = entry.method not in (FEATURES, *FLOORS)
    return bool(entry.ours.values) and entry.faithful and directed and embeds


def _unsettled(cells: Sequence[Cell]) -> tuple[list[Settled], int]:
    return [Settled(NOT_RUN, 0)] * len(cells), 0


def commands(
    entries: Iterable[Entry], typed: Callable[[str], Sequence[str]] = lambda name: [name]
) -> list[str]:
    """What runs the controls that some cells lack; datasets with the same words in one line.

    Args:
        typed: the dataset of a label as typed: `["cora"]`, or the words of one that is not called
            by a name alone.
    """
    lacking: dict[tuple[tuple[str, ...], str], set[int]] = {}
    for entry in entries:
        for gain in entry.gains:
            if gain.lacking and gain.words and typed(entry.dataset):
                lacking.setdefault((gain.words, entry.dataset), set()).update(gain.lacking)
    lines: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (words, dataset), seeds in lacking.items():
        name, *of_dataset = typed(dataset)
        if of_dataset:
            words = tuple(word for word in words if not word.startswith(DATASET))
        behind = (*of_dataset, run_words.of_seeds(seeds))
        names = lines.setdefault((words, behind), [])
        if name not in names:  # a graph that changed in its file is two datasets of one name
            names.append(name)
    return [
        run_words.command(
            [*["-m"] * (len(names) > 1), *words, f"dataset={','.join(names)}", *behind]
        )
        for (words, behind), names in lines.items()
    ]


def never_untrained(entries: Iterable[Entry]) -> list[str]:
    """A line on the methods that are trained and take no `method.epochs=0`, and one on those of
    which that is not known here."""
    names: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for entry in entries:
        flat = flatten(entry.records[0].spec) if _has_gains(entry) else {}
        trained = bool(flat.get("method.epochs"))
        if trained and UNTRAINED not in {gain.control for gain in entry.gains}:
            known = "method" not in run_words.unknown_kinds(flat)
            (names if known else unknown)[entry.method] = None
    lines = []
    if names:
        take = "takes" if len(names) == 1 else "take"
        lines.append(
            f"# There is no untrained control of {', '.join(names)}, which {take} no"
            " method.epochs=0."
        )
    if unknown:
        lines.append(
            f"# Whether {', '.join(unknown)} can be left untrained is not known here; with"
            " --components FILE.py it is."
        )
    return lines


def _controls(
    flat: Mapping[str, Any], groups: Sequence[Group], records: Sequence[Record]
) -> Iterable[tuple[str, Group | None, tuple[str, ...]]]:
    """The controls of flattened settings: name, recorded runs, and what runs them.

    Args:
        records: the runs of these settings; how they were typed says what is not known here.
    """
    groups = [
        group
        for group in groups
        if all(group.flat.get(key) == flat.get(key) for key in OF_THE_DATA)
    ]
    if flat.get("method.epochs") and can_be_untrained(str(flat["method.name"])):
        begun = {key: value for key, value in flat.items() if key not in OF_EPOCHS}
        same = [group for group in groups if group.flat.get(VERSION) == flat.get(VERSION)]
        name, best, words = _control(UNTRAINED, {**begun, "method.epochs": 0}, same)
        unknown = {*run_words.unknown_kinds(flat)} & {*run_words.CHOSEN}
        yield name, best, _as_recorded(flat, records) if unknown else words
    if items_of_tasks([flat["task.name"]]) == "graphs":
        return
    where = {key: value for key, value in flat.items() if key.startswith((DATASET, "task."))}
    features = {**where, "method.name": FEATURES, "negatives.name": "uniform"}
    raw, smooth = {**features, "filter.name": "none"}, {**features, "filter.name": "gnnbp"}
    filtered = [group for group in groups if FILTERED.matches(group.flat) and _tuned(group)]
    scaled = {SCALING: "l2"}
    usual = where.get(SCALING) == "l2"
    yield _control(RAW_FEATURES, raw, _scaled(groups, usual))
    yield _control(UNIT_ROWS, {**raw, **scaled}, _scaled(groups))
    yield _control(FILTER_ALONE, smooth, _scaled(filtered, usual))
    yield _control(FILTERED_UNIT_ROWS, {**smooth, **scaled}, _scaled(filtered))


def _files_of_task(flat: Mapping[str, Any], groups: Mapping[str, Sequence[Group]]) -> list[str]:
    """`--components FILE` of a table's runs whose task is not known here; empty for a task that
    is."""
    if "task" not in run_words.unknown_kinds(flat):
        return []
    every = (group for several in groups.values() for group in several)
    return run_words.files_in_common(record for group in every for record in group.records)


def _as_recorded(flat: Mapping[str, Any], records: Sequence[Record]) -> tuple[str, ...]:
    """What runs the untrained control of settings with a component that is not known here; empty
    where no run says how it was typed."""
    typed = run_words.recorded_method(flat, records)
    kept = [word for word in typed if word.partition("=")[0] not in ("method.epochs", *OF_EPOCHS)]
    behind = ("method.epochs=0", *run_words.of_dataset(flat), *run_words.of_task(flat))
    return (*kept, *behind, *run_words.files_in_common(records)) if typed else ()


def _scaled(groups: Iterable[Group], scaled: bool = True) -> list[Group]:
    """Those whose rows were scaled to length 1, or were not; a record without the setting was
    not."""
    return [group for group in groups if (group.flat.get(SCALING) == "l2") == scaled]


def _tuned(group: Group) -> bool:
    return all(text.startswith(DATASET) for text in FILTERED.departures(group.flat))


def _control(
    name: str, wanted: Mapping[str, Any], groups: Iterable[Group]
) -> tuple[str, Group | None, tuple[str, ...]]:
    """A control: the recorded runs that agree with what is wanted wherever both say something, of
    several settings those with the most. All are of one dataset, which has any of its names.

    A setting that is younger than a record, or that it leaves out at its default, says that
    default.
    """
    said = with_younger(wanted)
    fitting = of_newest_versions([group for group in groups if _agrees(said, group.flat)])
    words = (*run_words.of_method(wanted), *run_words.of_dataset(wanted))
    best = max(fitting, key=lambda group: (len(group.records), group.key), default=None)
    return name, best, (*words, *run_words.of_task(wanted))


def _agrees(wanted: Mapping[str, Any], flat: Mapping[str, Any]) -> bool:
    there = with_younger(flat)
    return all(
        there[key] == value
        for key, value in wanted.items()
        if key in there and key.startswith(OF_A_RUN) and key not in (DATASET_NAME, *OF_EPOCHS)
    )
