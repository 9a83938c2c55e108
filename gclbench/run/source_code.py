"""The source code that a run is computed by, where no version or commit names it."""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gclbench.machine import environment
from gclbench.machine.environment import CHANGED

PACKAGE = Path(__file__).resolve().parent.parent

INTERACTIVE = "__main__"
"""The module of a notebook or a script, whose other lines are no part of a class in it."""


def code_of(components: Iterable[Any]) -> str:
    """Hexadecimal digits that differ where the code differs: that of other people's components, and
    of all of gclbench where its files differ from its commit."""
    return outside_code(components) + _of_the_package()


def outside_code(components: Iterable[Any]) -> str:
    """16 hexadecimal digits of the code of components that are not gclbench's own, and of their
    bases; empty where all are its own.

    The code is that of the files, or of the class where it is defined in a notebook. A module that
    is imported from elsewhere by these files has no part in it.
    """
    classes = {
        cls for component in components for cls in type(component).__mro__ if not _is_ours(cls)
    }
    if not classes:
        return ""
    return hashlib.sha256("".join(sorted(map(_code_of, classes))).encode()).hexdigest()[:16]


@functools.cache
def _code_of(cls: type) -> str:
    """Of one class, as it was when the process first asked, which is soon after its import: a file
    may be edited while a sweep runs."""
    file = _file_of(cls)
    if file is not None:
        return _hashed([file])
    return hashlib.sha256(repr([cls.__qualname__, *_compiled(cls)]).encode()).hexdigest()[:16]


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
    """What a class without a file does: its plain values, and its functions as compiled."""
    for name, value in sorted(vars(cls).items()):
        function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if isinstance(function, types.FunctionType):
            yield name, _of_code(function.__code__)
        elif isinstance(value, (bool, int, float, str, tuple)) and not name.startswith("__"):
            yield name, repr(value)


def _of_code(code: types.CodeType) -> tuple[object, ...]:
    constants = [
        _of_code(each) if isinstance(each, types.CodeType) else repr(each)
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
