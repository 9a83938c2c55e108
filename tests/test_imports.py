"""The house rules that can be read from the source: who imports whom, what imports torch, sizes and
names (docs/architecture.md)."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gclbench"
FILES = sorted(PACKAGE.rglob("*.py"))

FLOORS: tuple[tuple[str, ...], ...] = (
    ("cli",),
    ("paper", "launch"),
    ("methods", "config", "run"),
    ("negatives", "filters", "tasks", "tracking"),
    ("training", "data"),
    ("machine",),
    ("contrast", "nn", "component", "records", "graph", "embedding"),
)
"""The rooms from top to bottom. A file imports its own room and the floors below it."""

FACE = {"__init__", "__main__", "face"}
"""The package's own files. They may import any room, and no room imports them."""

TENSORS_ONLY = {"contrast", "nn"}
"""Rooms that know tensors only: they import nothing of ours."""

TORCH = ("torch", "torch_geometric")
NEVER_TORCH = {"component", "records", "paper"}
"""Rooms that import no torch at all, not even inside a function."""

LATE_TORCH = {"training", "machine", "config", "tracking", "cli"}
"""Rooms that may import torch inside a function only, so that quick answers stay quick."""

FILES_WITH_TORCH = {
    "training/choice.py",
    "training/patience.py",
    "training/loop.py",
    "training/replay.py",
    "machine/memory_map.py",
}
"""Files of these rooms that only a running training imports."""

FILES_WITHOUT_TORCH = {"data/catalog.py", "data/mirror.py"}
"""Files of other rooms that quick answers need."""


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, everywhere: bool = True) -> Iterator[str]:
    """Dotted names that a file imports; module level only unless `everywhere`.

    `if TYPE_CHECKING` blocks cost nothing and are skipped there.
    """
    tree = parsed(path)
    nodes = list(ast.walk(tree)) if everywhere else list(module_level(tree.body))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            module = node.module or ""
            yield module
            if module == "gclbench":
                yield from (f"gclbench.{alias.name}" for alias in node.names)


def module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from module_level(node.orelse)
            continue
        yield node
        for name in ("body", "orelse", "finalbody", "handlers"):
            for child in getattr(node, name, []):
                yield from module_level([child] if isinstance(child, ast.stmt) else child.body)


def ours(path: Path, everywhere: bool = True) -> set[str]:
    """The rooms of gclbench that a file imports."""
    names = (name.split(".") for name in imports(path, everywhere))
    return {parts[1] for parts in names if parts[0] == "gclbench" and len(parts) > 1}


def by_module() -> dict[str, Path]:
    """Dotted name to file."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in FILES
    }


def files_imported(path: Path, known: dict[str, Path], everywhere: bool = True) -> set[Path]:
    """Files of ours that a file imports itself: modules, and names taken from a package."""
    found: set[Path] = set()
    for node in imported_from(path, everywhere):
        module, name = node
        target = known.get(f"{module}.{name}") or known.get(module)
        if target is not None and target != path:
            found.add(target)
    return found


def imported_from(path: Path, everywhere: bool) -> Iterator[tuple[str, str]]:
    """(module, name) of `from module import name`, (module, "") of `import module`."""
    tree = parsed(path)
    nodes = list(everywhere_in(tree)) if everywhere else list(module_level(tree.body))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def everywhere_in(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below one, without `if TYPE_CHECKING` blocks, which nothing runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from everywhere_in(child)


def circle(edges: dict[str, set[str]]) -> list[str]:
    """A circle of names, each importing the next; empty where there is none."""
    done: set[str] = set()

    def walk(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return trail[trail.index(name) :]
        if name in done:
            return []
        for other in sorted(edges.get(name, ())):
            found = walk(other, [*trail, name])
            if found:
                return found
        done.add(name)
        return []

    for name in sorted(edges):
        found = walk(name, [])
        if found:
            return found
    return []


FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_floors_below_its_own(path: Path) -> None:
    room = part_of(path)
    if room in FACE:
        return
    assert room in FLOOR_OF, f"gclbench/{room} is new: give it a floor in FLOORS"
    others = ours(path) - {room}
    assert not others & FACE, f"{path.relative_to(ROOT)} imports the package's face"
    allowed = {other for other, floor in FLOOR_OF.items() if floor > FLOOR_OF[room]}
    forbidden = others if room in TENSORS_ONLY else others - allowed
    assert not forbidden, f"{path.relative_to(ROOT)} may not import {', '.join(sorted(forbidden))}"


def test_no_files_import_each_other_in_a_circle() -> None:
    """Between rooms the floors rule it out; this is for files inside a room too."""
    known = by_module()
    edges = {
        path.relative_to(PACKAGE).as_posix(): {
            other.relative_to(PACKAGE).as_posix() for other in files_imported(path, known)
        }
        for path in FILES
        if part_of(path) not in FACE
    }
    found = circle(edges)
    assert not found, f"a circle of imports: {' → '.join([*found, *found[:1]])}"


def test_a_circle_is_found_and_a_diamond_is_none() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def imports_torch_late(path: Path) -> bool:
    name = path.relative_to(PACKAGE).as_posix()
    rooms = LATE_TORCH | NEVER_TORCH | FACE
    return name in FILES_WITHOUT_TORCH or (part_of(path) in rooms and name not in FILES_WITH_TORCH)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_torch_is_not_imported_where_answers_must_be_quick(path: Path) -> None:
    if imports_torch_late(path):
        found = {module.partition(".")[0] for module in imports(path, everywhere=False)}
        assert not found & set(TORCH), f"{path.relative_to(ROOT)} imports torch when it is imported"


@pytest.mark.slow
def test_what_imports_no_torch_imports_nothing_that_does() -> None:
    """Module-level imports of ours, followed from file to file."""
    known = by_module()

    def reached(path: Path, seen: set[Path]) -> set[Path]:
        if path not in seen:
            seen.add(path)
            for other in files_imported(path, known, everywhere=False):
                reached(other, seen)
        return seen

    quick = NEVER_TORCH | {"cli"} | FACE
    for path in FILES:
        name = path.relative_to(PACKAGE).as_posix()
        if part_of(path) in quick or name in FILES_WITHOUT_TORCH:
            for other in reached(path, set()):
                modules = {module.partition(".")[0] for module in imports(other, everywhere=False)}
                assert not modules & set(TORCH), (
                    f"{name} imports torch through {other.relative_to(ROOT)}"
                )


def test_some_rooms_never_import_torch_not_even_later() -> None:
    for path in FILES:
        if part_of(path) in NEVER_TORCH:
            assert not {name.partition(".")[0] for name in imports(path)} & set(TORCH), path


def test_rules_name_only_rooms_and_files_that_are_there() -> None:
    """A rule for a room that is gone would hold nothing."""
    assert set(FLOOR_OF) | FACE == {part_of(path) for path in FILES}
    names = {path.relative_to(PACKAGE).as_posix() for path in FILES}
    assert names >= FILES_WITHOUT_TORCH | (FILES_WITH_TORCH - {"training/loop.py"})


def test_the_rules_see_an_import_inside_a_function_and_skip_type_checking(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n"
        "try:\n    import numpy\nexcept ImportError:\n    import scipy\n"
        "def later():\n    from gclbench.run import runner\n    import sklearn.svm\n"
    )
    assert set(imports(path, everywhere=False)) == {"typing", "numpy", "scipy"}
    assert {"torch", "sklearn.svm", "gclbench.run"} <= set(imports(path))
    assert ours(path) == {"run"}


@pytest.mark.parametrize(
    "name", ["Features", "Views", "Panel", "Grid", "Row", "Counts", "kmeans", "kept", "load"]
)
def test_a_public_name_means_one_thing(name: str) -> None:
    """Names that stood for two things once."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    found = [
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for node in parsed(path).body
        if isinstance(node, kinds) and node.name == name
    ]
    assert len(found) <= 1, found


@pytest.mark.parametrize("folder", ["gclbench", "tests", "scripts", "configs"])
def test_files_are_small_and_named_after_the_noun_they_hold(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 400, f"{path.relative_to(ROOT)} has {lines} lines: it is two things"
        names = {*path.relative_to(ROOT).parent.parts, path.stem.removeprefix("test_")}
        assert not names & {"utils", "util", "helpers", "helper", "common", "misc"}, path


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports them by base name."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), sorted(
        name for name in set(names) if names.count(name) > 1
    )


def test_pyproject_names_every_package_folder() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^packages = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    names = set(re.findall(r'"([^"]+)"', listed[1]))
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in FILES}
    assert names == folders | {"gclbench.configs"}


def test_every_package_folder_has_an_init() -> None:
    for path in FILES:
        assert (path.parent / "__init__.py").is_file(), path.parent
