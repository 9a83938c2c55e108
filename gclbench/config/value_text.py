"""Values of Python, YAML and JSON in the grammar of overrides."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gclbench.config.quoting import quoted


def text_of(value: Any) -> str:
    """`[3, None, "a b"]` as `[3,null,'a b']`.

    Raises:
        TypeError: for a value that no setting has.
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() | Path():
            return quoted(str(value))
        case numbers.Integral():
            return str(int(value))
        case numbers.Real():
            return repr(float(value))
        case Mapping():
            return f"{{{','.join(f'{key}:{text_of(item)}' for key, item in value.items())}}}"
        case Iterable():
            return f"[{','.join(map(text_of, value))}]"
    raise TypeError(
        f"{value!r} is of type {type(value).__name__}; a setting is a number, a text, true or"
        " false, None, or a list of these"
    )
