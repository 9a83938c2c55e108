"""Names to components: discovery without imports, entry points, conflicts, suggestions."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest

from gclbench.component import registry
from gclbench.component.registry import (
    KINDS,
    METHODS,
    Registry,
    RegistryConflict,
    UnknownName,
    nearest,
)
from gclbench.component.source_files import Registered, registered_in


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An importable package `shapes` whose modules a test writes."""
    package = tmp_path / "shapes"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "__file__", str(package / "room" / "registry.py"))
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "shapes"]:
        del sys.modules[name]


@pytest.fixture
def points(monkeypatch) -> list[EntryPoint]:
    """The entry points that other packages bring; a test appends."""
    given: list[EntryPoint] = []
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [point for point in given if point.group == group]
    )
    return given


def source(name: str, cls: str, doc: str = "A shape.") -> str:
    return (
        "from dataclasses import dataclass\nfrom shapes.kinds import SHAPES\n\n"
        f'@SHAPES.register("{name}")\n@dataclass(frozen=True)\nclass {cls}:\n    """{doc}\n\n   '
        ' More.\n    """\n    size: int = 1\n'
    )


def shapes() -> Registry:
    return Registry("shape", "shapes", "gclbench.shapes")


def test_builtin_components_are_found_without_running_their_modules(folder, points):
    (folder / "round.py").write_text(
        "raise RuntimeError('imported')\n" + source("circle", "Circle", "Round.")
    )
    (folder / "other.py").write_text("x = 'SHAPES.register(\"no\")'\n")
    known = shapes()
    assert known.names() == ["circle"]
    entry = known.check("circle")
    assert (entry.summary, entry.target, entry.builtin) == ("Round.", "shapes.round:Circle", True)
    assert entry.origin == f"{folder / 'round.py'}:7"
    with pytest.raises(RuntimeError, match="imported"):
        known.load("circle")


def test_load_imports_and_keeps_the_class(folder, points):
    (folder / "kinds.py").write_text(
        "from gclbench.component.registry import Registry\nSHAPES = Registry('shape', 'shapes',"
        " 'gclbench.shapes')\n"
    )
    (folder / "round.py").write_text(source("circle", "Circle"))
    from shapes.kinds import SHAPES  # type: ignore[import-not-found]

    cls = SHAPES.load("circle")
    assert cls.__name__ == "Circle"
    assert SHAPES.load("circle") is cls


def test_a_module_that_cannot_be_imported_is_imported_once(folder, points):
    (folder / "round.py").write_text(
        "with open(__file__ + '.count', 'a') as file:\n    file.write('x')\nraise OSError\n"
        + source("circle", "Circle")
    )
    known = shapes()
    told = []
    for _ in range(3):
        with pytest.raises(OSError) as refused:
            known.load("circle")
        told.append((refused.value, len(refused.traceback)))
    assert len({id(error) for error, _ in told}) == 1
    assert told[1] == told[2], "its traceback does not grow"
    assert (folder / "round.py.count").read_text() == "x"


@pytest.mark.parametrize("asked", ["circel", "Circle", "CIRCLE"])
def test_an_unknown_name_names_the_nearest_and_all(folder, points, asked):
    (folder / "round.py").write_text(source("circle", "Circle") + source("big_square", "Square"))
    with pytest.raises(
        UnknownName,
        match=(
            f"there is no shape '{asked}'. Did you mean 'circle'\\? Known shapes: big_square,"
            " circle"
        ),
    ):
        shapes().check(asked)
    with pytest.raises(
        UnknownName, match="there is no shape 'zzz'. Known shapes: big_square, circle"
    ):
        shapes().load("zzz")


def test_two_builtin_components_of_one_name(folder, points):
    (folder / "a.py").write_text(source("circle", "Circle"))
    (folder / "b.py").write_text(source("circle", "Other"))
    with pytest.raises(
        RegistryConflict, match=r"shape 'circle' is defined in .*a\.py:\d+ and in .*b\.py:\d+"
    ):
        shapes().names()


@pytest.mark.parametrize("name", ["my shape", "a/b", "a.b", "-a", "a=1"])
def test_a_name_that_cannot_be_typed(folder, points, name):
    points.append(EntryPoint(name, "fractions:Fraction", "gclbench.shapes"))
    with pytest.raises(RegistryConflict, match="shape '.*' of fractions:Fraction: a name is lett"):
        shapes().names()


def test_components_of_other_packages(folder, points):
    (folder / "round.py").write_text(source("circle", "Circle"))
    points.append(EntryPoint("hexagon", "fractions:Fraction", "gclbench.shapes"))
    points.append(EntryPoint("ignored", "fractions:Fraction", "gclbench.methods"))
    known = shapes()
    assert known.names() == ["circle", "hexagon"]
    entry = known.check("hexagon")
    assert not entry.builtin
    assert entry.target == "fractions:Fraction"
    assert "fractions:Fraction" in entry.summary


def test_an_outside_component_is_loaded_and_must_be_a_dataclass(folder, points):
    (folder / "plain.py").write_text(
        "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Star:\n    'Five"
        " corners.'\n    size: int = 5\n\nclass Bare:\n    pass\n"
    )
    points.append(EntryPoint("star", "shapes.plain:Star", "gclbench.shapes"))
    points.append(EntryPoint("bare", "shapes.plain:Bare", "gclbench.shapes"))
    known = shapes()
    assert known.load("star")().size == 5
    with pytest.raises(
        TypeError, match="shape 'bare': Bare is not a dataclass; put @dataclass below @register"
    ):
        known.load("bare")


def test_an_outside_component_may_not_take_a_builtin_name(folder, points):
    (folder / "round.py").write_text(source("circle", "Circle"))
    points.append(EntryPoint("circle", "elsewhere:Circle", "gclbench.shapes"))
    with pytest.raises(
        RegistryConflict,
        match=(
            r"shape 'circle' of elsewhere:Circle is also defined in .*round\.py:\d+; rename one of"
            r" them"
        ),
    ):
        shapes().names()


def test_two_outside_components_of_one_name(folder, points):
    points.extend(
        EntryPoint("star", value, "gclbench.shapes") for value in ("one:Star", "two:Star")
    )
    with pytest.raises(
        RegistryConflict, match="shape 'star' of two:Star is also defined in one:Star"
    ):
        shapes().names()


def test_registering_twice():
    known = Registry("shape", "shapes", "gclbench.shapes")

    @known.register("circle")
    @dataclass(frozen=True)
    class Circle:
        pass

    assert known.register("circle")(Circle) is Circle, (
        "a module that is imported again changes nothing"
    )

    @dataclass(frozen=True)
    class Other:
        pass

    with pytest.raises(
        RegistryConflict, match=r"shape 'circle' is defined twice: .*\.Circle and .*\.Other"
    ):
        known.register("circle")(Other)
    with pytest.raises(TypeError, match="not a dataclass; put @dataclass below @register"):
        known.register("plain")(type("Plain", (), {}))


def test_a_component_that_lacks_a_part_is_refused():
    known = Registry("shape", "shapes", "gclbench.shapes", ("version", "area"))

    @dataclass(frozen=True)
    class Circle:
        version: ClassVar[str] = "1"

    with pytest.raises(
        TypeError, match=r"shape 'circle': .*Circle has no area; docs/extending.md has an example"
    ):
        known.register("circle")(Circle)
    Circle.area = lambda self: 1
    assert known.register("circle")(Circle) is Circle


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("dmat-i", "dmat_i"),
        ("DMAT_I", "dmat_i"),
        ("dmati", "dmat_i"),
        ("kmean", "kmeans"),
        ("gr", "grace"),
        ("q", None),
        ("", None),
    ],
)
def test_nearest(word, found):
    assert nearest(word, ["dmat_i", "kmeans", "grace", "dgi"]) == found


def test_letters_that_changed_places_are_the_nearest():
    assert nearest("graec", ["grape", "grace"]) == "grace"


def test_nearest_of_nothing():
    assert nearest("x", []) is None


def test_every_kind_and_the_components_of_this_package():
    assert list(KINDS) == ["dataset", "filter", "method", "negatives", "task"]
    assert {"dmat_i", "dmat", "dmt", "kmeans"} <= set(METHODS.names())
    assert {"gnnbp", "none"} <= set(KINDS["filter"].names())
    assert {"uniform"} <= set(KINDS["negatives"].names())
    for kind in KINDS.values():
        for name in kind.names():
            entry = kind.check(name)
            assert entry.summary, f"{name} needs a first docstring line"
            cls = kind.load(name)
            assert cls.__dataclass_params__.frozen, name  # type: ignore[attr-defined]
            assert (cls.__doc__ or "").strip().partition("\n")[0] == entry.summary


def test_listing_and_reading_records_never_import_torch():
    script = (
        "import sys\nfrom gclbench.component.registry import KINDS\nimport gclbench.records,"
        " gclbench.component.settings, gclbench.training.streams, gclbench.training.watch\nimport"
        " gclbench.machine.environment\nfrom gclbench.training.streams import"
        " Streams\nStreams(0).numpy('split')\nprint(sum(len(kind.names()) for kind in"
        " KINDS.values()), 'torch' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(out[0]) >= 20
    assert out[1] == "False"


@pytest.mark.parametrize(
    "written",
    [
        'class Plain:\n    """Says this.\n\n    And more.\n    """\n    x: int = 1\n',
        'class Based(Other[int], Mixed):\n    """Says this."""\n\n    def f(self): ...\n',
        'class Long(\n    Other,\n    Mixed,\n):\n    """Says this."""\n',
        "class Quoted:\n    'Says this.'\n",
        'class Raw:\n    r"""Says this."""\n',
        'class Late:\n    # A comment.\n\n    """Says this."""\n',
        '# A comment.\nclass Odd:\n    "Says this."\n',
        'class OneLine(Other): """Says this."""\n',
    ],
)
@pytest.mark.parametrize("decorators", ["", "@dataclass(frozen=True)\n", "@deep(\n    a=1,\n)\n"])
def test_a_class_is_found_however_it_is_written(
    decorators: str, written: str, tmp_path: Path
) -> None:
    before = 'X = """\n@METHODS.register\n"""\n\n\nclass First:\n    pass\n\n\n'
    after = "\n\n@dataclass\nclass Last:\n    y: int = 2\n"
    path = tmp_path / "module.py"
    path.write_text(f'{before}@METHODS.register("one")\n{decorators}{written}{after}')
    (found,) = registered_in(path, "METHODS")
    name = written.partition("class ")[2].partition("(")[0].partition(":")[0]
    line = (
        path.read_text()
        .splitlines()
        .index(
            next(each for each in path.read_text().splitlines() if each.startswith(f"class {name}"))
        )
    )
    assert found == Registered("one", "Says this.", name, line + 1)


def test_no_setting_is_called_as_the_component_is() -> None:
    @dataclass(frozen=True)
    class Named:
        name: str = "x"

    with pytest.raises(TypeError, match="has a setting 'name', and that says which shape it is"):
        shapes().register("named")(Named)

    @dataclass(frozen=True)
    class Constant:
        name: ClassVar[str] = "x"

    assert shapes().register("constant")(Constant) is Constant
