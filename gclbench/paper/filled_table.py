"""A filled table: cells, and the blocks they stand in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gclbench.component.declared import among
from gclbench.component.registry import METHODS, did_you_mean
from gclbench.paper.aggregate import Cell, Fact
from gclbench.paper.columns import FLOORS
from gclbench.paper.fitted import FITTED
from gclbench.paper.gains import Gain
from gclbench.paper.metrics import Quantity, find_metric
from gclbench.paper.reference import PrintedValue
from gclbench.paper.rivals import Rival
from gclbench.paper.significance import Outcome
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition
from gclbench.paper.verdict import MARKS, UNDETERMINED
from gclbench.records import Record

DAGGER = "†"
"""At a number of runs that are not at the paper's settings; the notes say which."""

DEGENERATE = "⊘"
"""At a number of runs of which one collapsed or more: it says little."""


class NotInTable(LookupError):
    """A dataset, metric or method that the table does not have; the text lists those it has."""


@dataclass(frozen=True)
class Entry:
    """One cell: ours, the printed value, and how they compare.

    Attributes:
        column: heading. method: of the runs. heading: of the definition's column, where several
            settings of it are shown.
        ours: over seeds. printed: None where the paper has no such cell.
        verdict: one of `verdict.VERDICTS` where a mean is printed beside it, else "".
        outcome: of the test against the printed value, None where nothing could be tested.
        p_value, p_equivalence: of no difference and of TOST, both after Holm's correction over the
            whole table; the verdict uses the first, and TOST's uncorrected one in `outcome`.
        needed: of an undetermined cell, how many seeds would decide; None where no number up to
            `significance.MOST_SEEDS` would, or one run does not tell.
        records: the runs behind the cell, whatever their status. command: what makes the cell, as
            typed, runs or not; "" where nothing can.
        described: the metric's unit and direction, where the catalogue does not have it.
        faithful: at the paper's settings, as far as they are known. comparable: the two numbers can
            be subtracted. fitted: choices that were made after the cell's own labels had been seen.
        gains: over the controls, of a compared table.
        task: whose records, where a table has several tasks.
        rank: 1 for the best of our columns and those that cannot be told from it, 2 for the next
            such group; None where the cells cannot be separated.
    """

    dataset: str
    metric: str
    column: str
    ours: Cell
    printed: PrintedValue | None
    verdict: str = ""
    outcome: Outcome | None = None
    p_value: float | None = None
    p_equivalence: float | None = None
    needed: int | None = None
    method: str = ""
    heading: str = ""
    records: tuple[Record, ...] = ()
    command: str = ""
    described: Quantity | None = None
    faithful: bool = True
    comparable: bool = True
    fitted: tuple[str, ...] = ()
    rank: int | None = None
    gains: tuple[Gain, ...] = ()
    task: str = ""

    @property
    def shown(self) -> Quantity:
        """The metric's unit and direction."""
        return self.described or find_metric(self.metric)

    @property
    def factor(self) -> float:
        """What the number is multiplied by before it is shown."""
        return self.shown.factor

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, in fractions where they are ones."""
        if (
            not self.comparable
            or self.ours.mean is None
            or self.printed is None
            or self.printed.mean is None
        ):
            return None
        return self.ours.mean - self.printed.mean

    @property
    def mark(self) -> str:
        """The sign of the verdict, with the seeds that an undetermined cell needs: `✓`, `~24`."""
        seeds = self.needed if self.verdict == UNDETERMINED and self.needed else ""
        return f"{MARKS.get(self.verdict, '')}{seeds}"

    @property
    def signs(self) -> str:
        """`†` at runs that are not at the paper's settings, `‡` at fitted ones, `⊘` at collapsed
        ones."""
        return (
            (DAGGER if not self.faithful else "")
            + (FITTED if self.fitted else "")
            + (DEGENERATE if self.degenerate else "")
        )

    @property
    def degenerate(self) -> bool:
        """Whether a run behind the cell collapsed."""
        return any(record.degenerate for record in self.records)

    def show_ours(self) -> str:
        """`70.57 ± 1.28 (10) ✓`, with the signs."""
        return f"{self.ours.show(self.factor)} {self.mark}".rstrip() + self.signs

    def show_printed(self) -> str:
        """`70.57 ± 1.28`, empty for a control."""
        return "" if self.printed is None else self.printed.show()

    def show_difference(self) -> str:
        """`−0.12`, ours minus the paper's as shown; empty without both, and between settings or
        counts that agree."""
        if self.difference is None or (isinstance(self.ours, Fact) and self.difference == 0):
            return ""
        value = self.factor * self.difference
        text = f"{value:+g}" if isinstance(self.ours, Fact) else f"{value:+.2f}"
        return text.replace("-", "−")


@dataclass(frozen=True)
class Block:
    """The cells of one dataset: `columns` in order of the definition, `entries` by (metric,
    column)."""

    dataset: str
    columns: tuple[str, ...]
    entries: Mapping[tuple[str, str], Entry]


@dataclass(frozen=True)
class Comparison:
    """A filled table.

    Attributes:
        definition: what it is. metrics: rows shown. blocks: one per dataset shown.
        records: those that its cells are of. collection: all that were read.
        tests: number of tests against printed values that Holm's correction was over. pairs: of
            those between our own columns. gain_tests: of those against the controls.
        notes: sentences on settings and records that are not shown.
        rivals: of columns that a user added, how they stand against the others. rival_tests: number
            of those tests.
    """

    definition: Definition
    metrics: tuple[str, ...]
    blocks: tuple[Block, ...]
    records: tuple[Record, ...]
    collection: Collection
    tests: int
    notes: tuple[str, ...]
    pairs: int = 0
    gain_tests: int = 0
    rivals: tuple[Rival, ...] = ()
    rival_tests: int = 0

    @property
    def entries(self) -> list[Entry]:
        """Every cell shown, by dataset, metric, column."""
        return [
            block.entries[metric, column]
            for block in self.blocks
            for metric in self.metrics
            for column in block.columns
        ]

    @property
    def commits(self) -> list[str]:
        """Git commits that the runs were made with."""
        return sorted({record.environment.get("commit", "unknown") for record in self.runs})

    @property
    def runs(self) -> list[Record]:
        """The records without those of floors, which no run has made."""
        return [record for record in self.records if record.name("method") not in FLOORS]

    @property
    def devices(self) -> list[str]:
        """Devices that the records were made on."""
        return sorted({record.device for record in self.records if record.device})

    def restrict(
        self, datasets: Sequence[str] = (), metrics: Sequence[str] = (), methods: Sequence[str] = ()
    ) -> Comparison:
        """Some datasets, metrics and methods (or columns, by their headings) only; tests and marks
        stay those of the whole table.

        Raises:
            NotInTable: for one that the table does not have.
        """
        methods = names_in(self.definition, datasets, metrics, methods)
        blocks = tuple(
            _with_methods(block, methods)
            for block in self.blocks
            if not datasets or block.dataset in datasets
        )
        shown = {block.dataset for block in blocks}
        ids = {
            record.id
            for block in blocks
            for entry in block.entries.values()
            for record in entry.records
        }
        return replace(
            self,
            metrics=tuple(metric for metric in self.metrics if not metrics or metric in metrics),
            blocks=blocks,
            records=tuple(record for record in self.records if record.id in ids),
            notes=tuple(note for note in self.notes if note.partition(":")[0] in shown),
            rivals=tuple(rival for rival in self.rivals if _both_shown(rival, blocks)),
        )


def names_in(
    definition: Definition,
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[str]:
    """The methods as the table has them.

    Raises:
        NotInTable: for a dataset, metric or method that the table does not have.
    """
    names = definition.names()
    methods = [among(METHODS, name, names["method"]) for name in methods]
    asked = {"dataset": datasets, "metric": metrics, "method": methods}
    for kind, wanted in asked.items():
        for name in wanted:
            if name not in names[kind]:
                hint = _apart(kind, name, names[kind]) or did_you_mean(name, known=names[kind])
                raise NotInTable(
                    f"table {definition.id} has no {kind} '{name}'; it has"
                    f" {', '.join(names[kind])}{'.' * bool(hint)}{hint}"
                )
    return methods


def _both_shown(rival: Rival, blocks: Sequence[Block]) -> bool:
    columns = {name for block in blocks if block.dataset == rival.dataset for name in block.columns}
    return {rival.own, rival.column} <= columns


def _with_methods(block: Block, methods: Sequence[str]) -> Block:
    if not methods:
        return block
    kept = {
        key: entry
        for key, entry in block.entries.items()
        if {entry.method, entry.heading} & set(methods)
    }
    return replace(block, columns=tuple(dict.fromkeys(column for _, column in kept)), entries=kept)


def _apart(kind: str, name: str, known: Sequence[str]) -> str:
    """What to type for several names that were given with commas; "" for anything else."""
    names = name.split(",")
    if len(names) < 2 or not all(each in known for each in names):
        return ""
    return f" Several names have blanks between them: --{kind} {' '.join(names)}"
