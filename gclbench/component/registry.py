"""Names to components: datasets, filters, methods, negatives, tasks and launchers.

A component is a frozen dataclass: its fields are its hyper-parameters, its docstring's first
line is what `gclbench list` prints. Built-in components are found by reading the source files of
their package for `@KIND.register("name")`, without importing them, so that listing and
completion never pay for torch. A user's own files are read in the same way (`own_files`).
Components of other installed packages come in through entry points in the group `gclbench.<kind>`
(see docs/extending.md). A class that is registered in a session, as in a notebook, is there for it.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from gclbench.component import own_files
from gclbench.component.source_files import registered_in

C = TypeVar("C", bound=type)


class UnknownName(LookupError):
    """A name that no component of the kind has; the text says which exist and which is nearest."""


class RegistryConflict(ValueError):
    """Two components want the same name, or one has a name that cannot be typed."""


NAME = re.compile(r"\w[\w-]*")
"""Of a component: it is typed, as in `method=NAME`, and names files of configs."""


NAME_OF_IT = "name"
"""The key of a component's own name among its settings, in configs and records."""


@dataclass(frozen=True)
class Entry:
    """One component, known by name before its module is imported.

    `origin` is where it is defined: a path and line for built-in components and those of a user's
    own `file`, the distribution's name and version for those of other packages. `session`: it is a
    class of this process alone, which other processes do not know.
    """

    name: str
    summary: str
    target: str
    origin: str
    builtin: bool
    file: str = ""
    session: bool = False


def nearest(word: str, words: list[str]) -> str | None:
    """The likeliest intended member of `words`, or None when nothing is close."""
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in words}
    asked = word.lower().replace("-", "_")
    if asked in folded:
        return folded[asked]
    close = difflib.get_close_matches(asked, list(folded), n=5, cutoff=0.6)
    if close:
        # Two letters that changed places make the same word sooner than another one.
        return folded[max(close, key=lambda name: sorted(name) == sorted(asked))]
    prefixed = [name for key, name in folded.items() if asked and key.startswith(asked)]
    ending = [name for key, name in folded.items() if asked and key.endswith(f"_{asked}")]
    likely = prefixed or ending
    return likely[0] if len(likely) == 1 else None


def did_you_mean(*words: str, known: Iterable[str]) -> str:
    """` Did you mean 'grace'?` for words that are not known, or "" where nothing is close."""
    found = (nearest(word, [*known]) for word in words)
    likely = " or ".join(f"'{name}'" for name in dict.fromkeys(found) if name)
    return f" Did you mean {likely}?" if likely else ""


class Registry:
    """The components of one kind.

    Args:
        kind: singular name used in messages and on the command line (`method`).
        package: the package whose modules hold the built-in components.
        group: the entry-point group of outside components.
        parts: attributes that every component of the kind has, fields aside.
        besides: how to have what is not in the list, for messages.
    """

    def __init__(
        self,
        kind: str,
        package: str,
        group: str,
        parts: tuple[str, ...] = (),
        besides: str = "",
    ):
        self.kind = kind
        self.parts, self.besides = parts, besides
        self.package = package
        self.group = group
        self._classes: dict[str, type] = {}
        self._failures: dict[Entry, Exception] = {}
        self.redefined = 0

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator: makes a frozen dataclass the component called `name`."""

        def decorate(cls: C) -> C:
            if not is_dataclass(cls):
                raise TypeError(
                    f"{self.kind} '{name}': {cls.__qualname__} is not a dataclass; put @dataclass"
                    " below @register"
                )
            if NAME_OF_IT in {field.name for field in fields(cls)}:
                raise TypeError(
                    f"{self.kind} '{name}': {cls.__qualname__} has a setting 'name', and that says"
                    f" which {self.kind} it is; give the setting another name"
                )
            absent = [part for part in self.parts if not hasattr(cls, part)]
            if absent:
                raise TypeError(
                    f"{self.kind} '{name}': {cls.__qualname__} has no {' and no '.join(absent)};"
                    " docs/extending.md has an example"
                )
            known = self._classes.get(name)
            self._check_not_taken(name, cls)
            if known is not None and not _same_class(known, cls):
                raise RegistryConflict(
                    f"{self.kind} '{name}' is defined twice:"
                    f" {known.__module__}.{known.__qualname__} and"
                    f" {cls.__module__}.{cls.__qualname__}"
                )
            self.redefined += known is not None and known is not cls
            self._classes[name] = cls
            if "entries" in self.__dict__ and name not in self.entries:
                self.entries[name] = _of_session(name, cls)
            return cls

        return decorate

    def _check_not_taken(self, name: str, cls: type) -> None:
        """Whether a class may have a name.

        Raises:
            RegistryConflict: when it is somebody's own, and a component of gclbench or of a file
                has the name.
        """
        if cls.__module__.partition(".")[0] in (self.package.partition(".")[0], own_files.PACKAGE):
            return
        entry = self.entries.get(name)
        if entry is None or entry.session or not (entry.builtin or entry.file):
            return
        if not entry.file or _file_of(cls) != Path(entry.file).resolve():
            raise RegistryConflict(
                f"{self.kind} '{name}' of {cls.__module__} is also defined in {entry.origin};"
                " rename one of them"
            )

    @functools.cached_property
    def entries(self) -> dict[str, Entry]:
        """Every known component by name, built-in ones first, without importing any.

        Raises:
            RegistryConflict: of names.
            OwnFileError: when a file of the user's own cannot be used.
        """
        found: dict[str, Entry] = {}
        for entry in self._builtin():
            if entry.name in found:
                raise RegistryConflict(
                    f"{self.kind} '{entry.name}' is defined in {found[entry.name].origin}"
                    f" and in {entry.origin}"
                )
            found[entry.name] = entry
        wrong: list[str] = []
        points = sorted(entry_points(group=self.group), key=lambda point: point.name)
        for entry in (*map(_outside, points), *self._own()):
            if not NAME.fullmatch(entry.name):
                wrong.append(
                    f"{self.kind} '{entry.name}' of {entry.origin}: a name is letters, digits, _"
                    " and -, for it is typed and names files; rename it"
                )
            elif entry.name in found:
                wrong.append(
                    f"{self.kind} '{entry.name}' of {entry.origin} is also defined in"
                    f" {found[entry.name].origin}; rename one of them"
                )
            else:
                found[entry.name] = entry
        if wrong:
            raise RegistryConflict("; ".join(wrong))
        for name, cls in self._classes.items():
            found.setdefault(name, _of_session(name, cls))
        return found

    def forget(self, files: Container[Path]) -> None:
        """Has the list made anew, and classes of a user's files looked up anew.

        Args:
            files: their resolved paths.
        """
        self.redefined += self._drop(lambda cls: _file_of(cls) in files)
        self._failures.clear()
        self.__dict__.pop("entries", None)

    def _drop(self, chosen: Callable[[type], bool]) -> int:
        """Forgets some classes; how many there were."""
        dropped = [name for name, cls in self._classes.items() if chosen(cls)]
        for name in dropped:
            del self._classes[name]
        return len(dropped)

    def names(self) -> list[str]:
        """Names in alphabetical order."""
        return sorted(self.entries)

    def check(self, name: str) -> Entry:
        """The entry called `name`.

        Raises:
            UnknownName: with the nearest name and the list of those that exist.
        """
        if name in self.entries:
            return self.entries[name]
        hint = did_you_mean(name, known=self.names())
        kinds = f"{self.kind[:-1]}ies" if self.kind.endswith("y") else f"{self.kind}s"
        raise UnknownName(
            f"there is no {self.kind} '{name}'.{hint} Known {kinds}: {', '.join(self.names())}"
            + (f". {self.besides}" if self.besides else "")
        )

    def load(self, name: str) -> type:
        """The class of the component called `name`; imports its module.

        Raises:
            UnknownName: there is none.
            Exception: whatever its module raises while it is imported; the same each time, for the
                module is imported once.
        """
        entry = self.check(name)
        if name not in self._classes:
            if entry in self._failures:
                # Else each time would add to the traceback.
                raise self._failures[entry].with_traceback(None)
            name_of_module, _, attribute = entry.target.partition(":")
            try:
                module = (
                    own_files.imported(Path(entry.file))
                    if entry.file
                    else importlib.import_module(name_of_module)
                )
                cls = getattr(module, attribute)
                if name not in self._classes:
                    self.register(name)(cls)
            except Exception as error:
                self._failures[entry] = error
                # What the module registered before it failed is no more usable than the rest.
                self._drop(lambda cls: cls.__module__ == name_of_module)
                raise
        return self._classes[name]

    def name_of(self, cls: type) -> str:
        """The name that a class is registered under; the class's own where it is under none."""
        known = (name for name, registered in self._classes.items() if registered is cls)
        return next(known, cls.__name__)

    def _builtin(self) -> Iterator[Entry]:
        root = Path(__file__).parent.parent.joinpath(*self.package.split(".")[1:])
        for path in sorted(root.glob("*.py")):
            yield from self._in(path, f"{self.package}.{path.stem}")

    def _own(self) -> Iterator[Entry]:
        for path in own_files.files():
            try:
                found = [*self._in(path, own_files.module_name(path))]
            except (SyntaxError, UnicodeDecodeError, OSError) as error:
                line = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
                raise own_files.OwnFileError(
                    f"the file of components {path} cannot be read: {line}"
                    f"{getattr(error, 'msg', error)}"
                ) from error
            for entry in found:
                summary = entry.summary or f"from {own_files.shown(path)}"
                yield replace(entry, summary=summary, builtin=False, file=str(path))

    def _in(self, path: Path, module: str) -> Iterator[Entry]:
        for found in registered_in(path, self.group.rpartition(".")[2].upper()):
            target, origin = f"{module}:{found.cls}", f"{path}:{found.line}"
            yield Entry(found.name, found.summary, target, origin, builtin=True)


def _file_of(cls: type) -> Path | None:
    return own_files.file_of(sys.modules.get(cls.__module__))


def _same_class(one: type, other: type) -> bool:
    """Whether a class takes the place of another one: defined anew, in a notebook also under
    another name, or of a file that was imported under two names."""
    places = {(cls.__module__, cls.__qualname__) for cls in (one, other)}
    files = {_file_of(cls) for cls in (one, other)}
    again = len(files) == 1 and None not in files and one.__qualname__ == other.__qualname__
    return len(places) == 1 or again or one.__module__ == other.__module__ == "__main__"


def _of_session(name: str, cls: type) -> Entry:
    """The component of a class that somebody has registered in this process."""
    target, doc = f"{cls.__module__}:{cls.__qualname__}", (cls.__doc__ or "").strip()
    # A dataclass without a docstring has its signature for one.
    summary = "" if doc.startswith(f"{cls.__name__}(") else doc.partition("\n")[0]
    origin = "this session"
    return Entry(name, summary or f"of {origin}", target, origin, builtin=False, session=True)


def _outside(point: EntryPoint) -> Entry:
    """The component of an entry point of another package."""
    dist = point.dist
    origin = f"{dist.name} {dist.version}" if dist is not None else point.value
    return Entry(point.name, f"from {origin}", point.value, origin, builtin=False)


OWN_FILE = "One of your own, in a file: --components FILE.py (docs/extending.md)"

DATASETS = Registry(
    "dataset",
    "gclbench.data",
    "gclbench.datasets",
    ("load",),
    besides="Any set of TUDataset: dataset=tu dataset.tu_name=NAME. A file of your own:"
    " dataset=custom dataset.path=FILE.npz, or dataset=custom_graphs for a collection. A class of"
    " your own that loads one: --components FILE.py (docs/extending.md)",
)
FILTERS = Registry("filter", "gclbench.filters", "gclbench.filters", ("version", "apply"), OWN_FILE)
METHODS = Registry(
    "method",
    "gclbench.methods",
    "gclbench.methods",
    ("version", "needs_labels", "fit"),
    besides=OWN_FILE,
)
NEGATIVES = Registry(
    "negatives strategy", "gclbench.negatives", "gclbench.negatives", ("version", "build"), OWN_FILE
)
TASKS = Registry(
    "task",
    "gclbench.tasks",
    "gclbench.tasks",
    ("version", "hides", "split", "hide", "labels", "evaluate"),
    besides=OWN_FILE,
)

LAUNCHERS = Registry("launcher", "gclbench.launch", "gclbench.launchers")
"""Where runs go. Not one of `KINDS`: a launcher is no part of what a run is."""

KINDS: dict[str, Registry] = {
    "dataset": DATASETS,
    "filter": FILTERS,
    "method": METHODS,
    "negatives": NEGATIVES,
    "task": TASKS,
}

GROUPS: dict[str, Registry] = {**KINDS, "launcher": LAUNCHERS}
"""What a command chooses by name: the kinds of components, and where runs go."""


def files_of(spec: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The user's own files that the components of a run come from.

    Args:
        spec: kind to settings, with the component's name.
    """
    entries = (
        registry.entries.get(str(spec[kind][NAME_OF_IT]))
        for kind, registry in KINDS.items()
        if kind in spec
    )
    return list(dict.fromkeys(entry.file for entry in entries if entry is not None and entry.file))


def redefinitions() -> int:
    """How many components have been defined anew in this process."""
    return sum(registry.redefined for registry in GROUPS.values())


def kind_of(name: str) -> str | None:
    """The kind that has a component called `name`, None if no kind has."""
    return next((kind for kind, registry in KINDS.items() if name in registry.entries), None)
