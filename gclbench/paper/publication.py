"""What a paper is here: how its printed numbers are read, and its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gclbench.paper.figure_definition import Figure
    from gclbench.paper.table_definition import Definition

Rows = Sequence[Mapping[str, str]]
"""Printed values, a mapping per cell with the keys of `reference.csv`."""


@dataclass(frozen=True)
class Paper:
    """A paper: everything that this package knows of it but the numbers themselves.

    A module of `gclbench.paper.papers`, or one that another package names in the entry-point group
    `gclbench.papers`, defines one as `PAPER`. Printed names that no map holds become lower case
    with underscores: `Wiki-CS` is `wiki_cs`.

    Attributes:
        name: the first part of the ids of its tables and figures: `dmat` of `dmat/1`.
        title: title, venue, and what the paper introduces, on one line.
        ours: no paper, but tables of this project; they stand behind those of the papers.
        values: the printed values: a CSV file, or rows with the same keys. None: those of
            `reference.csv`. key: its name in the column `paper` of that file; "" for `name`.
        introduces: methods that the paper introduces. Its values of them come before other papers'.
        repeats: name of a paper that prints the same numbers; they are counted once.
        methods: printed name to our name and a variant, which tells several printed rows of one
            method apart. variants: printed names with a variant in parentheses.
        datasets, tasks: printed names to ours.
        metrics: printed name to our name by dataset; "" is for every other dataset.
        protocols: dataset to the split of its classification. protocol: that of all others.
        runs: number of a table to how many trainings its spreads are over, where the paper says so;
            `9 mutag` stands for one of its datasets, by our name.
        over_folds: number of a table to our names of methods whose spread is over the folds of one
            cross-validation: it says nothing of another training, and takes no part in a verdict.
        quoted: the same of methods whose rows the paper quotes from work that does not say what its
            spread is over, or whose methods train nothing: it takes no part either.
        spread: number of a table to a sentence on what its spread is, where that is not trainings,
            or not said; `9-graphs` stands for a part of it.
        settings: printed hyper-parameter to the key of a run's settings. settings_table: number of
            the table that prints them per dataset.
        tables, figures: what is built. not_built: id of a table to why it is not.
    """

    name: str
    title: str
    ours: bool = False
    values: Path | Rows | None = None
    key: str = ""
    introduces: tuple[str, ...] = ()
    repeats: str = ""
    methods: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    datasets: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    protocols: Mapping[str, str] = field(default_factory=dict)
    protocol: str = "random_10_10_80"
    runs: Mapping[str, int] = field(default_factory=dict)
    over_folds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quoted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spread: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_table: str = ""
    tables: tuple[Definition, ...] = ()
    figures: tuple[Figure, ...] = ()
    not_built: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = (*(table.id for table in self.tables), *(figure.id for figure in self.figures))
        foreign = [name for name in (*ids, *self.not_built) if not name.startswith(f"{self.name}/")]
        if foreign:
            raise ValueError(
                f"paper '{self.name}' has {', '.join(foreign)}; the ids of its tables and figures"
                f" begin with {self.name}/"
            )
