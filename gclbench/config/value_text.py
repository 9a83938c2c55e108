"""Plain values, as YAML and JSON hold them, in the grammar of overrides."""

from __future__ import annotations

from typing import Any

from gclbench.config.quoting import quoted


def text_of(value: Any) -> str:
    """`[3, None, "a b"]` as `[3,null,'a b']`."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case list():
            return f"[{','.join(map(text_of, value))}]"
        case dict():
            return f"{{{','.join(f'{key}:{text_of(item)}' for key, item in value.items())}}}"
    return quoted(str(value))
