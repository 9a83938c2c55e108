"""The schema of records: which fields there are, and of which types.

An error says exactly what is wrong with a text. Code that reads records relies on the schema: names
are names, seeds count from 0, settings and seconds are finite.
"""

from __future__ import annotations

import json
import math
from typing import Any

SCHEMA = 1
"""Version of the record's layout. Older records stay readable; newer ones are named in a
warning."""

STATUSES = ("ok", "diverged", "oom", "timeout", "failed", "unsupported", "interrupted")
"""ok: metrics are there. unsupported: the pair makes no sense; the others say how the run ended."""

KINDS = ("dataset", "filter", "method", "negatives", "task")
"""Components that a spec names."""

DEEPEST = 32
"""Levels of nesting that a record may have; gclbench's have six."""

LARGEST = 1e60
"""Metrics and settings beyond it come from damage: their squares, or the squares of these, have no
float."""

LARGEST_SEED = 2**63 - 1

TEXTS = ("reason", "traceback", "device", "command", "created")
OF_TEXTS = ("shared", "repairs", "degenerate")
"""Lists of text."""
NAMED_TEXTS = ("environment", "split")
"""Name to text."""
NAMED_NUMBERS = ("seconds", "memory", "limits", "floor")
"""Name to finite number."""
OBJECTS = ("filter_report", "fit", "data")
"""Name to anything."""

FREE_TEXT = ("reason", "traceback", "command", "repairs")
"""May hold bytes of paths that are no Unicode, which Python keeps as lone surrogates."""

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""As `Record.to_json` writes them."""


def parsed(text: str) -> dict[str, Any]:
    """The fields of a record as plain values, metrics as floats; keys that no record has are left
    as they are.

    Raises:
        ValueError: when the text is not a record; the message says what is wrong.
    """
    data = _decoded(text)
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    missing = [key for key in ("id", "spec", "status") if key not in data]
    if missing:
        raise ValueError(f"no '{missing[0]}' field, so not a gclbench record")
    if not _is_name(data["id"]):
        raise ValueError(f"its id ({_short(data['id'])}) is not a run's id")
    if data["status"] not in STATUSES:
        raise ValueError(
            f"its status ({_short(data['status'])}) is none of gclbench's: {', '.join(STATUSES)}"
        )
    _check_spec(data["spec"])
    schema = data.get("schema", SCHEMA)
    if type(schema) is not int or schema < 1:
        raise ValueError(f"its schema ({_short(schema)}) is not a whole number from 1")
    for key in TEXTS:
        _expect(data, key, isinstance(data.get(key, ""), str), "text")
    for key in OF_TEXTS:
        value = data.get(key, [])
        _expect(
            data,
            key,
            isinstance(value, list) and all(isinstance(item, str) for item in value),
            "a list of text",
        )
    for key in NAMED_TEXTS:
        value = data.get(key, {})
        _expect(
            data,
            key,
            isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
            "text by name",
        )
    for key in NAMED_NUMBERS:
        value = data.get(key, {})
        _expect(
            data,
            key,
            isinstance(value, dict) and all(_is_number(item) for item in value.values()),
            "numbers by name",
        )
    for key in OBJECTS:
        _expect(data, key, isinstance(data.get(key, {}), dict), "an object")
    data["metrics"] = _metrics(data.get("metrics", {}))
    if "\\u" in text:
        _check_unicode(data)
    return data


def _decoded(text: str) -> Any:
    """The JSON value.

    Raises:
        ValueError: for text that is no JSON, names a key twice, or is nested too deeply to be
            walked.
    """
    if not text.strip():
        raise ValueError("not valid JSON (it is empty)")
    try:
        data = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON ({error.msg} at character {error.pos})") from error
    except _Twice as error:
        raise ValueError(f"its key '{error}' is there twice") from error
    except (ValueError, RecursionError) as error:
        # Python reads integers up to some thousand digits, and arrays in arrays up to some hundred.
        raise ValueError(
            "not valid JSON (a number of too many digits, or nested too deeply)"
        ) from error
    # A bracket that is opened right after one was closed adds no depth. The bound is loose, and
    # cheaper than a walk.
    if text.count("[") + text.count("{") - text.count("], [") > DEEPEST and _depth(data) > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} levels deep, so not a gclbench record")
    return data


class _Twice(Exception):
    """A key that an object has twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _depth(value: Any) -> int:
    """Levels of nesting, counted no further than it matters."""
    level = [value]
    for depth in range(DEEPEST + 1):
        level = [
            item for parent in level for item in _children(parent) if isinstance(item, (dict, list))
        ]
        if not level:
            return depth + 1
    return DEEPEST + 1


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _check_spec(spec: Any) -> None:
    """Raises ValueError unless it is what `RunSpec` makes."""
    if not isinstance(spec, dict):
        raise ValueError("its spec is not an object")
    for kind in KINDS:
        component = spec.get(kind)
        if not isinstance(component, dict) or not _is_name(component.get("name")):
            raise ValueError(f"its spec has no {kind} with a name")
    seed = spec.get("seed")
    if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"its seed ({_short(seed)}) is not a whole number from 0")
    protocol = spec["task"].get("protocol")
    if protocol is not None and not isinstance(protocol, str):
        raise ValueError(f"its task's protocol ({_short(protocol)}) is not text")
    _check_settings(spec, "")


def _check_settings(settings: dict[Any, Any], prefix: str) -> None:
    """Raises ValueError for a number that no setting can be."""
    for key, value in settings.items():
        if isinstance(value, str):
            continue
        if isinstance(value, (int, float)):
            if not abs(value) <= LARGEST:
                raise ValueError(
                    f"its setting '{prefix}{key}' is no number that can be set ({_short(value)})"
                )
        elif isinstance(value, dict):
            _check_settings(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            _check_settings(dict(enumerate(value)), f"{prefix}{key}.")


def _metrics(metrics: Any) -> dict[str, float]:
    if not isinstance(metrics, dict):
        raise ValueError("its metrics are not numbers by name")
    found = {}
    for name, value in metrics.items():
        number = NOT_FINITE.get(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"a metric is no number ({_short(name)}: {_short(value)})")
        if LARGEST < abs(number) < math.inf:
            raise ValueError(
                f"a metric is beyond anything measured ({_short(name)}: {_short(value)})"
            )
        found[name] = float(number)
    return found


def _expect(data: dict[str, Any], key: str, right: bool, what: str) -> None:
    if not right:
        raise ValueError(f"its field '{key}' is not {what} ({_short(data[key])})")


def _is_name(value: Any) -> bool:
    """Whether it can be a component's name or an id: a printable word that can name a file."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= 100
        and value.isprintable()
        and not set(value) & set("/\\ ")
        and value[0] != "."
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


def _check_unicode(data: dict[str, Any]) -> None:
    """Raises ValueError for lone surrogates, which no file and no terminal takes, where they are
    not to be expected."""
    for key, value in data.items():
        if key not in FREE_TEXT:
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                raise ValueError(
                    f"its field '{key[:40]!r}' holds text that is no Unicode"
                ) from error


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
