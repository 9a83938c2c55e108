"""What a class says, read from its source as well as from the class."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gclbench.component import declared as room
from gclbench.component.declared import Declared, Unreadable, declared, in_source, of_class
from gclbench.component.registry import GROUPS, UnknownName

BUILT_IN = [
    (kind, name)
    for kind, registry in GROUPS.items()
    for name, entry in registry.entries.items()
    if entry.builtin
]


@pytest.mark.parametrize("kind,name", BUILT_IN)
def test_the_source_says_what_the_class_says(kind: str, name: str) -> None:
    registry = GROUPS[kind]
    read, imported = in_source(registry.check(name).target), of_class(registry.load(name))
    assert read == imported
    assert repr(read) == repr(imported), "types and order are the same too"


def test_no_component_is_imported_for_what_it_says() -> None:
    script = (
        "import sys\n"
        "from gclbench.component.declared import declared\n"
        "from gclbench.component.registry import GROUPS\n"
        "found = [declared(registry, name) for registry in GROUPS.values()"
        " for name in registry.names()]\n"
        "print(len(found), 'torch' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert int(out[0]) >= len(BUILT_IN) and out[1] == "False"


def test_named_methods_state_their_strategy() -> None:
    stated = {
        name: said.negatives
        for name in GROUPS["method"].names()
        if (said := declared(GROUPS["method"], name)).negatives is not None
    }
    assert stated == {
        "augcl": "augcl",
        "augcl_graphcl": "augcl",
        "grace_plus": "grace_plus",
        "grape": "grape",
        "homogcl": "homogcl",
        "mmix_grace": "mmix",
        "mmix_mo": "mmix",
        "mmix_mp": "mmix",
        "nml_gcl": "nml",
        "phases": "phases",
        "progcl": "progcl_weight",
    }


def test_an_unknown_name() -> None:
    with pytest.raises(UnknownName, match="there is no method 'dmat_x'"):
        declared(GROUPS["method"], "dmat_x")


# --- sources of a test's own

SOURCE = """
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gclbench.first import WIDTH, Base

HALF = 1 / 2
PAIR = (-HALF, HALF)

@dataclass(frozen=True)
class Derived(Base):
    negatives: ClassVar[str] = "nml"
    other: ClassVar[int] = 3
    epochs: int = 7
    pair: tuple[float, ...] = PAIR
    width: int = WIDTH * 2
    extra: dict[str, str] = field(default_factory=dict)

@dataclass(frozen=True)
class Computed:
    epochs: int = len("abc")
"""

FIRST = """
from dataclasses import dataclass
from typing import Any, ClassVar

WIDTH: int = 2**5

class Plain:
    ignored: int = 1

@dataclass(frozen=True)
class Base(Plain):
    filter: ClassVar[str] = "gnnbp"
    negatives: ClassVar[str] = "uniform"
    paper: ClassVar[dict[str, dict[str, Any]]] = {"cora": {"widths": (8, 4), "lr": 1e-3}}
    path: str
    epochs: int = 3
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modules that are read and never imported: `gclbench.first` and `gclbench.second`."""
    for name, text in (("first", FIRST), ("second", SOURCE)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(room, "_path", lambda module: tmp_path / f"{module.split('.')[1]}.py")


def test_bases_constants_and_statements_are_followed_across_files(sources: None) -> None:
    found = in_source("gclbench.second:Derived")
    assert found == Declared(
        defaults={
            "path": None,
            "epochs": 7,
            "pair": [-0.5, 0.5],
            "width": 64,
            "extra": {},
        },
        required=frozenset({"path"}),
        filter="gnnbp",
        negatives="nml",
        paper={"cora": {"widths": [8, 4], "lr": 1e-3}},
    )
    assert list(found.defaults) == ["path", "epochs", "pair", "width", "extra"]


def test_a_default_that_is_no_constant_is_left_to_the_class(sources: None) -> None:
    with pytest.raises(Unreadable, match=r"gclbench\.second: len\('abc'\) is no constant"):
        in_source("gclbench.second:Computed")
    with pytest.raises(Unreadable, match="Missing is not a class"):
        in_source("gclbench.second:Missing")


def test_a_class_that_cannot_be_read_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(target: str) -> Declared:
        raise Unreadable(target)

    known = declared(GROUPS["negatives"], "imix")
    monkeypatch.setattr(room, "in_source", unreadable)
    assert declared(GROUPS["negatives"], "imix") == known


# --- classes of other packages


@dataclass(frozen=True)
class Outside:
    """A method that states everything."""

    filter: ClassVar[str] = "gnnbp"
    negatives: ClassVar[str] = "mmix"
    paper: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cora": {"widths": (3, 2)}}

    widths: tuple[int, ...] = (8, 4)
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Named:
    """Settings that are called like statements, and a function."""

    negatives: str = "many"

    def filter(self) -> None: ...


def test_a_class_of_another_package_is_imported(register_method: Any) -> None:
    register_method("outside", Outside)
    found = declared(GROUPS["method"], "outside")
    assert found.defaults == {"widths": [8, 4], "names": {}}
    assert (found.filter, found.negatives) == ("gnnbp", "mmix")
    assert found.paper == {"cora": {"widths": [3, 2]}}


def test_a_setting_or_function_with_the_name_of_a_statement_is_none() -> None:
    assert of_class(Named) == Declared({"negatives": "many"})
