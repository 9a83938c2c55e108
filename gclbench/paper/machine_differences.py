"""Where runs were not computed alike: threads, precision, instructions, device, libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from gclbench.records import Record

UNRECORDED = "not recorded"

FACTS: dict[str, Callable[[Record], str]] = {
    "threads": lambda record: record.environment.get("threads", UNRECORDED),
    # Records from before there was a choice are of float32 products.
    "precision": lambda record: _precision(record.environment),
    "instructions": lambda record: record.environment.get("instructions", UNRECORDED),
    "device": lambda record: record.device or UNRECORDED,
    # What filtered features were kept as, or read from disk as.
    "storage of filtered features": lambda record: record.filter_report.get("storage", "float32"),
    "libraries": lambda record: _libraries(record.environment),
    # Of components that are not gclbench's own.
    "code": lambda record: record.environment.get("code", UNRECORDED),
}
"""What the last bits of a run depend on, and what is no part of its identity."""

MAY_BE_UNKNOWN = ("instructions", "libraries", "code")
"""Facts that most records are older than: runs that lack one are not held to differ from others."""


def _libraries(environment: Mapping[str, str]) -> str:
    names = ("torch", "torch-geometric", "numpy", "scipy", "scikit-learn")
    return ", ".join(f"{name} {environment[name]}" for name in names if name in environment) or (
        UNRECORDED
    )


def _precision(environment: Mapping[str, str]) -> str:
    """`float32`, or `fast` and of what products."""
    products = environment.get("fast_products")
    return environment.get("precision", "float32") + (f" ({products})" if products else "")


def differing(records: Iterable[Record]) -> dict[str, Counter[str]]:
    """Of the facts that differ between runs, how many runs have each value.

    Runs that ended without a result say nothing. Those that lack a fact of `MAY_BE_UNKNOWN` are
    counted where the others differ.
    """
    done = [record for record in records if record.ok]
    counts = {name: Counter(fact(record) for record in done) for name, fact in FACTS.items()}
    return {name: count for name, count in counts.items() if _values(name, count) > 1}


def _values(name: str, count: Counter[str]) -> int:
    """How many values of a fact are held against each other."""
    return len(count) - (name in MAY_BE_UNKNOWN and UNRECORDED in count)


def listed(counts: Counter[str]) -> str:
    """`1 (3 runs), 2 (7 runs)`."""
    return ", ".join(
        f"{value} ({count} run{'' if count == 1 else 's'})"
        for value, count in sorted(counts.items())
    )


def sentence(
    cells: Iterable[tuple[str, Sequence[Record]]],
    whose: str = "Runs of one cell",
    facts: Container[str] = FACTS,
) -> str:
    """Of a table's cells, by name: which of them mix what; empty where none does.

    Args:
        whose: what the records of a name are of. facts: those that are told.
    """
    found: dict[str, list[str]] = {}
    for name, records in cells:
        for fact in filter(facts.__contains__, differing(records)):
            found.setdefault(fact, []).append(name)
    parts = []
    for fact, names in found.items():
        unlike = list(dict.fromkeys(names))
        rest = f" and {len(unlike) - 3} more" if len(unlike) > 3 else ""
        parts.append(f"{fact}: {', '.join(unlike[:3])}{rest}")
    return f"{whose} differ in {'; in '.join(parts)} (gclbench show ID)." if parts else ""


def beside(record: Record, others: Iterable[Record]) -> list[str]:
    """How the other seeds of a run's cell were computed, where not as this one: a line per fact."""
    alike = [other for other in others if other.id != record.id and _cell(other) == _cell(record)]
    return [
        f"{name}: this run {FACTS[name](record)}; its cell {listed(counts)}"
        for name, counts in differing([record, *alike]).items()
    ]


def _cell(record: Record) -> dict[str, object]:
    return {key: value for key, value in record.spec.items() if key != "seed"}
