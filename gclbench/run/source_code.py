"""The source code that a run is computed by, where no version or commit names it."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gclbench.component.components import Components
from gclbench.component.own_files import DIGEST
from gclbench.machine import environment
from gclbench.machine.environment import CHANGED

PACKAGE = Path(__file__).resolve().parent.parent

INTERACTIVE = "__main__"
"""The module of a notebook or a script."""


def code_of(components: Iterable[Any]) -> str:
    """Hexadecimal digits that differ where the code differs: that of other people's components, and
    of all of gclbench where its files differ from its commit."""
    return outside_code(components) + _of_the_package()


def outside_code(components: Iterable[Any]) -> str:
    """16 hexadecimal digits of the code of components that are not gclbench's own, and of their
    bases; empty where all are its own.

    The code is that of the files; of a class in a notebook or a script it is the cell, or the
    script. What these import has no part in it.
    """
    classes = {
        cls for component in components for cls in type(component).__mro__ if not _is_ours(cls)
    }
    if not classes:
        return ""
    return hashlib.sha256("".join(sorted(map(_code_of, classes))).encode()).hexdigest()[:16]


def outside_code_of_run(components: Components, task: Any) -> str:
    """The same of what computes a run; its dataset is known by its content."""
    return outside_code([components.method, components.filter, components.negatives, task])


@functools.cache
def _code_of(cls: type) -> str:
    """Of one class, as it was when the process first asked, which is soon after its import: a file
    may be edited while a sweep runs."""
    module = sys.modules.get(cls.__module__)
    if (digest := getattr(module, DIGEST, None)) is not None and cls.__module__ != INTERACTIVE:
        return str(digest)
    file = _file_of(cls)
    if file is not None:
        return _hashed([file])
    text = _cell(cls) or repr([cls.__qualname__, *_compiled(cls)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cell(cls: type) -> str:
    """The cell of a notebook, or the script, that defines a class; "" where nobody has its text."""
    for value in vars(cls).values():
        function = inspect.unwrap(value) if callable(value) else None
        code = getattr(function, "__code__", None)
        if code is None or getattr(function, "__module__", None) != cls.__module__:
            continue  # a decorator of another module's, perhaps
        if not code.co_filename.startswith("<string"):
            return "".join(linecache.getlines(code.co_filename))
    return ""


def _is_ours(cls: type) -> bool:
    """Whether a class is of gclbench, or of Python's own library."""
    root = cls.__module__.partition(".")[0]
    if root in sys.stdlib_module_names and root != INTERACTIVE:
        return True
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(PACKAGE)


def _file_of(cls: type) -> Path | None:
    """The file of a class; None in a notebook, or a script, which has other things in it."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return None if file is None or cls.__module__ == INTERACTIVE else Path(file)


def _compiled(cls: type) -> Iterator[object]:
    """What a class does whose text nobody has: its plain values, and its functions as compiled."""
    for name, value in sorted(vars(cls).items()):
        function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if isinstance(function, types.FunctionType):
            usual = repr(function.__defaults__), repr(function.__kwdefaults__)
            yield name, _of_code(function.__code__), usual
        elif isinstance(value, (bool, int, float, str, tuple)) and not name.startswith("__"):
            yield name, repr(value)


def _of_code(code: types.CodeType) -> tuple[object, ...]:
    constants = [
        _of_code(each)
        if isinstance(each, types.CodeType)
        # The order of a set is another one in another process.
        else sorted(map(repr, each))
        if isinstance(each, frozenset)
        else repr(each)
        for each in code.co_consts
    ]
    return code.co_code.hex(), code.co_names, code.co_varnames, constants


@functools.cache
def _of_the_package() -> str:
    """Of gclbench as it was when the process first asked."""
    if not environment.versions()["commit"].endswith(CHANGED):
        return ""
    return _hashed(sorted(PACKAGE.rglob("*.py")))


def _hashed(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        try:
            found.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError:  # such as a module of an archive
            found.update(str(file).encode())
    return found.hexdigest()[:16]
