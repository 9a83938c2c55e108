"""What a source file registers and what it imports, read without importing it."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
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


def beside(path: Path, elsewhere: Callable[[str], bool]) -> list[Path]:
    """The files that a source file imports from its own folder, and that those import from there,
    without itself, sorted. A package there counts whole.

    A file that is no Python, or cannot be read, imports nothing.

    Args:
        elsewhere: whether a module of this name is imported from another place.
    """
    found: dict[Path, None] = {}
    left = [path]
    while left:
        for name in _imported_names(left.pop()):
            if elsewhere(name):
                continue
            file, folder = path.with_name(f"{name}.py"), path.with_name(name)
            package = not file.is_file() or (folder / "__init__.py").is_file()
            there = folder.rglob("*.py") if package else [file]
            fresh = [each for each in there if each != path and each not in found]
            found.update(dict.fromkeys(fresh))
            left += fresh
    return sorted(found)


def _imported_names(path: Path) -> set[str]:
    """The first parts of the modules that a source file imports, wherever in it."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return set()
    whole: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            whole += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole.append(node.module)
    return {name.partition(".")[0] for name in whole}


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
