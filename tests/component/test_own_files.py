"""Components in a file of one's own: `--components FILE.py`."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from own_component import MINE, SMALL, SOURCE, recorded

from gclbench.cli import main
from gclbench.cli.candidates import candidates
from gclbench.component.own_components import forget, use
from gclbench.component.own_files import VARIABLE, OwnFileError, files, taken_out
from gclbench.component.registry import GROUPS
from gclbench.config.validation import experiment_of
from gclbench.launch.attempt import give_up
from gclbench.launch.execution import prepare, sweep_of
from gclbench.paper import advice, gains, rivals
from gclbench.paper.missing import sweep_command
from gclbench.paper.own_column import own_columns
from gclbench.paper.run_words import command, files_of
from gclbench.paper.tables import find_table
from gclbench.records import Store
from gclbench.run.ending import INTERRUPTED

pytestmark = pytest.mark.usefixtures("here")


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
    forget([])
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
        ("a:b.py", "x = 1\n", ["--components", "a:b.py"], "{here}/a:b.py has a ':', by which"),
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
        ("", "", ["--components="], "--components names a file or a folder"),
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


@pytest.mark.parametrize("kind", ["dataset", "filter", "negatives", "task"])
def test_so_are_the_other_kinds(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"method": "grace", "dataset": "digits", "task": "clustering", kind: "mine"}
    assert main([f"{key}={name}" for key, name in words.items()]) == 2
    told = capsys.readouterr().err
    assert "'mine'" in told and ": --components FILE.py (docs/extending.md)" in told


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
    (here / "runs" / recorded().id / "model.pt").unlink()
    for registry in GROUPS.values():
        registry._classes.pop("mine", None)
    os.environ[VARIABLE] = ""
    forget([here / "mine.py"])
    capsys.readouterr()
    assert main(["embed", recorded().id, "--output", "z.npy"]) == 1
    told = capsys.readouterr().err
    assert "the file that it was made with is to be given: --components mine.py" in told


def test_completion_knows_what_the_file_registers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "answer", "gclbench --components mine.py method=mi"]) == 0
    assert capsys.readouterr().out == "method=mine\n"
    assert main(["completion", "answer", "gclbench list --components mi"]) == 0
    assert capsys.readouterr().out == ""
    assert candidates(["list", "--c"]) == ["--components"]


def test_completion_goes_on_where_a_file_cannot_be_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "answer", "gclbench --components no.py method=kme"]) == 0
    assert capsys.readouterr().out == "method=kmeans\n"


def test_a_strategy_of_ones_own_counts_as_code(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "from dataclasses import dataclass\n"
        "from gclbench.component.registry import NEGATIVES\n"
        "from gclbench.negatives.uniform import Uniform\n"
        '@NEGATIVES.register("even")\n@dataclass(frozen=True)\nclass Even(Uniform):\n'
        '    """All alike."""\n'
    )
    (here / "even.py").write_text(source)
    words = ["method=grace", "method.epochs=1", "negatives=even", "task=clustering", "device=cpu"]
    command = [*SMALL, *words, "--components", "even.py"]
    assert main(command) == 0
    assert recorded().environment["code"] and recorded().command.endswith("--components even.py")
    (here / "even.py").write_text(source + "# another\n")
    capsys.readouterr()
    assert main(command) == 0
    assert "1 is of other code of 'grace' than there is now" in capsys.readouterr().err


def test_a_record_without_code_is_not_held_to_be_of_other_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*MINE, "--components", "mine.py"]
    assert main(command) == 0
    record = recorded()
    del record.environment["code"]
    Store("runs").write(record)
    capsys.readouterr()
    assert main(command) == 0
    assert "other code" not in capsys.readouterr().err


def test_what_a_sweep_leaves_names_the_file() -> None:
    use("mine.py")
    experiment = experiment_of(MINE)
    plan, _ = prepare([experiment])
    assert sweep_of(experiment, plan, MINE).command[-2:] == ("--components", "mine.py")
    (unit,) = plan.units
    give_up(unit, "runs", INTERRUPTED)
    assert recorded().command.endswith("--components mine.py")


def test_the_option_is_taken_out_of_a_command() -> None:
    assert taken_out(["a=1", "--components", "x.py", "-m"]) == (["a=1", "-m"], ["x.py"])
    with pytest.raises(OwnFileError, match="names a file or a folder"):
        taken_out(["--components="])


def test_commands_that_are_printed_name_the_file(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--components", "mine.py"]
    assert main([*MINE, *asked, "seeds=2"]) == 0
    Store("runs").path(max(Store("runs").scan(), key=lambda run: run.seed).id).unlink()
    assert main([*MINE[:-3], "method=kmeans", *MINE[-2:], "seeds=2"]) == 0
    capsys.readouterr()
    assert main(["table", "own", "--missing", "--seeds", "2", *asked]) == 0
    mine, *others = capsys.readouterr().out.strip().splitlines()
    assert mine.startswith("gclbench method=mine ") and "--components mine.py" in mine
    assert others and not any("--components" in line for line in others)
    os.environ[VARIABLE] = ""
    forget([])
    assert main(shlex.split(mine)[1:]) == 0
    assert sum(run.name("method") == "mine" for run in Store("runs").scan()) == 2
    for words in (
        ["table", "nml/2", "--with", "mine method.width=2"],
        ["compare", "mine method.width=2", "kmeans", "--dataset", "sbm"],
    ):
        assert main([*words, *asked]) != 0
        told = capsys.readouterr()
        commands = re.findall(r"`(gclbench [^`]*)` makes them", told.out + told.err)
        assert commands and all(each.endswith(" --components mine.py") for each in commands)
    for words, advised in (
        (["sweep", "method=mine,kmeans"], "gclbench -m method=mine,kmeans"),
        (["sweep", "--cfg", "job", "method=mine"], "gclbench show method=mine"),
        (
            ["table", "--with", "mine", "nml/2"],
            "the ID comes first: gclbench table nml/2 --with mine",
        ),
    ):
        try:
            assert main([*words, *asked]) != 0
        except SystemExit as end:  # argparse ends the program
            assert end.code == 2
        assert f"{advised} --components mine.py" in capsys.readouterr().err


def test_components_of_several_files_and_of_none() -> None:
    use("mine.py")
    assert files_of(["-m", "method=[mine,gca]", "seeds=3", "nothing=mine"]) == [str(files()[0])]
    assert files_of(["--with", "mine method.width=2"]) == [str(files()[0])]
    assert files_of(["method=gca", "dataset=cora", "gca", "method=", ""]) == []


def test_a_path_that_begins_as_a_dataset_is_no_word_of_the_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / "datasets"
    folder.mkdir()
    for name in ("mine.py", "scale_of_mine.py"):
        (here / name).rename(folder / name)
    asked = ["--components", "datasets/mine.py"]
    assert main([*MINE, *asked]) == 0
    capsys.readouterr()
    assert main(["table", "own", "--missing", "--seeds", "2", *asked]) == 0
    mine, *others = capsys.readouterr().out.strip().splitlines()
    assert mine.split().count("datasets/mine.py") == 1 and "datasets" not in "".join(others)
    os.environ[VARIABLE] = ""
    forget([])
    assert main(shlex.split(mine)[1:]) == 0


def test_a_filter_that_a_method_states_for_itself_is_named(here: Path) -> None:
    source = SOURCE.replace("width: int", 'filter: ClassVar[str] = "other"\n    width: int')
    (here / "mine.py").write_text(source)
    (here / "smooth.py").write_text(
        "from gclbench.component.registry import FILTERS\n"
        "from gclbench.filters.none import NoFilter\n\n\n"
        '@FILTERS.register("other")\nclass Other(NoFilter):\n    """Nothing."""\n'
    )
    use("mine.py")
    use("smooth.py")
    assert command(["method=mine"]).endswith(" --components mine.py --components smooth.py")


def test_a_sweep_of_a_row_that_ones_own_method_fills_names_its_file(here: Path) -> None:
    (here / "mine.py").write_text(SOURCE.replace('"mine"', '"grace_gat"'))
    definition = find_table("mmix/8")
    use("mine.py")
    labels = [column.label for column in definition.columns]
    for headings, ending in ((labels, "mine.py"), (["grace"], "seeds=1")):
        told = sweep_command(definition, definition.datasets, headings, [0], 1)
        assert told.endswith(ending), told


def test_doctor_tells_a_file_that_cannot_be_used_once(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "no.py")
    forget([])
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert out.count(f"component       there is no file of components {here / 'no.py'};") == 1
    assert "components      none can be listed" in out


def test_every_writer_of_commands_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    use("mine.py")
    definition = find_table("nml/1")
    (column,) = own_columns(["mine method.width=2"])
    words = ("method=mine", "method.width=2")
    gain = SimpleNamespace(words=words, lacking=(0,))
    group = SimpleNamespace(flat={"task.name": "clustering"}, name=lambda kind: "cora")
    monkeypatch.setattr(advice, "not_by_name", lambda group, words: ())
    own = SimpleNamespace(dataset="cora", column="mine", heading="mine method.width=2")
    told = [
        definition.command("cora", column),
        sweep_command(replace(definition, columns=(column,)), ["cora"], [column.label], [0], 1),
        *gains.commands([SimpleNamespace(gains=[gain], dataset="cora")]),
        advice.command_of(words, [group], [0]).strip("`"),
        rivals._not_run(definition, own).split("`")[1],
    ]
    assert len(told) == 5
    for text in told:
        assert text.endswith(" --components mine.py"), text
