"""Components in files of a user's own, without a package: `--components my_method.py`.

The files are named by the variable GCLBENCH_COMPONENTS, several as in PATH, and by the option,
which adds to it. Processes that a sweep starts read the same variable. As in gclbench itself a file
is read for `@KIND.register("name")`, and imported when one of its components is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

VARIABLE = "GCLBENCH_COMPONENTS"
OPTION = "--components"

PACKAGE = "gclbench_components"
"""The module of `my_method.py` is called `gclbench_components.my_method_` and a few digits, so that
a file may have the name of another module."""

DIGEST = "__gclbench_code__"
"""Of a module: digits of the bytes that were read for it."""

NEIGHBOURS: dict[Path, set[str]] = {}
"""By folder, the modules that files of components have imported from beside them. Others there are
left alone: somebody's script may have them."""

APPENDED: list[str] = []
"""The folder that stands at the end of `sys.path` for the file that was imported last."""


class OwnFileError(ValueError):
    """A file of components cannot be used; the text names it, and what to do."""


def taken_out(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """A command line without the option, and the places that it names.

    Raises:
        OwnFileError: where it names none.
    """
    left: list[str] = []
    places: list[str] = []
    rest = iter(words)
    for word in rest:
        option, given, place = word.partition("=")
        if option != OPTION:
            left.append(word)
            continue
        places.append(place if given else next(rest, ""))
        if not places[-1]:
            raise OwnFileError(f"{OPTION} names a file or a folder: {OPTION} my_method.py")
    return left, places


@contextlib.contextmanager
def added(place: str) -> Iterator[list[Path]]:
    """Has this process and those that it starts read a file, or the files of a folder, which it
    gives to its block; not where the block fails. Places that are not there any more are left out.

    Raises:
        OwnFileError: when there is none, or its path cannot be named.
    """
    if os.pathsep in str(_absolute(place)):
        raise OwnFileError(
            f"{_absolute(place)} has a '{os.pathsep}', by which {VARIABLE} separates paths; move or"
            f" rename it, or give each of several files its own {OPTION}"
        )
    before, those = os.environ.get(VARIABLE, ""), _files_of(place)
    there = [each for each in _places() if _absolute(each).exists()]
    os.environ[VARIABLE] = os.pathsep.join([*there, place])
    settle()
    try:
        yield those
    except BaseException:
        os.environ[VARIABLE] = before
        raise


def settle() -> None:
    """Makes the variable's paths absolute, for processes that begin in another folder, and leaves
    repeated ones out."""
    places = [str(_absolute(place)) for place in _places()]
    if places:
        os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys(places))


def files() -> list[Path]:
    """The files, absolute, in the order in which they are named; of a folder by name, without those
    whose name begins with `_` or `test_`.

    Raises:
        OwnFileError: when one is not there.
    """
    found: dict[Path, Path] = {}
    for path in (path for place in _places() for path in _files_of(place)):
        found.setdefault(path.resolve(), path)
    return list(found.values())


def module_name(path: Path) -> str:
    """What the module of a file is called: two files of one name may lie in different folders."""
    place = hashlib.sha256(os.fsencode(path.resolve().parent)).hexdigest()[:6]
    return f"{PACKAGE}.{path.stem}_{place}"


def imported(path: Path) -> ModuleType:
    """The module of a file, read as it is now where it is not imported yet. Files beside it can be
    imported by it.

    Raises:
        Exception: whatever it raises.
    """
    main, name = sys.modules.get("__main__"), module_name(path)
    if main is not None and file_of(main) == path.resolve():
        return main  # a script that uses itself
    if name in sys.modules:
        return sys.modules[name]
    code = path.read_bytes()
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    module.__dict__[DIGEST] = hashlib.sha256(code).hexdigest()[:16]
    _look_in(path.parent)
    before = {*sys.modules}
    try:
        exec(compile(code, str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        folder = path.parent.resolve()
        fresh = ((each, file_of(sys.modules[each])) for each in {*sys.modules} - before)
        beside = {each for each, file in fresh if file is not None and file.parent == folder}
        NEIGHBOURS.setdefault(folder, set()).update(beside)
    return module


def leave_out(path: Path) -> None:
    """Has a file, and what it imported from beside it, imported anew the next time."""
    for name in (module_name(path), *NEIGHBOURS.pop(path.parent.resolve(), ())):
        sys.modules.pop(name, None)


def _look_in(folder: Path) -> None:
    """From here on `import helper` is of this folder, and not of another file's; what is installed
    comes first."""
    for other, names in NEIGHBOURS.items():
        for name in names if other != folder.resolve() else ():
            sys.modules.pop(name, None)
    sys.path[:] = [place for place in sys.path if place not in APPENDED]
    APPENDED.clear()
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        APPENDED.append(str(folder))


def file_of(module: ModuleType | None) -> Path | None:
    """The file of a module, where it has one."""
    # Not by getattr: there are modules that import others when they are asked for a name.
    file = getattr(module, "__dict__", {}).get("__file__")
    return Path(file).resolve() if isinstance(file, str) and file.endswith(".py") else None


def shown(path: Path) -> str:
    """A file as somebody types it here: relative where it lies below this folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def as_typed(paths: Iterable[str]) -> list[str]:
    """The words of a command that name files."""
    typed = dict.fromkeys(shown(Path(path)) for path in paths)
    return [word for path in typed for word in (OPTION, path)]


def _places() -> list[str]:
    return [place for place in os.environ.get(VARIABLE, "").split(os.pathsep) if place]


def _absolute(place: str) -> Path:
    path = Path(place).expanduser()
    return path if path.is_absolute() else Path.cwd() / path


def _files_of(place: str) -> list[Path]:
    path = _absolute(place)
    if path.is_dir():
        found = sorted(
            file for file in path.glob("*.py") if not file.name.startswith(("_", "test_"))
        )
        if not found:
            raise OwnFileError(f"{path} has no file of components: {OPTION} names FILE.py")
        return found
    if not path.is_file():
        raise OwnFileError(
            f"there is no file of components {path}; {OPTION}, or the variable {VARIABLE}, names"
            " FILE.py or a folder of such files"
        )
    if path.suffix != ".py":
        raise OwnFileError(f"{path} is no file of components: {OPTION} names FILE.py")
    return [path]
