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

from gclbench.component.registry import METHODS, NEGATIVES
from gclbench.paper.component_versions import age
from gclbench.paper.config_defaults import own_negatives, shipped_settings
from gclbench.paper.deciding import all_undecided
from gclbench.paper.discovery import papers
from gclbench.paper.filled_table import Comparison, Entry
from gclbench.paper.significance import MOST_SEEDS
from gclbench.paper.sources import Collection
from gclbench.paper.summary import counted, out_of_reach
from gclbench.paper.verdict import NOT_RUN, UNDETERMINED
from gclbench.records import Record, flatten
from gclbench.run.estimate import Durations, name_key, spoken

PROBES = Path("results/bench/costs.json")
ONE_EPOCH, SCALED = "one epoch", "scaled from recorded epochs"
BOUNDS = (ONE_EPOCH, SCALED)
"""Sources of a time that is an upper bound."""

UNKNOWN = "unknown"
NO_RECORD = "no record of the dataset"
"""Why a time is not known where no training on the dataset has come to its end."""

LINKS = "link_prediction"
"""The task that trains on another graph than the others: it hides edges."""

SEEDS = 3
"""What a cell should have at least; the total is over as many."""

MethodOnDataset = tuple[str, str]
"""Their names. Settings of the method may stand behind its own, as in `dgi
method.propagation=diffusion`."""


def method_of(words: str) -> str:
    """The method of a name that settings may stand behind; empty for none."""
    return (words.split() or [""])[0]


@dataclass(frozen=True)
class FirstEpochs:
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
    """The cells of a method on a dataset that are not run, as printed or at all, or not decided.

    Attributes:
        not_run, otherwise, undetermined: cells; `otherwise` are run at other settings than the
            paper's alone. trainings: of a seed of the first two: heading, and the task where it
            hides a part of the graph. tasks: of all of them.
    """

    not_run: int = 0
    otherwise: int = 0
    undetermined: int = 0
    trainings: set[tuple[str, str]] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)


def lacking(comparisons: Iterable[Comparison]) -> dict[MethodOnDataset, Lacking]:
    """By method and dataset, the cells with a printed number that a run here could fill or decide;
    each number once, and those of a paper's other version not again."""
    found: dict[MethodOnDataset, Lacking] = {}
    for definition, entry in counted(comparisons):
        if papers()[definition.paper].repeats or entry.method not in METHODS.entries:
            continue
        if definition.source == "runs" and (
            entry.verdict in (NOT_RUN, UNDETERMINED) or not (entry.faithful or out_of_reach(entry))
        ):
            there = found.setdefault((entry.method, entry.dataset), Lacking())
            _count(there, entry, entry.task or definition.task)
    return dict(sorted(found.items()))


def _count(there: Lacking, entry: Entry, task: str) -> None:
    there.undetermined += entry.verdict == UNDETERMINED
    there.not_run += entry.verdict == NOT_RUN
    there.otherwise += not entry.faithful
    if entry.verdict != UNDETERMINED:
        there.trainings.add((entry.heading, task if task == LINKS else ""))
    there.tasks.add(task)


def read_probes(path: Path = PROBES) -> dict[MethodOnDataset, FirstEpochs]:
    """What `scripts/bench_costs.py` found; nothing where it has not been run.

    By method and dataset; where settings of a method were given, they stand behind its name. A row
    of other versions than now is left out. One that names none is from before they were named, and
    counts.
    """
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    names = [one.name for one in fields(FirstEpochs)]
    return {
        (row["method"], row["dataset"]): FirstEpochs(**{name: row[name] for name in names})
        for row in found["rows"]
        if "components" not in row or row["components"] == versions_of(method_of(row["method"]))
    }


def versions_of(method: str) -> dict[str, str]:
    """Of a method and of its strategy for negatives."""
    classes: dict[str, Any] = {
        "method": METHODS.load(method),
        "negatives": NEGATIVES.load(own_negatives(method)),
    }
    return {kind: component.version for kind, component in classes.items()}


def epochs_of(pair: MethodOnDataset) -> int | None:
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


def newest(records: Iterable[Record]) -> list[Record]:
    """The runs that are ok, of the newest recorded version of each method and of the strategy that
    it ships with."""
    there = [
        record
        for record in records
        if record.ok and record.name("negatives") == own_negatives(record.name("method"))
    ]
    latest: dict[str, tuple[tuple[int, str], ...]] = {}
    for record in there:
        name = record.name("method")
        latest[name] = max(latest.get(name, ()), _age(record))
    return [record for record in there if _age(record) == latest[record.name("method")]]


def as_shipped(records: Iterable[Record]) -> list[Record]:
    """By method and dataset, the runs whose method has its shipped settings, whatever its epochs;
    all of them where there is none that was trained."""
    found: dict[MethodOnDataset, tuple[list[Record], list[Record]]] = {}
    for record in records:
        pair = (record.name("method"), record.name("dataset"))
        found.setdefault(pair, ([], []))[_is_shipped(record)].append(record)
    return [record for others, shipped in found.values() for record in shipped or others]


def _is_shipped(record: Record) -> bool:
    settings = flatten({"method": record.spec["method"]})
    if settings.get("method.epochs") == 0:
        return False  # says nothing of what a training takes
    names = {f"{kind}.name": record.name(kind) for kind in ("dataset", "method", "filter")}
    shipped = shipped_settings({**names, "negatives.name": record.name("negatives")})
    return all(
        settings[key] == shipped.get(key, settings[key])
        for key in settings
        if key != "method.epochs"
    )


def durations(records: Iterable[Record]) -> Durations:
    """Those of `newest`, as shipped, on a processor."""
    on_processors = [record for record in records if not record.on_gpu]
    return Durations.of(as_shipped(newest(on_processors)), name_key)


def _age(record: Record) -> tuple[tuple[int, str], ...]:
    """By the versions of the method and of its strategy."""
    return age(record.spec.get("versions", {}), ("method", "negatives"))


def a_seed(
    pair: MethodOnDataset,
    recorded: Durations,
    first: Mapping[MethodOnDataset, FirstEpochs],
) -> tuple[float | None, str]:
    """Seconds of one training at the shipped epochs, and what they are from; None and why where
    nothing is known."""
    epochs = epochs_of(pair)
    seconds = recorded.training(pair, epochs)
    if seconds is not None:
        counts = {count for count, _ in recorded.trainings[pair]}
        return seconds, "records" if epochs in counts else SCALED
    begun = first.get(pair)
    if begun is None:
        return None, UNKNOWN
    seconds = begun.seconds(epochs)
    if seconds is None:
        return None, f"{begun.status}: {begun.reason}" if begun.reason else begun.status
    if epochs is None:
        return seconds, "one run"
    return seconds, ONE_EPOCH if begun.third is None else "one and three epochs"


def page(
    comparisons: Sequence[Comparison],
    records: Collection,
    first: Mapping[MethodOnDataset, FirstEpochs],
) -> str:
    """The page, as Markdown."""
    recorded, found = durations(records.records), lacking(comparisons)
    costs = {pair: a_seed(pair, recorded, first) for pair in found}
    trained_on = {dataset for _, dataset in recorded.trainings}
    for pair, (_, source) in costs.items():
        if source == UNKNOWN and pair[1] not in trained_on:
            costs[pair] = None, NO_RECORD
    unfilled = {pair: there for pair, there in found.items() if there.trainings}
    exact, bounds = (
        {
            pair: there
            for pair, there in unfilled.items()
            if costs[pair][0] is not None and (costs[pair][1] in BOUNDS) == bound
        }
        for bound in (False, True)
    )
    cells, of_exact, of_bounds = (
        sum(there.not_run + there.otherwise for there in part.values())
        for part in (unfilled, exact, bounds)
    )
    open_cells = all_undecided(comparisons)
    lines = [
        "# What the missing runs would take",
        "",
        (
            "Cells that have a printed mean and are not run, run at other settings than the paper's"
            " alone (†), or undetermined, by method and dataset, and the time of one training with"
            " the shipped number of epochs: wall-clock seconds of a processor that other runs"
            " shared, mostly on one thread; evaluations are not counted, nor are runs on a GPU."
            " Rows of methods that are not built are left out. records: the mean of recorded"
            " trainings of as many epochs and the newest recorded version, with the method's own"
            " strategy for negatives, at its shipped settings where such are recorded, else at"
            f" others. {SCALED}: by the seconds of an epoch. Else from trainings of one epoch and"
            f" of three (`scripts/bench_costs.py`). ≤: {SCALED}, or {ONE_EPOCH}, which took over"
            " two minutes, or whose three did not end: what is done once counts for each epoch."
            " Early stops count in recorded runs only. Where a column has settings of its own, its"
            f" training may take another time. {NO_RECORD}: no training on it has come to its end,"
            " as where its files were not at hand."
        ),
        "",
        (
            f"{SEEDS} seeds of what is not run, or not at the paper's settings:"
            f" {spoken(_all_seeds(exact, costs))} for {of_exact} of {cells} cells, and at"
            f" most {spoken(_all_seeds(bounds, costs))} for {of_bounds} more; of the others nothing"
            " is known."
        ),
        "",
        (
            f"Undetermined cells: {open_cells.cells}. No number of seeds up to {MOST_SEEDS:,} would"
            f" decide {open_cells.beyond} of them, as they stand. Seeds that would decide"
            f" {open_cells.offered} of the others, each with a chance of 80 %, take"
            f" {spoken(open_cells.seconds)}, one after the other (`gclbench table --undecided`)."
        ),
        "",
        "| method | dataset | not run | † | undetermined | one training | peak GiB | from |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for pair, there in found.items():
        seconds, source = costs[pair]
        told = "" if seconds is None else spoken(seconds)
        bound = "≤ " if source in BOUNDS else ""
        begun = first.get(pair)
        memory = f"{begun.memory / 2**30:.1f}" if begun and begun.memory else ""
        lines.append(
            f"| {pair[0]} | {pair[1]} | {there.not_run or ''} | {there.otherwise or ''}"
            f" | {there.undetermined or ''}"
            f" | {bound}{told} | {memory} | {in_a_row(source)} |"
        )
    return "\n".join(lines) + "\n"


def in_a_row(text: str) -> str:
    """Text as a Markdown table's row may hold it."""
    return " ".join(text.split()).replace("|", "\\|")


def _all_seeds(
    part: Mapping[MethodOnDataset, Lacking],
    costs: Mapping[MethodOnDataset, tuple[float | None, str]],
) -> float:
    """Seconds of all seeds of what is not run."""
    return SEEDS * sum((costs[pair][0] or 0) * len(there.trainings) for pair, there in part.items())
