"""The reference of every setting, as a Markdown page, from the registry and its docstrings.

python scripts/reference.py            prints it; mkdocs makes it part of the site
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Union

from gclbench.component.declared import declared
from gclbench.component.registry import GROUPS, KINDS
from gclbench.component.settings import OneOf, Range, schema

ROOT = Path(__file__).resolve().parent.parent

KIND_TITLES = {
    "dataset": "Datasets",
    "filter": "Filters",
    "method": "Methods",
    "negatives": "Strategies for negatives",
    "task": "Tasks",
    "launcher": "Launchers",
}
WORDS: dict[Any, str] = {int: "whole number", float: "number", str: "text", bool: "true, false"}

HEAD = """# Reference

Every setting, with its default.
This page is made from the code: the defaults and types of the classes, and their docstrings.
`gclbench show method=NAME dataset=NAME` prints the values of a run, the paper's included.
A setting is written `KIND.SETTING=VALUE`, that of a task `task.NAME.SETTING=VALUE`.
"""


def reference() -> str:
    """The page."""
    parts = [HEAD, _of_the_command()]
    for kind, title in KIND_TITLES.items():
        parts.append(f"## {title}\n")
        for name in GROUPS[kind].names():
            if GROUPS[kind].entries[name].builtin:
                parts.append(_component(kind, name))
    return "\n".join(parts)


def _of_the_command() -> str:
    """The keys of `configs/config.yaml` with the comments behind them."""
    rows = ["## Keys of a command\n", "| key | default | |", "| --- | --- | --- |"]
    for line in (ROOT / "configs" / "config.yaml").read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"(\w+): ([^#]*?)\s*(?:#\s*(.*))?", line)
        if found:
            rows.append(_row(f"`{found[1]}`", f"`{found[2]}`", found[3] or ""))
    return "\n".join(rows) + "\n"


def _component(kind: str, name: str) -> str:
    registry = GROUPS[kind]
    cls = registry.load(name)
    texts = _attributes(cls)
    head = f"### {kind}={name}\n\n{registry.entries[name].summary}\n"
    settings = schema(cls)
    if not settings:
        return f"{head}\nIt has no settings.\n"
    usual = declared(registry, name).defaults
    prefix = f"task.{name}" if kind == "task" else kind
    rows = [
        _row(f"`{prefix}.{key}`", _value(usual[key]), _kind(settings[key]), texts.get(key, ""))
        for key in settings
    ]
    table = ["| setting | default | values | |", "| --- | --- | --- | --- |", *rows]
    return "\n".join([head, *table]) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Text of a table: `|` and, where it is no code, `<` stand for themselves."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(
        part if place % 2 else part.replace("<", "&lt;") for place, part in enumerate(parts)
    )


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`".replace(" ", "")


def _kind(kind: Any) -> str:
    """A type in words: `number > 0`."""
    origin = typing.get_origin(kind)
    if origin is Annotated:
        base, *rules = typing.get_args(kind)
        for rule in rules:
            if isinstance(rule, OneOf):
                return ", ".join(f"`{choice}`" for choice in rule.choices)
            if isinstance(rule, Range):
                return f"{_kind(base)} {rule}"
        return _kind(base)
    if origin in (Union, types.UnionType):
        options = [_kind(option) for option in typing.get_args(kind) if option is not type(None)]
        return f"{' or '.join(options)}, or null"
    if origin is tuple:
        return f"list of: {_kind(typing.get_args(kind)[0])}"
    if origin is dict:
        return f"name to {_kind(typing.get_args(kind)[1])}"
    return WORDS.get(kind, str(kind))


def _attributes(cls: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of each setting, in one line."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        doc = inspect.cleandoc(base.__doc__ or "")
        section = re.search(r"^Attributes:\n(.*?)(?=^\S|\Z)", doc, re.MULTILINE | re.DOTALL)
        if base.__module__.startswith("gclbench.") and section:
            found.update(_entries(section[1], {*schema(cls)}))
    return found


def _entries(text: str, known: set[str]) -> dict[str, str]:
    """`lr, weight_decay: of Adam. tau: temperature τ.` by name; several share a text."""
    flat = " ".join(text.split())
    names = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    start = re.compile(rf"(?:(?<=^)|(?<=[.)] ))((?:{names})(?:, (?:{names}))*): ")
    marks = list(start.finditer(flat))
    found: dict[str, str] = {}
    ends = [*(mark.start() for mark in marks[1:]), len(flat)]
    for mark, end in zip(marks, ends, strict=False):
        said = flat[mark.end() : end].strip()
        for name in mark[1].split(", "):
            found[name] = said
    return found


if __name__ == "__main__":
    assert {*KIND_TITLES} == {*GROUPS} >= {*KINDS}
    sys.stdout.write(reference())
