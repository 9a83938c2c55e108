"""Two methods or settings over the same seeds: what `gclbench compare` shows.

A side is a method's name, or overrides as typed for a run. On each dataset it stands for what these
words run there: the shipped settings, and what the words say instead. Runs are a side's where their
method, filter and strategy have these settings; one that a record does not have counts as at its
class's default. Two sides meet where dataset and task are the same, on a dataset's shipped form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gclbench.component.registry import TASKS, did_you_mean
from gclbench.paper import run_words
from gclbench.paper.advice import (
    another,
    command_of,
    never_run,
    not_by_name,
    of_form,
    registered_as,
    shipped_for,
    unsuited,
    what_next,
    without_runs,
)
from gclbench.paper.aggregate import Cell, Group
from gclbench.paper.asked_settings import departing, stands_for, words_of
from gclbench.paper.columns import typed
from gclbench.paper.component_versions import newest
from gclbench.paper.component_versions import sentence as sentence_of_versions
from gclbench.paper.drawing.selection import most
from gclbench.paper.fitted import fitted_by
from gclbench.paper.graph_labels import graph_key, graph_labels
from gclbench.paper.machine_differences import FACTS, sentence
from gclbench.paper.metrics import Quantity, find_metric
from gclbench.paper.missing import refused
from gclbench.paper.paired_verdict import Settled, common, settled
from gclbench.paper.sources import Collection

ELSEWHERE = (
    "A and B are method=, filter=, negatives= and their settings; --dataset, --task and --metric"
    " choose what is compared"
)

Meeting = dict[str, Group]
"""Where a side has runs: dataset, task and their settings, as text, to the runs."""


class NothingToCompare(ValueError):
    """The two sides cannot be compared; the text says why, and what to type next."""


@dataclass(frozen=True)
class Line:
    """One metric of one dataset and task.

    Attributes:
        task: with its protocol and what is not at its default: `classification (protocol=public)`.
        cells: of both sides, over the seeds that both have. shown: the metric's unit and direction.
        fitted: choices behind either side that were made after the labels had been seen.
    """

    dataset: str
    task: str
    shown: Quantity
    cells: tuple[Cell, Cell]
    settled: Settled
    fitted: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadToHead:
    """Two sides, as typed, and their lines; tests: over which Holm's correction is; remarks:
    sentences on what is not shown."""

    sides: tuple[str, str]
    lines: tuple[Line, ...]
    tests: int
    remarks: tuple[str, ...]


def head_to_head(
    sides: tuple[str, str],
    collection: Collection,
    datasets: Sequence[str] = (),
    tasks: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> HeadToHead:
    """Sets two sides against each other.

    Args:
        datasets, tasks, metrics: those shown; none for all that both have (metrics of which one
            direction is better). A task with its protocol, `classification_public`, is that alone.

    Raises:
        UnknownName, ConfigErrors: for words that are no side or task.
        NothingToCompare: the sides are the same, or have no runs or seeds in common.
    """
    words = tuple(words_of(text, ELSEWHERE) for text in sides)
    for name in tasks:
        if not any(_is_task(group, [name]) for group in collection.groups):
            TASKS.check(name)
    names = [*datasets] or sorted({group.name("dataset") for group in collection.groups})
    names = names or ["cora"]
    known = {name: registered_as(name, collection.groups) for name in names}
    meant = {
        name: tuple(stands_for(side, registered) for side in words)
        for name, registered in known.items()
    }
    same = {name for name, (one, other) in meant.items() if one and one == other}
    if same and same >= {name for name, sides_there in meant.items() if any(sides_there)}:
        other = another(words[0], known[min(same)])
        raise NothingToCompare(
            f"'{sides[0]}' and '{sides[1]}' are the same settings; name two that differ, such as"
            f" '{sides[0]}' and '{other}'"
        )
    wanted = {*names} - same
    there = [
        group
        for group in collection.groups
        if group.is_on(wanted)
        and (not tasks or _is_task(group, tasks))
        and shipped_for(group, words)
    ]
    found = [_of_side(side, there) for side in words]
    for side, text, meeting in zip(words, sides, found, strict=True):
        if not meeting:
            raise NothingToCompare(without_runs(side, text, there, [*datasets], tasks))
    both = [place for place in found[0] if place in found[1]]
    remarks = [f"The two are the same settings on {', '.join(sorted(same))}."] if same else []
    remarks += _only_one(words, sides, found, metrics)
    asked = [name for name in datasets if name in wanted]
    remarks += _neither(words, sides, found, asked, tasks, collection.groups)
    if not both:
        raise NothingToCompare(
            " ".join(["there is no dataset and task of which both have runs.", *remarks])
        )
    apart = [place for place in both if not _common_seeds(found, place)]
    remarks += [_apart(words, sides, found, place) for place in apart]
    if apart == both:
        raise NothingToCompare("the two have no seeds in common. " + " ".join(remarks))
    _check_metrics(sides, found, both, metrics)
    pairs = [
        (place, shown, _on_common_seeds(*(side[place].cell(shown.name) for side in found)))
        for place in both
        if place not in apart
        for shown in _metrics(found, place, metrics)
    ]
    if not pairs:
        have = _common_metrics(found, both)
        raise NothingToCompare(
            "none of the metrics that both have is better in one direction; choose with --metric"
            f" of {', '.join(have)}"
            if not metrics
            else " ".join([f"the two have no {', '.join(metrics)} of a common seed.", *remarks])
        )
    verdicts, tests = settled(
        [cells for _, _, cells in pairs],
        [shown.is_fraction for _, shown, _ in pairs],
        [shown.lower_is_better for _, shown, _ in pairs],
    )
    called = _graphs(found[0], both)
    remarks += _called_otherwise(found, both)
    remarks += _computed(sides, found, list(dict.fromkeys(place for place, *_ in pairs)), called)
    lines = tuple(
        Line(
            called[place],
            _task(found[0][place].flat),
            shown,
            cells,
            verdict,
            tuple(
                dict.fromkeys(
                    name
                    for side in found
                    for name in fitted_by(side[place].flat, side[place].records)
                )
            ),
        )
        for (place, shown, cells), verdict in zip(pairs, verdicts, strict=True)
    )
    return HeadToHead(sides, lines, tests, tuple(remarks))


def _check_metrics(
    sides: Sequence[str], found: Sequence[Meeting], both: Sequence[str], metrics: Sequence[str]
) -> None:
    """Whether both sides have values, and each metric that is asked for somewhere.

    Raises:
        NothingToCompare: with how the runs ended, or the metrics that both have.
    """
    if valueless := _valueless(sides, found, both):
        raise NothingToCompare(valueless)
    have = _common_metrics(found, both)
    absent = [name for name in metrics if name not in have]
    if absent:
        hint = did_you_mean(*absent, known=have)
        raise NothingToCompare(
            f"there is no metric {', '.join(absent)} that both have; they have {', '.join(have)}"
            f"{'.' * bool(hint)}{hint}"
        )


def _common_metrics(found: Sequence[Meeting], both: Sequence[str]) -> list[str]:
    """The metrics that both sides have on some dataset and task."""
    names = (
        name
        for place in both
        for name in found[0][place].metrics()
        if name in found[1][place].metrics()
    )
    return [*dict.fromkeys(names)]


def _neither(
    words: Sequence[tuple[str, ...]],
    sides: Sequence[str],
    found: Sequence[Meeting],
    datasets: Sequence[str],
    tasks: Sequence[str],
    groups: Sequence[Group],
) -> list[str]:
    """On which of the datasets that are asked for neither side has runs, and what runs them: the
    sides that can be run there.

    Args:
        groups: every recorded setting, of any method.
    """
    there = [group for side in found for group in side.values()]
    absent = [
        name for name in dict.fromkeys(datasets) if not any(group.is_on([name]) for group in there)
    ]
    if not absent:
        return []
    runs = (never_run(side, groups, absent, tasks) for side in words)
    told = ", ".join(f"`{run_words.command(run)}`" for run in runs if run)
    return [
        f"Neither '{sides[0]}' nor '{sides[1]}' was run on {', '.join(absent)}"
        f"{': ' * bool(told)}{told}."
    ]


def _valueless(sides: Sequence[str], found: Sequence[Meeting], both: Sequence[str]) -> str:
    """How the runs of the sides ended of which none has a value where both have runs; "" where
    either has some."""
    told = []
    for text, side in zip(sides, found, strict=True):
        records = [record for place in both for record in side[place].records]
        if not any(side[place].metrics() for place in both):
            ended = Counter(record.status for record in records)
            ends = ", ".join(f"{status} ×{count}" for status, count in ended.items())
            told.append(f"no run of '{text}' has a value: {ends}. {what_next(records)}")
    return ". ".join(told)


def _of_side(words: tuple[str, ...], groups: Iterable[Group]) -> Meeting:
    """The runs of a side; of several recorded settings that are the same here those of the newest
    versions, and of these the one with the most runs."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        if not departing(words, group.flat):
            found.setdefault(_place(group.flat), []).append(group)
    chosen = {place: most(newest(several)) for place, several in found.items()}
    return {place: group for place, group in chosen.items() if group is not None}


def _computed(
    sides: Sequence[str], found: Sequence[Meeting], places: Sequence[str], called: Mapping[str, str]
) -> list[str]:
    """Where the runs of the two sides are of other versions than the code's, or were not computed
    alike."""
    named = {place: f"{called[place]}, {_task(found[0][place].flat)}" for place in places}
    versions = sentence_of_versions(
        (f"{text} on {named[place]}", side[place].flat)
        for text, side in zip(sides, found, strict=True)
        for place in places
    )
    unlike = sentence(
        [
            (named[place], [record for side in found for record in side[place].records])
            for place in places
        ],
        "Runs of the two sides, or of one of them,",
        {*FACTS} - {"code"},  # two methods are of two codes
    )
    return [text for text in (versions, unlike) if text]


def _place(flat: Mapping[str, Any]) -> str:
    """Equal for groups of one graph and one task."""
    keys = ("dataset.", "task.", "dataset_hash", "versions.protocol")
    where = {key: value for key, value in sorted(flat.items()) if key.startswith(keys)}
    return " ".join(f"{key}={typed(value)}" for key, value in where.items())


def _graphs(meeting: Meeting, places: Iterable[str]) -> dict[str, str]:
    """The dataset of each place; `sbm [nodes=100]` where two graphs of a name have the task."""
    of_task: dict[str, list[str]] = {}
    for place in places:
        of_task.setdefault(_task(meeting[place].flat), []).append(place)
    found: dict[str, str] = {}
    for several in of_task.values():
        labels = graph_labels(meeting[place] for place in several)
        found |= {place: labels[graph_key(meeting[place].flat)] for place in several}
    return found


def _called_otherwise(found: Sequence[Meeting], places: Iterable[str]) -> list[str]:
    """Which other names a user's own graphs have."""
    groups = (found[0][place] for place in places)
    names = [(group.name("dataset"), other) for group in groups for other in group.called]
    return [f"Graph '{name}' is also called '{other}'." for name, other in dict.fromkeys(names)]


def _is_task(group: Group, tasks: Sequence[str]) -> bool:
    name, protocol = group.name("task"), group.flat.get("task.protocol")
    return bool({name, f"{name}_{protocol}"} & {*tasks})


def _task(flat: Mapping[str, Any]) -> str:
    """`classification (public)`, `clustering (normalize=l2)`."""
    protocol = [str(flat["task.protocol"])] if "task.protocol" in flat else []
    rest = [text for text in run_words.unusual(flat) if not text.startswith("protocol=")]
    said = ", ".join([*protocol, *rest])
    return f"{flat['task.name']} ({said})" if said else str(flat["task.name"])


def _metrics(found: Sequence[Meeting], place: str, asked: Sequence[str]) -> list[Quantity]:
    names = [name for name in found[0][place].metrics() if name in found[1][place].metrics()]
    return [metric for metric in map(find_metric, names) if _is_shown(metric, asked)]


def _is_shown(metric: Quantity, asked: Sequence[str]) -> bool:
    """Whether a metric is asked for; where none is, whether one direction of it is better."""
    return metric.name in asked if asked else metric.better != "neither"


def _common_seeds(found: Sequence[Meeting], place: str) -> set[int]:
    seeds = [{record.seed for record in side[place].records} for side in found]
    return seeds[0] & seeds[1]


def _on_common_seeds(one: Cell, other: Cell) -> tuple[Cell, Cell]:
    seeds = common(one, other)
    first, second = (
        Cell({seed: cell.values[seed] for seed in seeds}, cell.absent) for cell in (one, other)
    )
    return first, second


def _only_one(
    words: Sequence[tuple[str, ...]],
    sides: Sequence[str],
    found: Sequence[Meeting],
    metrics: Sequence[str],
) -> list[str]:
    """Of each side: where only the other one has runs that it supports, and what runs it there;
    but for tasks without a metric that would be shown."""
    remarks = []
    for mine in (0, 1):
        alone: dict[tuple[str, ...], list[Group]] = {}
        there = (group for place, group in found[mine].items() if place in found[1 - mine])
        met = {(group.name("dataset"), _task(group.flat)) for group in there}
        for place, group in found[1 - mine].items():
            where = (group.name("dataset"), registered_as(group.name("dataset"), [group]))
            have = [_is_shown(find_metric(name), metrics) for name in group.metrics()]
            # A pair would have no value there.
            if (have and not any(have)) or refused(group.records):
                continue
            if (where[0], _task(group.flat)) in met and not of_form(group, words[mine]):
                continue  # they meet there, on another form of the dataset
            if place not in found[mine] and not unsuited(words[mine], *where):
                key = (_task(group.flat), *not_by_name(group, words[mine]))
                alone.setdefault(key, []).append(group)
        for (task, *_), groups in alone.items():
            names = ", ".join(sorted({group.name("dataset") for group in groups}))
            seeds = {record.seed for group in groups for record in group.records}
            remarks.append(
                f"'{sides[mine]}' was not run on {names} ({task}), '{sides[1 - mine]}' was:"
                f" {command_of(words[mine], groups, seeds)}."
            )
    return remarks


def _apart(
    words: Sequence[tuple[str, ...]], sides: Sequence[str], found: Sequence[Meeting], place: str
) -> str:
    """Which seeds each side has, and what runs those that the second lacks."""
    groups = [side[place] for side in found]
    seeds = [{record.seed for record in group.records} for group in groups]
    have = "; ".join(
        f"'{text}' has {run_words.of_seeds(own)}" for text, own in zip(sides, seeds, strict=True)
    )
    where = f"{groups[0].name('dataset')}, {_task(groups[0].flat)}"
    return f"No common seeds on {where}: {have}; {command_of(words[1], groups[1:], seeds[0])}."
