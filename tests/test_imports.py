"""The house rules that can be read from the source: who imports whom, what imports torch, sizes and names (DESIGN section 2)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gclbench"
FILES = sorted(PACKAGE.rglob("*.py"))

# What each part may import of ours besides itself and the leaves. A part is a top-level module or package of gclbench.
LEAVES = {
    "registry",
    "hyperparameters",
    "streams",
    "graph",
    "watch",
    "records",
    "environment",
    "memory_map",
    "checkpoint",
    "limits",
    "atomic",
}
MAY_IMPORT: dict[str, set[str]] = {
    "registry": set(),
    "hyperparameters": {"registry"},
    "streams": set(),
    "graph": set(),
    "memory_map": {"atomic"},
    "watch": {"checkpoint"},
    "checkpoint": {"records"},
    "limits": set(),
    "atomic": set(),
    "records": {"atomic"},
    "environment": set(),
    "contrast": {"registry", "hyperparameters", "streams", "graph"},
    "nn": {"registry", "hyperparameters"},
    "data": LEAVES,
    "filters": LEAVES,
    "tasks": LEAVES | {"data"},
    "methods": LEAVES | {"contrast", "nn", "filters"},
    # Of data the catalog, which knows counts without loading anything.
    "paper": {"records", "registry", "data"},
    "tracking": {"records", "registry", "watch"},
    "config": LEAVES | {"composition", "tracking", "unknown_key"},
    "unknown_key": {"registry"},
    "composition": {"hyperparameters"},
    "runner": LEAVES | {"data", "filters", "methods", "tasks"},
    "launch": LEAVES | {"config", "runner", "data", "filters", "methods", "tasks", "tracking"},
    # The face shows what everything below it knows, but trains nothing itself.
    "cli": LEAVES | {"config", "launch", "runner", "paper", "data"},
    "__main__": {"cli"},
    "__init__": set(),
}
TORCH = ("torch", "torch_geometric")
WITHOUT_TORCH = {
    "registry",
    "hyperparameters",
    "records",
    "streams",
    "watch",
    "checkpoint",
    "limits",
    "atomic",
    "environment",
    "composition",
    "config",
    "paper",
    "tracking",
    "cli",
}
FILES_WITHOUT_TORCH = {"data/catalog.py", "data/mirror.py"}


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imports(path: Path, everywhere: bool = True) -> Iterator[str]:
    """Dotted names that a file imports; module level only unless `everywhere`. `if TYPE_CHECKING` blocks cost nothing and are skipped there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
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
    """The parts of gclbench that a file imports."""
    names = (name.split(".") for name in imports(path, everywhere))
    return {parts[1] for parts in names if parts[0] == "gclbench" and len(parts) > 1}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_part_may(path: Path) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT, f"gclbench/{part} is new: say in MAY_IMPORT what it may import"
    forbidden = ours(path) - MAY_IMPORT[part] - {part}
    assert not forbidden, f"{path.relative_to(ROOT)} may not import {', '.join(sorted(forbidden))}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_torch_is_not_imported_where_answers_must_be_quick(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    if part_of(path) not in WITHOUT_TORCH and name not in FILES_WITHOUT_TORCH:
        return
    found = {module.partition(".")[0] for module in imports(path, everywhere=False)} & set(TORCH)
    assert not found, f"{name} imports {', '.join(found)} when it is imported"


def test_what_imports_no_torch_imports_nothing_that_does() -> None:
    """Module-level imports of ours, followed from file to file."""
    by_module = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}

    def reached(path: Path, seen: set[Path]) -> set[Path]:
        if path in seen:
            return seen
        seen.add(path)
        for name in imports(path, everywhere=False):
            if name.startswith("gclbench") and name in by_module:
                reached(by_module[name], seen)
        return seen

    for path in FILES:
        name = path.relative_to(PACKAGE).as_posix()
        if part_of(path) in {"records", "paper", "registry", "hyperparameters", "cli"} or name in FILES_WITHOUT_TORCH:
            for other in reached(path, set()):
                modules = {module.partition(".")[0] for module in imports(other, everywhere=False)}
                assert not modules & set(TORCH), f"{name} imports torch through {other.relative_to(ROOT)}"


def test_records_and_paper_never_import_torch_not_even_later() -> None:
    for path in FILES:
        if part_of(path) in {"records", "paper", "registry", "hyperparameters"}:
            assert not {name.partition(".")[0] for name in imports(path)} & set(TORCH), path


def test_rules_name_only_parts_that_are_there() -> None:
    """A rule for a part that is gone would hold nothing."""
    assert set(MAY_IMPORT) == {part_of(path) for path in FILES}


def test_the_rules_see_an_import_inside_a_function_and_skip_type_checking(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n"
        "try:\n    import numpy\nexcept ImportError:\n    import scipy\n"
        "def later():\n    from gclbench import runner\n    import sklearn.svm\n"
    )
    assert set(imports(path, everywhere=False)) == {"typing", "numpy", "scipy"}
    assert {"torch", "sklearn.svm", "gclbench.runner"} <= set(imports(path))
    assert ours(path) == {"runner"}


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
    assert len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)


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
