"""What a table lacks, as commands that run it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gclbench.component.registry import DATASETS, METHODS
from gclbench.paper import run_words
from gclbench.paper.columns import Column
from gclbench.paper.component_versions import of_other_versions, recorded_seeds
from gclbench.paper.filled_table import Comparison
from gclbench.paper.table_definition import SEEDS, Definition
from gclbench.records import Record

Cells = set[tuple[str, str]]


def missing(comparison: Comparison, seeds: int = SEEDS) -> list[str]:
    """Commands whose runs would give every cell that is shown its seeds, as few lines as rows or
    columns of the table allow.

    A run that is recorded counts, whatever its end. One not at the paper's settings does not, nor
    one of a component's other version: the commands would make it anew.
    Columns of methods and datasets that are not built here are left out, and so are cells whose
    runs at the paper's settings are all `refused`.
    """
    definition = comparison.definition
    wanted: dict[tuple[int, ...], Cells] = {}
    for (dataset, heading), found in _recorded(comparison).items():
        lacking = tuple(seed for seed in range(seeds) if seed not in found)[
            : max(0, seeds - len(found))
        ]
        if lacking:
            wanted.setdefault(lacking, set()).add((dataset, heading))
    lines = []
    for lacking in sorted(wanted, key=lambda item: (-len(item), item)):
        for cells in _apart(wanted[lacking], definition):
            for datasets, headings in _rectangles(cells, definition):
                lines.append(sweep_command(definition, datasets, headings, lacking, seeds))
    return lines


def refused(records: Sequence[Record]) -> bool:
    """Whether runs are recorded and all unsupported: another seed would be, too."""
    return bool(records) and all(record.status == "unsupported" for record in records)


def _apart(cells: Cells, definition: Definition) -> list[Cells]:
    """The cells of the table's own columns, and those of added ones: they are run in sweeps of
    their own."""
    added = {column.label for column in definition.columns if column.added}
    own = {cell for cell in cells if cell[1] in added}
    return [part for part in (cells - own, own) if part]


def buildable(definition: Definition, dataset: str, column: Column) -> bool:
    """Whether runs of a cell can be made here."""
    return (
        definition.source == "runs"
        and column.method_name in METHODS.entries
        and dataset in DATASETS.entries
    )


def _recorded(comparison: Comparison) -> dict[tuple[str, str], set[int]]:
    """Seeds that are recorded at the paper's settings, by (dataset, heading) of every cell that can
    be made here."""
    columns = {column.label: column for column in comparison.definition.columns}
    found: dict[tuple[str, str], set[int]] = {}
    for entry in comparison.entries:
        counts = entry.faithful and not of_other_versions(entry.records)
        if counts and refused(entry.records):
            continue
        if buildable(comparison.definition, entry.dataset, columns[entry.heading]):
            seeds = recorded_seeds(entry.records) if entry.faithful else set()
            key = (entry.dataset, entry.heading)
            # Of several settings in one column, the one with the most seeds.
            found[key] = max(found.get(key, set()), seeds, key=len)
    return found


def _rectangles(cells: Cells, definition: Definition) -> list[tuple[list[str], list[str]]]:
    """The cells as (datasets, columns) whose products they are, by rows or by columns, whichever
    takes fewer."""
    order = (list(definition.datasets), [column.label for column in definition.columns])
    covers = []
    for first in (0, 1):
        lines: dict[str, list[str]] = {}
        for name in order[first]:
            others = [
                other
                for other in order[1 - first]
                if ((name, other) if first == 0 else (other, name)) in cells
            ]
            if others:
                lines[name] = others
        merged: dict[tuple[str, ...], list[str]] = {}
        for name, names in lines.items():
            merged.setdefault(tuple(names), []).append(name)
        covers.append(
            [
                (names, list(key)) if first == 0 else (list(key), names)
                for key, names in merged.items()
            ]
        )
    return min(covers, key=len)


def sweep_command(
    definition: Definition,
    datasets: Sequence[str],
    headings: Sequence[str],
    lacking: Sequence[int],
    seeds: int = SEEDS,
) -> str:
    """What runs these seeds of columns on datasets.

    Args:
        seeds: runs of a full cell; where all of them are lacking, their number alone is said.
    """
    words = [f"table={definition.id}"]
    there = [name for name in definition.datasets if name in DATASETS.entries]
    if list(datasets) != there:
        words.append(f"dataset={','.join(datasets)}")
    added = [column.added for column in definition.columns if column.label in {*headings}]
    if not any(added):
        words += _of_columns(definition, headings)
    if list(lacking) == list(range(seeds)):
        words += [f"seeds={seeds}"] if seeds != SEEDS else []
    else:
        words.append(run_words.of_seeds(lacking))
    words += [word for text in added if text for word in ("--with", text)]
    methods = [column.method_name for column in definition.columns if column.label in {*headings}]
    besides = [f"method={name}" for name in methods if name] + [f"dataset={','.join(datasets)}"]
    return run_words.command(["sweep", *words], besides)


def _of_columns(definition: Definition, headings: Iterable[str]) -> list[str]:
    """`method=…` where that says which columns, else `column=…`; nothing where all are meant."""
    built = [
        column
        for column in definition.columns
        if column.method_name in METHODS.entries and not column.added
    ]
    chosen = [column for column in built if column.label in set(headings)]
    if chosen == built:
        return []
    names = list(dict.fromkeys(column.method_name for column in chosen))
    if [column for column in built if column.method_name in names] == chosen:
        return [f"method={','.join(names)}"]
    return [f"column={','.join(column.label for column in chosen)}"]
