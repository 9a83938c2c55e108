"""Values of Python as the words of a command: `{"seeds": [3, 7]}` is `seeds=[3,7]`."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def of_method(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings of the method by their whole names; one that has a dot is taken as it is."""
    return {
        key if "." in key else f"method.{key}": value for key, value in (settings or {}).items()
    }


def overrides_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the command takes them: `{"seeds": [3, 7]}` is `seeds=[3,7]`."""
    return [f"{key}={_text(key, value)}" for key, value in settings.items()]


def _text(key: str, value: Any) -> str:
    """A value in the grammar of overrides.

    Raises:
        TypeError: for one that no setting has.
    """
    from gclbench.config.quoting import quoted

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
            items = (f"{name}:{_text(key, item)}" for name, item in value.items())
            return f"{{{','.join(items)}}}"
        case Iterable():
            return f"[{','.join(_text(key, item) for item in value)}]"
    raise TypeError(
        f"{key}={value!r} is a {type(value).__name__}; a setting is a number, a text, true or"
        " false, None, or a list of these"
    )
