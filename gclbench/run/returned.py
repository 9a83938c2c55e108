"""What comes back from a component's methods, made into what a record can hold: numbers as floats,
and plain values. What can be made neither is an error that says what came back, and from where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from torch import Tensor

from gclbench.records import LARGEST
from gclbench.records.frame import COLUMNS
from gclbench.tasks.scores import Scores

PLAIN = (float, int, str, bool)
"""What is taken as it is. They come first, since data may hold many numbers."""

DEEPEST = 16
"""Levels of lists and mappings that a component may hand to its record."""


def scores_of(found: Any, where: str) -> Scores:
    """A task's metrics as floats, with what it says of them.

    Args:
        found: what came back. where: from what, as `Clustering.evaluate`.

    Raises:
        TypeError: when it is no mapping of names to numbers.
        ValueError: for a finite number beyond anything measured, or a name that is in `COLUMNS` or
            has a dot.
    """
    if not isinstance(found, Mapping):
        raise TypeError(
            f"{where} must return metrics by name, such as {{'acc': 0.5}}, and returned"
            f" {_kind(found)}"
        )
    # A task of another package may return a plain dictionary.
    floor = getattr(found, "floor", None) or {}
    degenerate = getattr(found, "degenerate", None) or ()
    return Scores(
        {_name(name, where): number(found[name], f"metric '{name}'", where) for name in found},
        [degenerate] if isinstance(degenerate, str) else [str(text) for text in degenerate],
        {name: _finite(floor[name], f"floor of '{name}'", where) for name in floor},
        getattr(found, "clusters", None),
    )


def number(value: Any, what: str, where: str) -> float:
    """A number of Python, NumPy or torch as a float.

    Raises:
        TypeError: when it is none: a text, a list, a truth value, a tensor of several numbers.
        ValueError: when it is finite and beyond anything measured.
    """
    found = _plain_number(value)
    if found is None:
        raise TypeError(
            f"{where} returned {what} as {_kind(value)}; it must be one number, such as"
            " float(value)"
        )
    if LARGEST < abs(found) < float("inf"):
        bits = f"a whole number of {found.bit_length()} bits" if isinstance(found, int) else ""
        raise ValueError(
            f"{where} returned {what} as {bits or f'{found:g}'}, which is beyond {LARGEST:g}"
        )
    return float(found)


def _finite(value: Any, what: str, where: str) -> float:
    """As `number`; what is not finite is a ValueError, too."""
    found = number(value, what, where)
    if not math.isfinite(found):
        raise ValueError(f"{where} returned {what} as {found}; it must be finite, or left out")
    return found


def plain(value: Any, what: str, where: str, depth: int = 0) -> Any:
    """A value as JSON has it: None, truth values, text, numbers, lists, and mappings by text.
    Arrays and tensors become lists.

    Raises:
        TypeError: when something in it is of another type, or it is nested too deeply.
    """
    if value is None or type(value) in PLAIN:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    found = _plain_number(value)
    if found is not None:
        return found
    if isinstance(value, (Tensor, np.ndarray)):
        value = (value.detach().cpu() if isinstance(value, Tensor) else value).tolist()
    if depth < DEEPEST and isinstance(value, (list, tuple)):
        return [plain(item, what, where, depth + 1) for item in value]
    if depth < DEEPEST and isinstance(value, Mapping):
        other = [key for key in value if not isinstance(key, str)]
        if other:
            raise TypeError(
                f"{where} returned {what} with the name {other[0]!r}; a record takes mappings by"
                " text"
            )
        return {key: plain(item, what, where, depth + 1) for key, item in value.items()}
    raise TypeError(
        f"{where} returned {what} that hold {_kind(value)}; a record takes numbers, text, lists and"
        " mappings by text"
    )


def _plain_number(value: Any) -> float | int | None:
    """A number of Python's own; None for what is no real number."""
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else None


def _name(name: Any, where: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{where} must return metrics by name, and returned the name {name!r}")
    if name in COLUMNS or "." in name:
        raise ValueError(
            f"{where} returned a metric called '{name}', as a column of tables of runs is or a"
            f" setting may be; give it another name, such as '{name.replace('.', '_')}_found'"
        )
    return name


def _kind(value: Any) -> str:
    """What a value is, for a sentence."""
    name = type(value).__name__
    if isinstance(value, (Tensor, np.ndarray)):
        return f"a {name} of shape {tuple(value.shape)}"
    text = repr(value)
    return f"{name} ({text})" if len(text) <= 40 and not text.startswith("<") else name
