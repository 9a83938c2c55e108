"""Components in a file of one's own: `--components FILE.py`, or in a notebook."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import gclbench
from gclbench.cli import main
from gclbench.cli.candidates import candidates
from gclbench.component.own_files import VARIABLE, OwnFileError, files, taken_out
from gclbench.component.registry import GROUPS, METHODS
from gclbench.embedding import Embedding
from gclbench.launch.launcher import LaunchError
from gclbench.records import Store

SMALL = ["dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6"]
MINE = [*SMALL, "method=mine", "task=clustering", "device=cpu"]

SOURCE = '''"""My method."""

from dataclasses import dataclass
from typing import ClassVar

from scale_of_mine import SCALE

from gclbench.component.registry import METHODS
from gclbench.embedding import Embedding


@METHODS.register("mine")
@dataclass(frozen=True)
class Mine:
    """The features, scaled."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    width: int = 3

    def fit(self, graph, labels, rng, watch):
        return Embedding(graph.x[:, : self.width] * SCALE)
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file of components, which no other test sees."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "scale_of_mine.py").write_text("SCALE = 2.0\n")
    yield tmp_path
    for registry in GROUPS.values():
        registry.forget(tmp_path.rglob("*.py"))
    METHODS._classes.pop("mine", None)
    sys.modules.pop("scale_of_mine", None)


def recorded() -> Any:
    (record,) = Store("runs").scan()
    return record


def test_a_file_is_listed_without_being_imported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.py").write_text(SOURCE + "\nraise RuntimeError\n")
    assert main(["list", "methods", "--components", "mine.py"]) == 0
    assert "  mine               The features, scaled." in capsys.readouterr().out
    assert os.environ[VARIABLE] == str(here / "mine.py")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_and_the_command_that_repeats_it(workers: int) -> None:
    asked = [*MINE, f"launcher.workers={workers}", "--components=mine.py"]
    assert main(asked) == 0
    record = recorded()
    assert record.ok and record.command.endswith("--components mine.py")
    assert len(record.environment["code"]) == 16
    again = shlex.split(record.command)[1:]
    assert main([*again, "rerun=all"]) == 0
    assert recorded().metrics == record.metrics


def test_the_variable_names_files_and_folders(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / "more"
    folder.mkdir()
    for name in ("one", "test_two", "_three"):
        (folder / f"{name}.py").write_text("")
    monkeypatch.setenv(VARIABLE, f"mine.py{os.pathsep}more{os.pathsep}mine.py")
    assert files() == [here / "mine.py", folder / "one.py"]
    GROUPS["method"].forget([])
    assert main(["doctor"]) in (0, 1)
    out = capsys.readouterr().out
    assert f"method=mine of {here / 'mine.py'}:14" in out
    assert os.environ[VARIABLE] == os.pathsep.join([str(here / "mine.py"), str(folder)])


def test_a_built_in_method_needs_no_file_in_its_command() -> None:
    assert main([*SMALL, "method=kmeans", "task=clustering", "--components", "mine.py"]) == 0
    assert "--components" not in recorded().command
    assert "code" not in recorded().environment


@pytest.mark.parametrize(
    ("file", "text", "words", "told"),
    [
        ("", "", ["--components"], "--components names a file or a folder: --components my_"),
        ("", "", ["--components", "no.py"], "there is no file of components {here}/no.py;"),
        ("a.txt", "", ["--components", "a.txt"], "a.txt is no file of components: --components"),
        ("a.py", "x = 1\n", ["--components", "a.py"], "a.py registers no component: `@METHODS."),
        ("d/_a.py", "", ["--components", "d"], "{here}/d has no file of components"),
        ("a.py", "def\n", ["--components", "a.py"], "registers no component"),
        (
            "a.py",
            '@METHODS.register("a")\nclass\n',
            ["--components", "a.py"],
            "the file of components {here}/a.py cannot be read: line 2: invalid syntax",
        ),
        (
            "a.py",
            SOURCE.replace('"mine"', '"grace"'),
            ["--components", "a.py"],
            "method 'grace' of {here}/a.py:14 is also defined in",
        ),
        (
            "d/mine.py",
            SOURCE.replace('"mine"', '"other"'),
            ["--components", "mine.py", "--components", "d/mine.py"],
            "two files of components are called mine.py: {here}/mine.py and {here}/d/mine.py;",
        ),
    ],
)
def test_what_cannot_be_used_is_told(
    file: str,
    text: str,
    words: list[str],
    told: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if file:
        (here / file).parent.mkdir(exist_ok=True)
        (here / file).write_text(text)
    assert main(["list", *words]) == 2
    assert told.format(here=here) in capsys.readouterr().err


def test_an_unknown_method_is_told_of_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(MINE) == 2
    assert "One of your own, in a file: --components FILE.py" in capsys.readouterr().err


def test_a_file_that_fails_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine.py").write_text(SOURCE + "\nraise RuntimeError('no good')\n")
    assert main([*MINE, "--components", "mine.py"]) == 2
    told = capsys.readouterr().err
    assert f"method 'mine' of {here / 'mine.py'}:14 cannot be loaded: RuntimeError: no good" in told


def test_runs_of_code_that_has_changed_are_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*MINE, "--components", "mine.py"]
    assert main(command) == 0
    before = recorded()
    capsys.readouterr()
    assert main(command) == 0
    assert "other code" not in capsys.readouterr().err
    (here / "mine.py").write_text(SOURCE.replace("* SCALE", "- SCALE"))
    assert main(command) == 0
    told = capsys.readouterr().err
    assert "1 is of other code of 'mine' than there is now (rerun=all repeats them; another" in told
    assert recorded() == before
    assert main([*command, "--dry-run"]) == 0
    assert "of those recorded 1 is of other code of 'mine'" in capsys.readouterr().out
    assert main([*command, "rerun=all"]) == 0
    assert recorded().environment["code"] != before.environment["code"]


def test_a_model_of_ones_own_embeds_by_its_record(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from gclbench.component.registry import METHODS\n"
        "from gclbench.methods.grace import Grace\n"
        '@METHODS.register("mine")\n@dataclass(frozen=True)\nclass Mine(Grace):\n'
        '    """GRACE once more."""\n'
    )
    own = ["--components", "mine.py"]
    assert main([*own, *MINE, "method.epochs=1", "save=[model]"]) == 0
    assert main(["embed", recorded().id, "--output", "z.npy", *own]) == 0
    capsys.readouterr()


def test_completion_knows_what_the_file_registers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "answer", "gclbench --components mine.py method=mi"]) == 0
    assert capsys.readouterr().out == "method=mine\n"
    assert main(["completion", "answer", "gclbench list --components mi"]) == 0
    assert capsys.readouterr().out == ""
    assert candidates(["list", "--c"]) == ["--components"]


def test_the_option_is_taken_out_of_a_command() -> None:
    assert taken_out(["a=1", "--components", "x.py", "-m"]) == (["a=1", "-m"], ["x.py"])
    with pytest.raises(OwnFileError, match="names a file or a folder"):
        taken_out(["--components="])


def test_python_uses_a_file_and_reads_it_anew(here: Path) -> None:
    words = {"method": "mine", "task": "clustering", "seeds": 1, "progress": False}
    gclbench.use("mine.py")
    first = gclbench.embed(*SMALL, method="mine", progress=False)
    (here / "mine.py").write_text(SOURCE.replace("* SCALE", "* 0 + 1"))
    gclbench.use(here / "mine.py")
    assert (gclbench.embed(*SMALL, method="mine", progress=False) == 1).all()
    assert first.std() > 0 and first.shape == (60, 3)
    assert list(gclbench.run(*SMALL, **words)["status"]) == ["ok"]
    with pytest.raises(OwnFileError, match="there is no file of components"):
        gclbench.use("nothing.py")
    assert os.environ[VARIABLE] == str(here / "mine.py")


def defined(shift: float) -> None:
    """As a cell of a notebook does."""

    @METHODS.register("mine")
    @dataclass(frozen=True)
    class Mine:
        version: ClassVar[str] = "1"
        needs_labels: ClassVar[bool] = False
        shift_: float = shift

        def fit(self, graph: Any, labels: Any, rng: Any, watch: Any) -> Embedding:
            return Embedding(graph.x + self.shift_)


def test_a_class_of_a_session_is_there_and_may_be_defined_anew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = {"method": "mine", "task": "clustering", "seeds": 1}
    assert "mine" not in METHODS.entries
    for shift in (0.0, 1.0):
        defined(shift)
        z = gclbench.embed(*SMALL, method="mine", progress=False)
        assert (
            abs(
                float((z - gclbench.load("sbm", nodes=60, classes=2, features=6).x.numpy()).mean())
                - shift
            )
            < 1e-6
        )
        assert list(gclbench.run(*SMALL, **words)["status"]) == ["ok"]
    entry = METHODS.entries["mine"]
    assert entry.session and entry.summary == "of this session" and not entry.builtin
    capsys.readouterr()


def test_a_class_of_a_session_is_refused_to_other_processes() -> None:
    defined(0.0)
    words = {"method": "mine", "task": "clustering", "seeds": 2, "launcher.workers": 2}
    with pytest.raises(LaunchError, match="'mine' is defined in this session, and other proc"):
        gclbench.run(*SMALL, **words)
