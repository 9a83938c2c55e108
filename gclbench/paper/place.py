"""Where a number that prose quotes is found: a table's cell, runs of one setting, two sides of a
comparison, a benchmark's file, the summary."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from gclbench.component.registry import UnknownName, did_you_mean
from gclbench.paper import matrix
from gclbench.paper.aggregate import NOT_RUN, Cell, Fact, Group, SideBySide, differences
from gclbench.paper.columns import typed
from gclbench.paper.comparison import compare
from gclbench.paper.config_defaults import younger_settings
from gclbench.paper.filled_table import Block, Comparison, Entry
from gclbench.paper.head_to_head import HeadToHead, head_to_head
from gclbench.paper.measure import GIB, finite_number
from gclbench.paper.metrics import Quantity, find_metric
from gclbench.paper.sources import Collection
from gclbench.paper.summary import summary
from gclbench.paper.tables import TABLES, UnknownTable, find_table
from gclbench.paper.verdict import ABOVE, BELOW, EQUIVALENT, UNDETERMINED
from gclbench.records import Record, flatten

FORMS = {
    "table": "TABLE; DATASET; COLUMN; METRIC",
    "runs": "runs; KEY=VALUE …; METRIC",
    "bench": "bench/FILE.json; KEY.KEY",
    "summary": "summary; KEY.KEY",
    "compare": "compare; A; B; METRIC …; DATASET [TASK]; METRIC",
}
"""How a reference of each kind begins; any of them can be followed by what is shown."""

PARTS = ("fit", "seconds", "memory", "filter_report")
"""Fields of a record whose numbers can be quoted: `fit.iterations`."""

NAMED = 6
"""So many settings that fit a reference are named."""


class BadReference(LookupError):
    """A reference that names what is not there; the text says what is."""


@dataclass(frozen=True)
class Place:
    """Numbers of a place, by seed; a single number where nothing has seeds.

    Attributes:
        unit: `percent`, `seconds`, `GiB` or `number`; values are already in it. entry: of a table.
        said: what the records say where there is no value. alone: it is no number of runs.
        verdict: of a cell, of two sides, or of a benchmark's row; empty where there is none.
    """

    values: Mapping[int, float]
    unit: str
    entry: Entry | None = None
    said: str = NOT_RUN
    alone: bool = False
    verdict: str = ""


class Places:
    """Finds numbers; each table that is asked for is filled once.

    Args:
        collection: the records. folder: where `bench/` lies. filled: tables that are filled
            already.
    """

    def __init__(
        self, collection: Collection, folder: Path, filled: Iterable[Comparison] = ()
    ) -> None:
        self.collection = collection
        self.folder = folder
        self._filled = {comparison.definition.id: comparison for comparison in filled}
        self._compared: dict[tuple[str, ...], HeadToHead] = {}

    def find(self, kind: str, names: Sequence[str]) -> Place:
        """The place that a form's fields name.

        Raises:
            BadReference: with what exists.
        """
        if kind == "table":
            return self._cell(names)
        if kind == "runs":
            return self._runs(names[1], names[2])
        if kind == "summary":
            return _number_at(self._summary(), names[1], kind)
        if kind == "compare":
            return self._line(names)
        return _number_at(self._bench(names[0]), names[1], names[0])

    def is_column(self, names: Sequence[str], heading: str) -> bool:
        """Whether a cell's neighbour in its row is meant."""
        return kind_of(names[0]) == "table" and heading in self._block(names).columns

    def _table(self, name: str, dataset: str) -> Comparison:
        """A table that shows a dataset; the matrix has a half for collections of graphs."""
        graphs = name == matrix.ID and matrix.half_of(dataset) is matrix.OF_GRAPHS
        key = f"{name} of {dataset}" if graphs else name
        if key not in self._filled:
            try:
                table = matrix.table([dataset]) if graphs else find_table(name)
                self._filled[key] = compare(table, self.collection)
            except UnknownTable as error:
                others = ", ".join(form for kind, form in FORMS.items() if kind != "table")
                raise BadReference(f"{error}. Other references: {others}") from error
        return self._filled[key]

    def _block(self, names: Sequence[str]) -> Block:
        blocks = {block.dataset: block for block in self._table(*names[:2]).blocks}
        _known(f"table {names[0]}", "dataset", names[1], list(blocks))
        return blocks[names[1]]

    def _cell(self, names: Sequence[str]) -> Place:
        table, dataset, column, metric = names
        block, metrics = self._block(names), self._table(table, dataset).metrics
        _known(f"table {table}", f"column of {dataset}", column, block.columns)
        if "." not in metric:
            _known(f"table {table}", "metric", metric, metrics)
        entry = block.entries[metric if metric in metrics else metrics[0], column]
        if isinstance(entry.ours, SideBySide):
            settings = "; ".join(what for what, _ in entry.ours.settings)
            raise BadReference(f"this cell has several settings ({settings}): {FORMS['runs']}")
        if metric not in metrics:
            return _field_of(Group({}, entry.records), metric)
        cell = entry.ours
        if isinstance(cell, Fact) and cell.mean is not None:
            return Place({0: cell.mean}, "number", entry, verdict=entry.verdict)
        return _scaled(cell, entry.shown, entry)

    def _runs(self, conditions: str, metric: str) -> Place:
        groups, met = self.collection.groups, ""
        for condition in conditions.split():
            key, equals, value = condition.partition("=")
            if not equals:
                raise BadReference(f"'{condition}' is no condition; type {FORMS['runs']}")
            settings = sorted(
                {name for group in groups for name in (*group.flat, *younger_settings(group.flat))}
            )
            _known(f"a run{met}", "setting", key, settings)
            values = [_setting(group, key) for group in groups]
            _known(f"a run{met}", key, value, sorted({text for text in values if text is not None}))
            groups = [group for group, text in zip(groups, values, strict=True) if text == value]
            met = f"{met or ' with'} {condition}"
        if len(groups) > 1:
            told = sorted(text or "nothing" for text in differences(groups))
            more = f"; {len(told) - NAMED} more" if len(told) > NAMED else ""
            raise BadReference(
                f"{len(groups)} settings fit; add what tells one of them:"
                f" {'; '.join(told[:NAMED])}{more}"
            )
        if "." in metric:
            return _field_of(groups[0], metric)
        _known("this setting", "metric", metric, groups[0].metrics())
        return _scaled(groups[0].cell(metric), find_metric(metric))

    def _line(self, names: Sequence[str]) -> Place:
        """A line of `gclbench compare A B --metric METRIC …`; its values are A − B by seed."""
        _, *sides, metrics, where, metric = names
        key = (*sides, *metrics.split())
        if key not in self._compared:
            try:
                self._compared[key] = head_to_head(
                    (sides[0], sides[1]), self.collection, metrics=metrics.split()
                )
            except (UnknownName, ValueError) as error:
                raise BadReference(f"{'; '.join(names[:4])}: {error}") from error
        lines = self._compared[key].lines
        at = " ".join(names[:4])
        _known(at, "metric", metric, sorted({line.shown.name for line in lines}))
        lines = tuple(line for line in lines if line.shown.name == metric)
        names_of = list(dict.fromkeys(line.dataset for line in lines))
        begun = [name for name in names_of if f"{where} ".startswith(f"{name} ")]
        dataset = max(begun, key=len, default=where.partition(" ")[0])
        task = where[len(dataset) :].strip()
        _known(at, "dataset", dataset, names_of)
        there = {line.task: line for line in lines if line.dataset == dataset}
        if not task and len(there) > 1:
            raise BadReference(f"{at} has several tasks on {dataset}: {', '.join(there)}")
        _known(f"{at} on {dataset}", "task", task or next(iter(there)), list(there))
        line = there[task] if task else next(iter(there.values()))
        one, other = (cell.values for cell in line.cells)
        factor = line.shown.factor
        return Place(
            {seed: factor * (one[seed] - other[seed]) for seed in one},
            line.shown.shown_as,
            verdict=line.settled.verdict,
        )

    def _summary(self) -> object:
        return summary(self._table(name, "") for name in TABLES)

    def _bench(self, name: str) -> object:
        files = sorted(path.name for path in (self.folder / "bench").glob("*.json"))
        _known("results/bench", "file", name.removeprefix("bench/"), files)
        return json.loads((self.folder / name).read_text(encoding="utf-8"))


def kind_of(first: str) -> str:
    """Which of FORMS begins so."""
    return "bench" if first.startswith("bench/") else first if first in FORMS else "table"


def _known(where: str, kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known=known)
        raise BadReference(f"{where} has no {kind} '{name}'.{hint} It has {', '.join(known)}")


def _as_typed(value: Any) -> str:
    return value if isinstance(value, str) else typed(value).replace(" ", "")


def _setting(group: Group, key: str) -> str | None:
    """A setting, at its class's default where it is younger than the record; None where the runs
    have no such setting."""
    settings = group.flat if key in group.flat else younger_settings(group.flat)
    if key not in settings:
        return None
    return _as_typed(settings[key])


def _scaled(cell: Cell, quantity: Quantity, entry: Entry | None = None) -> Place:
    values = {seed: quantity.factor * value for seed, value in cell.values.items()}
    verdict = entry.verdict if entry else ""
    return Place(values, quantity.shown_as, entry, cell.show(), verdict=verdict)


def _field_of(group: Group, name: str) -> Place:
    """A number of the runs that is no metric, `seconds.fit`."""
    there = {key for record in group.records for key in _fields(record)}
    if name not in there:
        there = {re.sub(r"(?<=\.after_)\d+$", "N", key) for key in there}
    _known("this setting", "field", name, sorted(there))
    cell = group.cell(name, lambda record: _fields(record).get(name))
    part = name.partition(".")[0]
    factor = 1 / GIB if part == "memory" else 1
    unit = {"memory": "GiB", "seconds": "seconds"}.get(part, "number")
    if part == "course":
        quantity = find_metric(name.split(".")[1])
        factor, unit = quantity.factor, quantity.shown_as
    return Place({seed: factor * value for seed, value in cell.values.items()}, unit)


def _fields(record: Record) -> dict[str, float]:
    """A record's numbers besides its metrics, by dotted name."""
    read = {
        key: finite_number(value)
        for key, value in flatten({part: getattr(record, part) for part in PARTS}).items()
    }
    found = {key: value for key, value in read.items() if value is not None}
    return {**found, **_of_course(record)}


def _of_course(record: Record) -> dict[str, float]:
    """Of a run with scores on the way, for each metric: that after some iterations (0: of the
    untrained state), by how much the best trained state is above the last one, and mean and least
    in the second half of the training."""
    course = [(epochs, scores) for epochs, scores in record.data.get("course", ())]
    trained = [scores for epochs, scores in course if epochs > 0]
    found = {}
    for name in trained[-1] if trained else ():
        values = [scores[name] for scores in trained if name in scores]
        found[f"course.{name}.best_over_last"] = max(values) - values[-1]
        late = [
            scores[name]
            for epochs, scores in course
            if 2 * epochs > course[-1][0] and name in scores
        ]
        found[f"course.{name}.late_mean"] = statistics.fmean(late)
        found[f"course.{name}.late_least"] = min(late)
    for epochs, scores in course:
        state = f"after_{int(epochs)}" if epochs else "untrained"
        found.update({f"course.{name}.{state}": value for name, value in scores.items()})
    return found


def _number_at(value: Any, paths: str, where: str) -> Place:
    """The number at a path such as `rows[graph=cora solver=push].seconds`; `path+path` adds."""
    total = 0.0
    for path in paths.split("+"):
        found = _walk(value, path, where)
        number = finite_number(found)
        if number is None:
            inner = ", ".join(_parts(found)) or "nothing"
            said = f"{where}; {path} is no number; it has {inner}"
            if path == paths and (verdict := _verdict_of(found)):
                return Place({}, "number", said=said, alone=True, verdict=verdict)
            raise BadReference(said)
        total += number
    return Place({0: total}, "seconds" if "seconds" in paths else "number", alone=True)


def _verdict_of(row: Any) -> str:
    """Of a row of scripts/equivalence.py, whose margin is its own; "" of anything else."""
    found = _parts(row)
    if not {"equivalent", "differs", "mean_difference"} <= set(found):
        return ""
    if found["equivalent"] or not found["differs"]:
        return EQUIVALENT if found["equivalent"] else UNDETERMINED
    return ABOVE if found["mean_difference"] > 0 else BELOW


def _walk(value: Any, path: str, where: str) -> Any:
    """What stands at a path, "" for the value itself."""
    rest = path
    while rest:
        at = f"{where}; {path.removesuffix(rest).rstrip('.')}" if rest != path else where
        chosen = re.match(r"\[(.*?)\]", rest)
        if chosen:
            value, name = _row(value, chosen[1], at), chosen[0]
        else:
            parts = _parts(value)
            # A key may have a dot in it.
            fitting = [key for key in parts if re.match(re.escape(key) + r"(?=$|[.\[])", rest)]
            name = max(fitting, key=len, default="")
            if not name:
                _known(at, "key", re.split(r"[.\[]", rest)[0], list(parts))
            value = parts[name]
        rest = rest[len(name) :].removeprefix(".")
    return value


def _row(rows: Any, conditions: str, at: str) -> Any:
    """The one row of a list for which all conditions hold."""
    wanted = [word.partition("=")[::2] for word in conditions.split()]
    fitting = [
        row
        for row in (rows if isinstance(rows, list) else [])
        if all(key in _parts(row) and _as_typed(row[key]) == asked for key, asked in wanted)
    ]
    if len(fitting) != 1:
        raise BadReference(f"{at} has {len(fitting)} rows [{conditions}]; name one")
    return fitting[0]


def _parts(value: object) -> dict[str, Any]:
    """What has names in a value: of a mapping, a list, or a dataclass with its properties."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return {str(place): item for place, item in enumerate(value)}
    if not is_dataclass(value):
        return {}
    names = [field.name for field in fields(value)]
    names += [name for name, item in vars(type(value)).items() if isinstance(item, property)]
    return {name: getattr(value, name) for name in names}
