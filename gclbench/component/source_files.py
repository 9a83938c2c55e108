"""Components that a source file registers, read without importing it."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HEAD = re.compile(
    r"^@.*\n(?:(?:@|    |\)).*\n)*"  # the decorators
    r"class (?:\w+(?:\(.*\))?|\w+\(\n(?:    .*\n)*\)):\n"
    r'(?:    """(?s:.*?)"""|(?=    (?![rRuU]["\'])[A-Za-z_@.]))',
    re.MULTILINE,
)
"""A decorated class up to the end of its docstring, as ruff formats it."""


@dataclass(frozen=True)
class Registered:
    """A class that a file registers: under which name, the first line of its docstring, what the
    class is called, and on which line it stands."""

    name: str
    summary: str
    cls: str
    line: int


def registered_in(path: Path, variable: str) -> Iterator[Registered]:
    """The classes of a source file decorated with `@<variable>.register("name")`.

    Raises:
        SyntaxError: when it is no Python.
        OSError, UnicodeDecodeError: when it cannot be read.
    """
    source = path.read_text(encoding="utf-8")
    wanted = source.count(f"{variable}.register(")
    if not wanted:
        return

    def entries(classes: Iterable[tuple[ast.stmt, int]]) -> Iterator[Registered]:
        for node, before in classes:
            for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                name = _registered_name(decorator, variable)
                if isinstance(node, ast.ClassDef) and name is not None:
                    summary = (ast.get_docstring(node) or "").partition("\n")[0]
                    yield Registered(name, summary, node.name, node.lineno + before)

    found = [*entries(_heads(source))]
    if len(found) != wanted:
        found = [*entries((node, 0) for node in ast.parse(source).body)]
    yield from found


def _heads(source: str) -> Iterator[tuple[ast.stmt, int]]:
    """The decorated classes of a file up to their docstring, as far as they are written as ruff
    writes them, and the lines before each.

    To read the rest of every file took a good part of the time of an answer.
    """
    for found in HEAD.finditer(source):
        with contextlib.suppress(SyntaxError, ValueError):
            (node,) = ast.parse(f"{found[0]}\n    pass\n").body
            yield node, source.count("\n", 0, found.start())


def _registered_name(decorator: ast.expr, variable: str) -> str | None:
    match decorator:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr="register"),
            args=[ast.Constant(value=str(name))],
        ) if owner == variable:
            return name
    return None
