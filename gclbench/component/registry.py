"""Names to components: datasets, filters, methods, negatives, tasks and launchers.

A component is a frozen dataclass: its fields are its hyper-parameters, its docstring's first
line is what `gclbench list` prints. Built-in components are found by reading the source files of
their package for `@KIND.register("name")`, without importing them, so that listing and
completion never pay for torch. Components of other installed packages come in through entry
points in the group `gclbench.<kind>` (see docs/extending.md).
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

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

    `origin` is where it is defined: a path for built-in components, the distribution's name and
    version for those of other packages.
    """

    name: str
    summary: str
    target: str
    origin: str
    builtin: bool


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
            if known is not None and (known.__module__, known.__qualname__) != (
                cls.__module__,
                cls.__qualname__,
            ):
                raise RegistryConflict(
                    f"{self.kind} '{name}' is defined twice:"
                    f" {known.__module__}.{known.__qualname__} and"
                    f" {cls.__module__}.{cls.__qualname__}"
                )
            self._classes[name] = cls
            return cls

        return decorate

    @functools.cached_property
    def entries(self) -> dict[str, Entry]:
        """Every known component by name, built-in ones first, without importing any."""
        found: dict[str, Entry] = {}
        for entry in self._builtin():
            if entry.name in found:
                raise RegistryConflict(
                    f"{self.kind} '{entry.name}' is defined in {found[entry.name].origin}"
                    f" and in {entry.origin}"
                )
            found[entry.name] = entry
        wrong: list[str] = []
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            entry = _outside(point)
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
        return found

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
            module, _, attribute = entry.target.partition(":")
            try:
                cls = getattr(importlib.import_module(module), attribute)
                if name not in self._classes:
                    self.register(name)(cls)
            except Exception as error:
                self._failures[entry] = error
                raise
        return self._classes[name]

    def name_of(self, cls: type) -> str:
        """The name that a class is registered under; the class's own where it is under none."""
        known = (name for name, registered in self._classes.items() if registered is cls)
        return next(known, cls.__name__)

    def _builtin(self) -> Iterator[Entry]:
        root = Path(__file__).parent.parent.joinpath(*self.package.split(".")[1:])
        for path in sorted(root.glob("*.py")):
            yield from _registered_in(path, f"{self.package}.{path.stem}", self._variable)

    @property
    def _variable(self) -> str:
        return self.group.rpartition(".")[2].upper()


def _outside(point: EntryPoint) -> Entry:
    """The component of an entry point of another package."""
    dist = point.dist
    origin = f"{dist.name} {dist.version}" if dist is not None else point.value
    return Entry(point.name, f"from {origin}", point.value, origin, builtin=False)


HEAD = re.compile(
    r"^@.*\n(?:(?:@|    |\)).*\n)*"  # the decorators
    r"class (?:\w+(?:\(.*\))?|\w+\(\n(?:    .*\n)*\)):\n"
    r'(?:    """(?s:.*?)"""|(?=    (?![rRuU]["\'])[A-Za-z_@.]))',
    re.MULTILINE,
)
"""A decorated class up to the end of its docstring, as ruff formats it."""


def _registered_in(path: Path, module: str, variable: str) -> Iterator[Entry]:
    """The classes of a source file decorated with `@<variable>.register("name")`."""
    source = path.read_text(encoding="utf-8")
    wanted = source.count(f"{variable}.register(")
    if not wanted:
        return

    def entries(classes: Iterable[tuple[ast.stmt, int]]) -> Iterator[Entry]:
        for node, before in classes:
            for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                name = _registered_name(decorator, variable)
                if isinstance(node, ast.ClassDef) and name is not None:
                    summary = (ast.get_docstring(node) or "").partition("\n")[0]
                    target, line = f"{module}:{node.name}", node.lineno + before
                    yield Entry(name, summary, target, f"{path}:{line}", builtin=True)

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


DATASETS = Registry(
    "dataset",
    "gclbench.data",
    "gclbench.datasets",
    ("load",),
    besides="Any set of TUDataset: dataset=tu dataset.tu_name=NAME. A file of your own:"
    " dataset=custom dataset.path=FILE.npz, or dataset=custom_graphs for a collection",
)
FILTERS = Registry("filter", "gclbench.filters", "gclbench.filters", ("version", "apply"))
METHODS = Registry(
    "method", "gclbench.methods", "gclbench.methods", ("version", "needs_labels", "fit")
)
NEGATIVES = Registry(
    "negatives strategy", "gclbench.negatives", "gclbench.negatives", ("version", "build")
)
TASKS = Registry(
    "task",
    "gclbench.tasks",
    "gclbench.tasks",
    ("version", "hides", "split", "hide", "labels", "evaluate"),
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


def kind_of(name: str) -> str | None:
    """The kind that has a component called `name`, None if no kind has."""
    return next((kind for kind, registry in KINDS.items() if name in registry.entries), None)
