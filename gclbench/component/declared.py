"""What a component's class says: the defaults of its settings, and the statements that follow.

A class of settings may state a few things besides, each a `ClassVar`:

- `filter: ClassVar[str] = "gnnbp"` and `negatives: ClassVar[str] = "nml"`: of a method, what it is
  run with unless the command says otherwise;
- `for_graphs: ClassVar[str] = "gcn_graphs"`: of a method on nodes, the method that the field calls
  the same on collections of graphs; `for_nodes` the other way round;
- `items: ClassVar[tuple[str, ...]] = ("graphs",)`: of a method, the kinds of items that it embeds;
  `items: ClassVar[str] = "graphs"`: of a task, the kind whose embeddings it evaluates;
- `task: ClassVar[tuple[str, ...]] = ("graph_classification",)`: of a dataset, the tasks that it is
  run with unless the command says otherwise;
- `version: ClassVar[str] = "2"`: moves with the numbers that it gives;
- `paper: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cora": {"lr": 0.01}}`: settings for a
  dataset.

To import a built-in component takes seconds, for torch comes with it. What its class says is read
from the source instead. Components of other packages are imported.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gclbench.component.registry import Registry
from gclbench.component.settings import Range, defaults, marked_fields, plain, required, unfit

PACKAGE = "gclbench"
STATEMENTS = (
    "filter",
    "negatives",
    "for_graphs",
    "for_nodes",
    "items",
    "task",
    "version",
    "paper",
)

OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}
"""What a default such as `2 / 3` may be computed with."""

NOTHING = object()
"""In the place of a default that a class does not give."""

FACTORIES: dict[str, Callable[[], Any]] = {"dict": dict, "list": list, "tuple": list}


class Unreadable(ValueError):
    """A default or statement that is no constant; only the imported class knows it."""


@dataclass(frozen=True)
class Declared:
    """What a class says.

    Attributes:
        defaults: setting to plain default, in the order of declaration; None for one that must be
            given.
        required: the settings that must be given.
        filter, negatives: names of components; None where the class states none.
        for_graphs, for_nodes: names of methods; None where the class states none.
        items: kinds of items that a method embeds or a task evaluates; empty where the class
            states none.
        task: names of tasks; empty where the class states none.
        version: None where the class states none.
        paper: dataset to settings.
    """

    defaults: Mapping[str, Any]
    required: frozenset[str] = frozenset()
    filter: str | None = None
    negatives: str | None = None
    for_graphs: str | None = None
    for_nodes: str | None = None
    items: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    version: str | None = None
    paper: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


def declared(registry: Registry, name: str) -> Declared:
    """What the class of the component called `name` says.

    Raises:
        UnknownName: there is none.
        Exception: whatever the module of another package raises while it is imported.
    """
    entry = registry.check(name)
    if entry.builtin:
        try:
            return in_source(entry.target)
        except Unreadable:
            pass
    return of_class(registry.load(name))


def declared_or_none(registry: Registry, name: str) -> Declared | None:
    """The same; None where there is no such component, or its module cannot be imported: a record
    may come from elsewhere, and `gclbench doctor` tells what another package raises."""
    if name not in registry.entries:
        return None
    try:
        return declared(registry, name)
    except Exception:  # whatever another package raises while it is imported
        return None


def among(registry: Registry, name: str, known: Collection[str]) -> str:
    """The name under which a method stands among these: `gcn_graphs` of gcn where only that is
    there; as it was given where neither is."""
    if name in known or name not in registry.entries:
        return name
    said = declared(registry, name)
    others = [other for other in (said.for_graphs, said.for_nodes) if other and other in known]
    return others[0] if others else name


def of_class(cls: type) -> Declared:
    """The same of an imported class; a setting that is called like a statement is a setting."""
    settings = defaults(cls)
    stated = {
        key: getattr(cls, key)
        for key in STATEMENTS
        if key not in settings and isinstance(getattr(cls, key, None), (str, tuple, Mapping))
    }
    return _declared({**settings, **dict.fromkeys(required(cls), NOTHING)}, stated)


@functools.cache
def in_source(target: str) -> Declared:
    """The same of a class of this package, `gclbench.methods.dmat:Dmat`, without importing it.

    Raises:
        Unreadable: where a default or a statement is no constant.
    """
    module, _, name = target.partition(":")
    where, node = _find(module, name)
    if not isinstance(node, ast.ClassDef):
        raise Unreadable(f"{target} is not a class")
    return _declared(*_said(where, node))


def marked(registry: Registry, name: str, mark: type) -> frozenset[str]:
    """The settings of a component that are annotated with a mark: `SameIdAtDefault`.

    Raises:
        UnknownName: there is no such component.
        Exception: whatever the module of another package raises while it is imported.
    """
    entry = registry.check(name)
    if not entry.builtin:
        return marked_fields(registry.load(name), mark)
    return frozenset(
        setting
        for setting, node in _annotations(entry.target)
        if mark.__name__ in ast.unparse(node)
    )


def admits(registry: Registry, name: str, setting: str, value: float) -> bool:
    """Whether a component has a setting, and the setting's bounds admit a number: `epochs` 0.

    Raises:
        UnknownName: there is no such component.
        Exception: whatever the module of another package raises while it is imported.
    """
    entry = registry.check(name)
    if not entry.builtin:
        cls = registry.load(name)
        return setting in defaults(cls) and not unfit(cls, setting, value)
    kind = dict(_annotations(entry.target)).get(setting)
    return kind is not None and all(
        Range(**{str(bound.arg): _value("", bound.value) for bound in call.keywords}).admits(value)
        for call in ast.walk(kind)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == Range.__name__
    )


def _annotations(target: str) -> Iterator[tuple[str, ast.AST]]:
    """(setting, annotation) of one of our classes, those of its bases first."""
    module, _, found = target.partition(":")
    yield from _annotated(*_find(module, found))


def _annotated(module: str, node: ast.AST | None) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.ClassDef):
        for base in reversed(node.bases):
            if isinstance(base, ast.Name):
                yield from _annotated(*_find(module, base.id))
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                named = line.annotation.id if isinstance(line.annotation, ast.Name) else ""
                # `EpochBy`, a type that several classes share, stands for its definition.
                yield line.target.id, (named and _find(module, named)[1]) or line.annotation


def _declared(settings: dict[str, Any], stated: dict[str, Any]) -> Declared:
    rows = {
        str(dataset): {str(key): plain(value) for key, value in row.items()}
        for dataset, row in stated.pop("paper", {}).items()
    }
    tasks, items = tuple(stated.pop("task", ())), stated.pop("items", ())
    items = (items,) if isinstance(items, str) else tuple(items)
    missing = frozenset(name for name, value in settings.items() if value is NOTHING)
    values = {name: None if name in missing else value for name, value in settings.items()}
    return Declared(values, missing, items=items, task=tasks, paper=rows, **stated)


def _said(module: str, node: ast.ClassDef) -> tuple[dict[str, Any], dict[str, Any]]:
    """A class's defaults and statements, those of its bases first."""
    settings: dict[str, Any] = {}
    stated: dict[str, Any] = {}
    for base in reversed(node.bases):
        where, found = _find(module, base.id) if isinstance(base, ast.Name) else (module, None)
        if isinstance(found, ast.ClassDef):
            of_base = _said(where, found)
            settings.update(of_base[0])
            stated.update(of_base[1])
    is_dataclass = any("dataclass" in ast.unparse(item) for item in node.decorator_list)
    for line in node.body:
        if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
            continue
        name = line.target.id
        if ast.unparse(line.annotation).startswith("ClassVar"):
            if name in STATEMENTS and line.value is not None:
                stated[name] = _value(module, line.value)
        elif is_dataclass:
            settings[name] = NOTHING if line.value is None else _value(module, line.value)
    return settings, stated


def _value(module: str, node: ast.AST | None) -> Any:
    """The plain value of an expression of constants, names of constants included."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [_value(module, item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_value(module, key): _value(module, value) for key, value in pairs}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(module, operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            return OPERATIONS[type(op)](_value(module, left), _value(module, right))
        case ast.Name(id=name):
            return _value(*_find(module, name))
        case ast.Call(
            func=ast.Name(id="field"),
            keywords=[ast.keyword(arg="default_factory", value=ast.Name(id=made))],
        ) if made in FACTORIES:
            return FACTORIES[made]()
    raise Unreadable(f"{module}: {'nothing' if node is None else ast.unparse(node)} is no constant")


def _find(module: str, name: str) -> tuple[str, ast.AST | None]:
    """What a name of a module stands for, and the module that says so; None where that is not one
    of ours."""
    found = _names(module).get(name)
    return _find(*found) if isinstance(found, tuple) else (module, found)


@functools.cache
def _names(module: str) -> dict[str, ast.AST | tuple[str, str]]:
    """What the top level of a module defines, or takes from another one: (module, name)."""
    found: dict[str, ast.AST | tuple[str, str]] = {}
    for node in ast.parse(_path(module).read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case ast.ImportFrom(module=str(origin), names=aliases) if origin.startswith(
                f"{PACKAGE}."
            ):
                found.update(
                    {alias.asname or alias.name: (origin, alias.name) for alias in aliases}
                )
    return found


def _path(module: str) -> Path:
    path = Path(__file__).parent.parent.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
