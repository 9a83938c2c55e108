"""Components in files of a user's own, without a package: `--components my_method.py`.

The files are named by the variable GCLBENCH_COMPONENTS, several as in PATH, and by the option,
which adds to it. Processes that a sweep starts read the same variable. As in gclbench itself a file
is read for `@KIND.register("name")`, and imported when one of its components is used.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

VARIABLE = "GCLBENCH_COMPONENTS"
OPTION = "--components"

PACKAGE = "gclbench_components"
"""The module of `my_method.py` is called `gclbench_components.my_method`, so that a file may have
the name of another module."""


class OwnFileError(ValueError):
    """A file of components cannot be used; the text names it, and what to do."""


def use(place: str | Path) -> None:
    """Makes components of your own known: those that a file registers, or the files of a folder.

        gclbench.use("my_method.py")
        gclbench.run(method="my_method", dataset="cora", seeds=3)

    Worker processes and jobs of a cluster read it too. After a change of the file call this again.
    A class that a notebook registers itself needs no call, and no other process knows it.

    Raises:
        OwnFileError: when there is none, or one cannot be read.
        RegistryConflict: when a name is taken.
    """
    # Imported here: it imports this file, and `import gclbench` does not wait for it.
    from gclbench.component.registry import GROUPS

    with _added(str(place)) as paths:
        for registry in GROUPS.values():
            registry.forget(paths)
        known = (entry.file for registry in GROUPS.values() for entry in registry.entries.values())
        if not {*map(str, paths)} & {*known}:
            raise OwnFileError(
                f'{place} registers no component: `@METHODS.register("name")` above a class makes'
                " one (docs/extending.md)"
            )


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
def _added(place: str) -> Iterator[list[Path]]:
    """Has this process and those that it starts read a file, or the files of a folder, which it
    gives to its block; not where the block fails.

    Raises:
        OwnFileError: when there is none.
    """
    before, those = os.environ.get(VARIABLE), _files_of(place)
    os.environ[VARIABLE] = os.pathsep.join(filter(None, [before, str(_absolute(place))]))
    settle()
    try:
        yield those
    except BaseException:
        os.environ.pop(VARIABLE)
        if before is not None:
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
        OwnFileError: when one is not there, or two have the same name.
    """
    found = list(dict.fromkeys(path for place in _places() for path in _files_of(place)))
    by_name: dict[str, Path] = {}
    for path in found:
        if (other := by_name.setdefault(path.stem, path)) != path:
            raise OwnFileError(
                f"two files of components are called {path.name}: {other} and {path}; rename one"
            )
    return found


def module_name(path: Path) -> str:
    """What the module of a file is called."""
    return f"{PACKAGE}.{path.stem}"


def imported(path: Path) -> ModuleType:
    """The module of a file. One that is imported already, under whatever name, is not imported
    twice. Files beside it can be imported by it.

    Raises:
        Exception: whatever it raises.
    """
    for module in list(sys.modules.values()):
        # Not by getattr: there are modules that import others when they are asked for a name.
        if _same(getattr(module, "__dict__", {}).get("__file__"), path):
            return module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported as a module")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def shown(path: Path) -> str:
    """A file as somebody types it here: relative where it lies below this folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def as_typed(paths: Iterable[str]) -> list[str]:
    """The words of a command that name files."""
    return [word for path in dict.fromkeys(paths) for word in (OPTION, shown(Path(path)))]


def _same(file: object, path: Path) -> bool:
    return (
        isinstance(file, str)
        and file.endswith(path.name)
        and Path(file).resolve() == (path.resolve())
    )


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
