"""Components of one's own in Python: a file that is used, a class in a notebook."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from own_component import MINE, SMALL, SOURCE, recorded

import gclbench
from gclbench.cli import main
from gclbench.component.own_components import forget
from gclbench.component.own_files import VARIABLE, OwnFileError, files, imported
from gclbench.component.registry import FILTERS, METHODS, TASKS, RegistryConflict
from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.launch.attempt import perform
from gclbench.launch.execution import _check_session, prepare
from gclbench.launch.launcher import LaunchError
from gclbench.launch.local import Local

pytestmark = pytest.mark.usefixtures("here")


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
    (here / "empty.py").write_text("")
    with pytest.raises(OwnFileError, match="registers no component"):
        gclbench.use("empty.py")
    assert os.environ[VARIABLE] == str(here / "mine.py")


def test_a_file_that_failed_is_read_anew(here: Path) -> None:
    path = here / "mine.py"
    path.write_text(SOURCE + "\nraise RuntimeError('no good')\n")
    gclbench.use("mine.py")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no good"):
            METHODS.load("mine")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no good"):
            imported(path)
    assert sys.path[-1] == str(here), "what is installed comes first"
    path.write_text(SOURCE)
    gclbench.use("mine.py")
    assert METHODS.load("mine").__module__.startswith("gclbench_components.mine_")


def test_a_file_that_a_script_imports_too_is_no_conflict_and_read_anew(here: Path) -> None:
    gclbench.use("mine.py")
    METHODS.load("mine")
    assert importlib.import_module("mine").Mine is METHODS.load("mine")
    (here / "mine.py").write_text(SOURCE.replace("= 3", "= 5"))
    (here / "scale_of_mine.py").write_text("SCALE = 7.0\n")
    gclbench.use("mine.py")
    assert METHODS.load("mine").width == 5
    assert imported(here / "mine.py").SCALE == 7.0, "what lies beside it is read anew, too"


def test_files_of_one_name_in_two_folders_have_each_its_own_neighbours(here: Path) -> None:
    folder = here / "other"
    folder.mkdir()
    (folder / "mine.py").write_text(SOURCE.replace('"mine"', '"other"'))
    (folder / "scale_of_mine.py").write_text("SCALE = 5.0\n")
    for place in ("mine.py", "other/mine.py", "../" + here.name + "/mine.py"):
        gclbench.use(place)
    assert len(files()) == 2
    for name in ("mine", "other", "mine"):
        METHODS.load(name)
    assert [imported(path).SCALE for path in files()] == [2.0, 5.0]


def test_modules_and_paths_of_a_script_are_left_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "of_a_script.py").write_text("state = []\n")
    (here / "other").mkdir()
    (here / "other" / "more.py").write_text(
        SOURCE.replace('"mine"', '"other"').replace("from scale_of_mine import SCALE", "SCALE = 1")
    )
    monkeypatch.syspath_prepend(here)
    mine = importlib.import_module("of_a_script")
    for place in ("mine.py", "other/more.py", "mine.py"):
        gclbench.use(place)
    for name in ("mine", "other"):
        METHODS.load(name)
    assert importlib.import_module("of_a_script") is mine and str(here) in sys.path
    del sys.modules["of_a_script"]


def test_a_file_that_is_gone_does_not_stand_in_the_way(here: Path) -> None:
    gclbench.use("mine.py")
    (here / "mine.py").rename(here / "new.py")
    gclbench.use("new.py")
    assert METHODS.entries["mine"].file == str(here / "new.py")


def test_a_file_that_cannot_be_used_leaves_nothing_behind(here: Path) -> None:
    source = SOURCE.replace("METHODS", "NEGATIVES").replace('"mine"', '"uniform"')
    (here / "both.py").write_text(f"{SOURCE}\n{source}")
    with pytest.raises(RegistryConflict, match="'uniform' of .*both.py:37 is also defined in"):
        gclbench.use("both.py")
    assert "mine" not in METHODS.entries and os.environ[VARIABLE] == ""
    with pytest.raises(OwnFileError, match="'' names none"):
        gclbench.use("")


def test_a_name_that_is_taken_is_refused_to_a_session(here: Path) -> None:
    def named(name: str) -> None:
        cls = type("Mine", (), {"version": "1", "needs_labels": False, "fit": None})
        METHODS.register(name)(dataclass(frozen=True)(cls))

    with pytest.raises(RegistryConflict, match=r"'kmeans' of .* is also defined in .*kmeans"):
        named("kmeans")
    gclbench.use("mine.py")
    with pytest.raises(RegistryConflict, match=r"'mine' of .* is also defined in .*mine.py"):
        named("mine")


def test_an_edited_filter_is_applied_anew(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCLBENCH_DATA", str(here / "cache"))
    source = (
        "from dataclasses import dataclass\n"
        "from gclbench.component.registry import FILTERS\n"
        "from gclbench.filters.none import NoFilter\n"
        '@FILTERS.register("other")\n@dataclass(frozen=True)\nclass Other(NoFilter):\n'
        '    """The features."""\n'
    )
    (here / "other.py").write_text(source)
    gclbench.use("other.py")
    FILTERS.load("other")
    command = [*SMALL, "method=kmeans", "filter=other", "task=clustering", "device=cpu"]
    assert main(command) == 0
    before = recorded()
    (here / "other.py").write_text(source + "# edited\n")
    gclbench.use("other.py")
    for cached in (False, True):
        assert main([*command, "rerun=all"]) == 0
        assert recorded().filter_report["cached"] is cached
    assert recorded().environment["code"] != before.environment["code"]


def test_a_file_that_is_gone_when_its_turn_comes_is_told(
    here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gclbench.use("mine.py")
    (unit,) = prepare([experiment_of(MINE)])[0].units
    (here / "mine.py").unlink()
    forget([here / "mine.py"])
    assert set(perform(unit, "runs").values()) == {"failed"}
    assert "there is no file of components" in caplog.text


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


def test_a_class_of_a_session_is_refused_to_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defined(0.0)
    words = {"method": "mine", "task": "clustering", "seeds": 2, "launcher.workers": 2}
    told = "'mine' is defined in this session, and other proc"
    with pytest.raises(LaunchError, match=f"method {told}"):
        gclbench.run(*SMALL, **words)
    experiment = experiment_of(MINE)
    _check_session([experiment])
    with pytest.raises(LaunchError, match=f"method {told}"):
        _check_session([replace(experiment, launcher=SimpleNamespace(remote=True))])
    monkeypatch.setitem(TASKS.entries, "mine", METHODS.entries["mine"])
    settings = {**experiment.settings, "method": {"name": "grace"}, "tasks": {"mine": {}}}
    with pytest.raises(LaunchError, match=f"task {told}"):
        _check_session([replace(experiment, settings=settings, launcher=Local(workers=2))])


def test_a_link_to_a_file_has_the_neighbours_of_its_own_folder(here: Path) -> None:
    (here / "mine.py").rename(here / "elsewhere.txt")
    (here / "mine.py").symlink_to(here / "elsewhere.txt")
    folder = here / "links"
    folder.mkdir()
    (folder / "mine.py").symlink_to(here / "elsewhere.txt")

    for scale in (3.0, 4.0):
        (folder / "scale_of_mine.py").write_text(f"SCALE = {scale}\n")
        gclbench.use("links/mine.py")
        z = METHODS.load("mine")().fit(SimpleNamespace(x=torch.ones(1, 1)), None, None, None).z
        assert z.item() == scale


def test_a_file_that_cannot_be_read_leaves_no_empty_module(here: Path) -> None:
    gclbench.use("mine.py")
    (here / "mine.py").rename(here / "kept.py")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            imported(here / "mine.py")
    (here / "kept.py").rename(here / "mine.py")
    assert imported(here / "mine.py").SCALE == 2.0
