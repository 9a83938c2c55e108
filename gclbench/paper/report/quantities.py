"""How numbers of a record are written: seconds, bytes, values of metrics."""

from __future__ import annotations

from collections.abc import Iterable

from gclbench.paper.columns import typed
from gclbench.paper.measure import finite_number

MINUTE, HOUR = 60, 3600
MIB = 1 << 20


def numbers(values: Iterable[object]) -> list[float]:
    """The finite numbers among values."""
    return [found for found in map(finite_number, values) if found is not None]


def total(values: Iterable[object]) -> float | None:
    """The sum of the finite numbers among values, None without one."""
    found = numbers(values)
    return sum(found) if found else None


def seconds(value: object) -> str:
    """`0.06 s`, `7.1 s`, `12 min 5 s`, `3 h 20 min`; empty without a number."""
    found = finite_number(value)
    if found is None:
        return ""
    if found < 10:
        return f"{found:.2f} s" if found < 1 else f"{found:.1f} s"
    whole = round(found)
    if whole < 2 * MINUTE:
        return f"{whole} s"
    if whole < 2 * HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"


def memory(value: object) -> str:
    """Bytes as `550 MiB` or `1.73 GiB`; empty without a number."""
    found = finite_number(value)
    if found is None:
        return ""
    return f"{found / MIB:.0f} MiB" if found < 1024 * MIB else f"{found / MIB / 1024:.2f} GiB"


def setting(value: object) -> str:
    """A setting as it is typed: `null`, `true`, `[256,128]`, `0.0001`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(setting(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{setting(item)}" for key, item in value.items()) + "}"
    return typed(value) if isinstance(value, float) else str(value)


def count(quantity: int, noun: str, plural: str = "") -> str:
    """`1 run`, `12 runs`."""
    return f"{quantity:,} {noun if quantity == 1 else plural or noun + 's'}"
