"""A table filled from records: ours beside the printed values, tested and marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gclbench.paper.aggregate import Cell, Fact, Group, SideBySide, differences
from gclbench.paper.columns import PLAIN, Column, typed
from gclbench.paper.component_versions import of_newest_versions, versions_of
from gclbench.paper.config_defaults import shipped_settings
from gclbench.paper.counts import counted, remark_on
from gclbench.paper.filled_table import Block, Comparison, Entry, NotInTable
from gclbench.paper.fitted import fitted_by
from gclbench.paper.gains import with_gains
from gclbench.paper.measure import Measure
from gclbench.paper.ranking import ranked
from gclbench.paper.rivals import Rival, against_rivals
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition
from gclbench.paper.verdict import AS_PRINTED, OTHERWISE, judged, not_judged
from gclbench.records import Record

__all__ = ["Block", "Comparison", "Entry", "NotInTable", "compare"]

NAMED = 2
"""So many settings of a column that are left out are named."""


def compare(definition: Definition, collection: Collection, tested: bool = True) -> Comparison:
    """Fills a table.

    Settings of one column and dataset that are recorded more than once are never mixed: those at
    the paper's settings are shown where there are some, else all. Each becomes a column of its own
    named by what differs; in a table of bases × strategies they stand side by side in one cell. The
    notes say what is not shown.

    Args:
        tested: False leaves the tests out, for what asks only which runs there are.
    """
    groups: dict[str, list[Group]] = {}
    for recorded in collection.groups:
        if definition.matches(recorded.flat):
            groups.setdefault(definition.place(recorded), []).append(recorded)
    blocks, notes = _blocks(definition, groups)
    whole = [entry for _, _, entries in blocks for entry in entries]
    tests = pairs = gain_tests = rival_tests = 0
    rivals: list[Rival] = []
    if definition.source != "runs":
        whole = [_fact(entry) for entry in whole]
    elif definition.compared:
        if tested:
            whole, tests = judged(whole)
            whole, rivals, rival_tests, said = against_rivals(definition, whole)
            notes += said
            whole, pairs = ranked(whole)
        whole, gain_tests = with_gains(definition, whole, groups, tested)
    else:
        whole = [not_judged(entry) for entry in whole]
    finished = iter(whole)
    filled = tuple(
        Block(
            dataset,
            tuple(labels),
            {(entry.metric, entry.column): next(finished) for entry in entries},
        )
        for dataset, labels, entries in blocks
    )
    used = {record.id: record for entry in whole for record in entry.records}
    return Comparison(
        definition,
        definition.metrics,
        filled,
        tuple(used.values()),
        collection,
        tests,
        tuple(dict.fromkeys(notes)),
        pairs,
        gain_tests,
        tuple(rivals),
        rival_tests,
    )


def shown_records(definition: Definition, groups: Iterable[Group]) -> set[str]:
    """The ids of the runs that a table shows; what `compare` gives, without its tests."""
    there: dict[str, list[Group]] = {}
    for recorded in groups:
        if definition.matches(recorded.flat):
            there.setdefault(definition.place(recorded), []).append(recorded)
    here = tuple(dataset for dataset in definition.datasets if dataset in there)
    blocks, _ = _blocks(replace(definition, datasets=here), there) if here else ([], [])
    return {record.id for _, _, entries in blocks for each in entries for record in each.records}


def _blocks(
    definition: Definition, groups: Mapping[str, Sequence[Group]]
) -> tuple[list[tuple[str, list[str], list[Entry]]], list[str]]:
    """(dataset, headings, entries) of every dataset, and notes on what is not shown.

    Args:
        groups: dataset to the table's recorded settings.
    """
    blocks: list[tuple[str, list[str], list[Entry]]] = []
    notes: list[str] = []
    for dataset in definition.datasets:
        here = groups.get(dataset, ())
        taken = _taken(definition, here)
        labels: dict[str, None] = {}
        entries: list[Entry] = []
        for column in definition.columns:
            for metrics in definition.same_runs():
                free = [group for group in here if taken.get(group.key, column) is column]
                if definition.own and not any(column.matches(group.flat) for group in free):
                    continue  # hundreds of settings, most of them on one dataset
                found, said = _cells(definition, dataset, column, metrics, free)
                if definition.own:
                    found = [entry for entry in found if entry.records]
                entries += found
                notes += said
                labels |= dict.fromkeys(entry.column for entry in found)
        # Of a table of results; that of times, say, leaves controls out on purpose.
        tells = definition.compared and not definition.own
        notes += _outside(dataset, definition, here) if tells else []
        if definition.source == "catalog" and remark_on(definition.id, dataset):
            notes.append(f"{dataset}: {remark_on(definition.id, dataset).rstrip('.')}.")
        blocks.append((dataset, [*labels], _relative(definition, entries)))
    return blocks, notes


def _taken(definition: Definition, groups: Sequence[Group]) -> dict[str, Column]:
    """The added column that has a setting as asked for: no other column shows it."""
    return {
        group.key: column
        for column in definition.columns
        if column.added
        for group in groups
        if column.matches(group.flat) and not definition.departures(column, group.flat)
    }


def _cells(
    definition: Definition,
    dataset: str,
    column: Column,
    metrics: Sequence[str],
    groups: Sequence[Group],
) -> tuple[list[Entry], list[str]]:
    """The cells of a column in rows that are read from the same runs, and notes on them."""
    measure = definition.measure(metrics[0])
    departures = {
        group.key: _departures(definition, column, measure, group)
        for group in groups
        if measure.matches(group.flat) and column.matches(group.flat)
    }
    fitting = [group for group in groups if group.key in departures]
    shown, others, hidden = _choose(fitting, departures)
    cells: list[tuple[str, list[Group]]] = [(column.label, shown)]
    if len(shown) > 1 and not definition.crossed:
        cells = [(f"{column.label} [{what}]", [group]) for what, group in _told_apart(shown)]
    entries, notes, command = [], [], definition.command(dataset, column)
    for label, members in cells:
        departs = list(dict.fromkeys(text for group in members for text in departures[group.key]))
        if definition.source != "runs":
            departs = []
        entries += [
            _entry(definition, dataset, column, label, metric, members, not departs, command)
            for metric in metrics
        ]
        if departs:
            name, whose = label, "the asked" if column.added else "the paper's"
            if measure.base is not None:
                name, whose = f"{measure.base.label} with {label} ({measure.task})", "the shipped"
            notes.append(
                f"{dataset}: {name} was not run at {whose} settings: {', '.join(departs)}."
            )
    if not definition.crossed:
        left_out = [
            (", ".join(departures[group.key]) or "what it does not support", len(group.records))
            for group in hidden
        ]
        notes += _hidden(dataset, column, left_out)
    if others:
        count = sum(len(group.records) for group in others)
        runs, versions = ("runs", "are") if count > 1 else ("run", "is"), map(versions_of, others)
        name = column.label if measure.base is None else f"{measure.base.label} with {column.label}"
        notes.append(
            f"{dataset}: {count} {runs[0]} of {name} {runs[1]} not shown, of other versions:"
            f" {'; '.join(dict.fromkeys(versions))}."
        )
    return entries, notes


def _departures(
    definition: Definition, column: Column, measure: Measure, group: Group
) -> list[str]:
    """How settings differ from those that a column stands for; of a base method × strategy, those
    of the strategy are not looked at."""
    if measure.base is None:
        return definition.departures(column, group.flat)
    found = definition.departures(measure.base, group.flat)
    return [text for text in found if not text.startswith("negatives.")]


def _told_apart(groups: Sequence[Group]) -> list[tuple[str, Group]]:
    """Settings by what differs between them."""
    pairs = zip(differences(groups), groups, strict=True)
    return sorted(pairs, key=lambda pair: pair[0])


def _choose(
    groups: list[Group], departures: Mapping[str, list[str]]
) -> tuple[list[Group], list[Group], list[Group]]:
    """(the settings to show, other versions of them, the settings left out)."""
    faithful = [group for group in groups if not departures[group.key]]
    # A strategy that a method cannot use is no departure from a paper's settings, and no column.
    ran = [group for group in faithful if any(r.status != "unsupported" for r in group.records)]
    chosen = ran or faithful or groups
    shown = of_newest_versions(chosen)
    others = [group for group in chosen if group not in shown]
    return shown, others, [group for group in groups if group not in chosen]


def _hidden(dataset: str, column: Column, left_out: Iterable[tuple[str, int]]) -> list[str]:
    """A note on runs that are left out for others at the paper's settings; of a large sweep, the
    first few settings and how many more.

    Args:
        left_out: (what departs, number of runs) of each setting.
    """
    kinds_found = sorted(left_out)
    if not kinds_found:
        return []
    kinds = [f"{count} with {departs}" for departs, count in kinds_found[:NAMED]]
    if len(kinds_found) > NAMED:
        further = len(kinds_found) - NAMED
        kinds.append(
            f"{sum(count for _, count in kinds_found[NAMED:])} at {further} further"
            f" setting{'s' * (further > 1)}"
        )
    return [
        f"{dataset}: runs of {column.label} at other settings are not shown: {'; '.join(kinds)}."
    ]


def _outside(dataset: str, definition: Definition, groups: Sequence[Group]) -> list[str]:
    """A note on runs of the table's methods at settings that no column is for, by method, filter
    and strategy."""
    methods = {
        condition.values[0]
        for column in definition.columns
        for condition in column.where
        if condition.key == "method.name"
    }
    counts: dict[str, Counter[str]] = {}
    for group in groups:
        # Untrained encoders are controls: the gains are over them.
        untrained = group.flat.get("method.epochs") == 0
        if group.name("method") in methods and not (
            untrained or any(column.matches(group.flat) for column in definition.columns)
        ):
            name = f"{group.name('method')} (filter {group.name('filter')})"
            counts.setdefault(name, Counter())[group.name("negatives")] += len(group.records)
    if not counts:
        return []
    # In order of name: groups are sorted by a hash, which a new setting changes.
    kinds = [_counted(name, strategies) for name, strategies in sorted(counts.items())]
    return [f"{dataset}: runs in no column of this table: {'; '.join(kinds)}."]


def _counted(name: str, strategies: Counter[str]) -> str:
    """How many runs of a method there are under each strategy, or under all where they are many.

    Strategies are not named where there are only the plain negatives.
    """
    if all(strategy in PLAIN.values for strategy in strategies):
        return f"{strategies.total()} of {name}"
    if len(strategies) > NAMED:
        return f"{strategies.total()} of {name} with {len(strategies)} kinds of negatives"
    return f"{name} with negatives " + ", ".join(
        f"{strategy} ({count})" for strategy, count in sorted(strategies.items())
    )


def _entry(
    definition: Definition,
    dataset: str,
    column: Column,
    label: str,
    metric: str,
    groups: Sequence[Group],
    faithful: bool,
    command: str,
) -> Entry:
    measure = definition.measure(metric)
    group = groups[0] if groups else None
    ours: Cell
    if definition.source == "catalog":
        ours = counted(dataset, metric)
    elif definition.source == "settings":
        ours = _setting(measure.setting, column, dataset, group)
    elif len(groups) > 1:
        ours = SideBySide(
            settings=tuple((what, measure.cell(each)) for what, each in _told_apart(groups))
        )
    else:
        ours = measure.cell(group)
    return Entry(
        dataset,
        metric,
        label,
        ours,
        definition.printed(dataset, column, metric),
        method=column.method_name,
        heading=column.label,
        records=tuple(record for each in groups for record in each.records),
        command=command,
        described=measure.shown,
        faithful=faithful,
        comparable=measure.comparable,
        fitted=_fitted(groups) if definition.source == "runs" else (),
    )


def _fitted(groups: Sequence[Group]) -> tuple[str, ...]:
    """The choices that were made after these runs' labels had been seen."""
    named = (name for group in groups for name in fitted_by(group.flat, group.records))
    return tuple(dict.fromkeys(named))


def _setting(key: str, column: Column, dataset: str, group: Group | None) -> Fact:
    """What a setting was in the runs, or is in the configs."""
    asked = {
        condition.key: condition.values[0]
        for condition in column.conditions(dataset)
        if not condition.excluded
    }
    flat = group.flat if group else shipped_settings({"dataset.name": dataset, **asked})
    value = flat.get(key)
    if value is None:
        return Fact()
    if isinstance(value, (list, tuple)):
        return Fact(text="-".join(typed(item) for item in value))
    return Fact(text=typed(value), number=float(value) if isinstance(value, (int, float)) else None)


def _fact(entry: Entry) -> Entry:
    """A setting or a count, and whether it is what the paper prints: the same number, or the same
    text where there is none."""
    ours, printed = entry.ours, entry.printed
    if not isinstance(ours, Fact) or printed is None:
        return entry
    if ours.number is None or printed.mean is None:
        same = bool(ours.text) and ours.text == printed.text
    else:
        same = ours.number == printed.mean
    return replace(entry, verdict=AS_PRINTED if same else OTHERWISE)


def _relative(definition: Definition, entries: list[Entry]) -> list[Entry]:
    """The entries of a dataset with numbers that are relative to another column divided by that
    one's mean on the same device."""
    found = []
    for entry in entries:
        measure = definition.measure(entry.metric)
        if measure.relative_to and entry.ours.values:
            base: dict[str, list[float]] = {}
            for record in _records_of(measure.relative_to, entries):
                value = measure.read(record)
                if record.ok and value:
                    base.setdefault(record.device, []).append(value)
            device = {record.seed: record.device for record in entry.records}
            ratios = {
                seed: value * len(base[device[seed]]) / sum(base[device[seed]])
                for seed, value in entry.ours.values.items()
                if device[seed] in base
            }
            other = tuple(seed for seed in entry.ours.values if seed not in ratios)
            absent = {
                **entry.ours.absent,
                **({f"no {measure.relative_to} on this device": other} if other else {}),
            }
            entry = replace(entry, ours=Cell(ratios, absent))
        found.append(entry)
    return found


def _records_of(heading: str, entries: Iterable[Entry]) -> list[Record]:
    """The runs of a column, each once."""
    return list(
        {
            record.id: record
            for entry in entries
            if entry.heading == heading
            for record in entry.records
        }.values()
    )
