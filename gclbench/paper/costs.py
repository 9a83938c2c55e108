"""What the runs that the papers' tables lack would take: results/costs.md.

Seconds are those of the committed records of the same method on the same dataset. Where there are
none, `scripts/bench_costs.py` has trained for one epoch and for three, and the rest follows by the
number of epochs of the shipped settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from gclbench.component.registry import METHODS
from gclbench.paper.config_defaults import own_negatives, shipped_settings
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.sources import Collection
from gclbench.paper.summary import counted, papers
from gclbench.paper.verdict import NOT_RUN, UNDETERMINED
from gclbench.run.estimate import Durations, spoken

PROBES = Path("results/bench/costs.json")
BOUND = "one epoch"
"""Source of a time that is an upper bound."""

SEEDS = 3
"""What a cell should have at least; the total is over as many."""

Pair = tuple[str, str]
"""Method and dataset."""


@dataclass(frozen=True)
class Probe:
    """The beginning of a training, or all of it where a method has no epochs.

    Attributes:
        status: of its runs; reason: why there is no time. first, third: seconds of a training of
            one epoch and of three; None where there was none, or one epoch took long enough.
        memory: bytes, the process's peak.
    """

    status: str
    reason: str
    first: float | None
    third: float | None
    memory: float | None

    def seconds(self, epochs: int | None) -> float | None:
        """Of a training of so many epochs; an upper bound where one epoch is all that is known."""
        if self.first is None or epochs is None:
            return self.first
        if self.third is None:
            return self.first * epochs
        an_epoch = max(0.0, (self.third - self.first) / 2)
        return self.first + an_epoch * (epochs - 1)


@dataclass
class Lacking:
    """The cells of a method on a dataset that are not run or not decided.

    Attributes:
        not_run, undetermined: cells. columns: headings of those that are not run: as many
            trainings a seed. tasks: of all of them.
    """

    not_run: int = 0
    undetermined: int = 0
    columns: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)


def lacking(comparisons: Iterable[Comparison]) -> dict[Pair, Lacking]:
    """By method and dataset, the cells with a printed number that a run here could fill or decide;
    each number once, and those of a paper's other version not again."""
    found: dict[Pair, Lacking] = {}
    for definition, entry in counted(comparisons):
        if papers()[definition.paper].repeats or entry.method not in METHODS.entries:
            continue
        if definition.source == "runs" and entry.verdict in (NOT_RUN, UNDETERMINED):
            there = found.setdefault((entry.method, entry.dataset), Lacking())
            _count(there, entry, entry.task or definition.task)
    return dict(sorted(found.items()))


def _count(there: Lacking, entry: Entry, task: str) -> None:
    there.undetermined += entry.verdict == UNDETERMINED
    if entry.verdict == NOT_RUN:
        there.not_run += 1
        there.columns.add(entry.heading)
    there.tasks.add(task)


def read_probes(path: Path = PROBES) -> dict[Pair, Probe]:
    """What `scripts/bench_costs.py` found; nothing where it has not been run."""
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    names = [one.name for one in fields(Probe)]
    return {
        (row["method"], row["dataset"]): Probe(**{name: row[name] for name in names})
        for row in found["rows"]
    }


def epochs_of(pair: Pair) -> int | None:
    """Epochs of the shipped settings; None where the method has no such setting."""
    method, dataset = pair
    names = {
        "method.name": method,
        "dataset.name": dataset,
        "filter.name": "none",
        "negatives.name": own_negatives(method),
    }
    found: Any = shipped_settings(names).get("method.epochs")
    return found if isinstance(found, int) else None


def a_seed(
    pair: Pair, durations: Durations, probes: Mapping[Pair, Probe]
) -> tuple[float | None, str]:
    """Seconds of one training at the shipped settings, and what they are from; None and why where
    nothing is known."""
    epochs = epochs_of(pair)
    recorded = durations.training(pair, epochs)
    if recorded is not None:
        return recorded, "records"
    probe = probes.get(pair)
    if probe is None:
        return None, "unknown"
    seconds = probe.seconds(epochs)
    if seconds is None:
        return None, f"{probe.status}: {probe.reason}" if probe.reason else probe.status
    if epochs is None:
        return seconds, "one run"
    return seconds, BOUND if probe.third is None else "one and three epochs"


def page(
    comparisons: Sequence[Comparison], records: Collection, probes: Mapping[Pair, Probe]
) -> str:
    """The page, as Markdown."""
    durations, found = Durations.of(records.records), lacking(comparisons)
    costs = {pair: a_seed(pair, durations, probes) for pair in found}
    known = {pair: seconds for pair, (seconds, _) in costs.items() if seconds is not None}
    unfilled = [pair for pair, there in found.items() if there.not_run]
    hours = SEEDS * sum(
        known[pair] * len(found[pair].columns) for pair in unfilled if pair in known
    )
    cells = sum(found[pair].not_run for pair in unfilled)
    of_known = sum(found[pair].not_run for pair in unfilled if pair in known)
    lines = [
        "# What the missing runs would take",
        "",
        (
            "Cells that have a printed mean and are not run, or undetermined, by method and"
            " dataset, and the time of one training at the shipped settings, on one core of the"
            " machine that it was measured on; evaluations are not counted."
            " From records: of trainings of as many epochs, else by the seconds of an epoch."
            " Else from one epoch and three (`scripts/bench_costs.py`), for all epochs of the"
            " settings, so for early stopping an upper bound. ≤: an epoch took over two minutes;"
            " the bound counts what is done once in each. Where a column has settings of its own,"
            " its training may take another time."
        ),
        "",
        (
            f"{SEEDS} seeds of what is not run and known: {spoken(hours)} for {of_known} of"
            f" {cells} cells."
        ),
        "",
        "| method | dataset | not run | undetermined | one training | peak GiB | from |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for pair, there in found.items():
        seconds, source = costs[pair]
        told = "" if seconds is None else spoken(seconds)
        bound = "≤ " if source == BOUND else ""
        probe = probes.get(pair)
        memory = f"{probe.memory / 2**30:.1f}" if probe and probe.memory else ""
        lines.append(
            f"| {pair[0]} | {pair[1]} | {there.not_run or ''} | {there.undetermined or ''}"
            f" | {bound}{told} | {memory} | {source} |"
        )
    return "\n".join(lines) + "\n"
