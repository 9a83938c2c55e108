"""Wrong commands: what is said, and that nothing is written."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from gclbench import cli
from gclbench.cli import VERBS, main


def test_wrong_commands_exit_2_and_write_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["methd=dmt"],
        ["method=nope"],
        ["-m", "method.tau=0,1"],
        ["seeds=0"],
        ["method=dmt", "nonsense"],
        ["=3"],
    ):
        assert main(command) == 2, command
        err = capsys.readouterr().err
        assert err.startswith("gclbench: ") and "Traceback" not in err
    assert list(here.iterdir()) == []


def test_two_settings_in_one_word_are_told_from_text_with_blanks(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["method=grace dataset=digits seeds=2"]) == 2
    assert capsys.readouterr().err == (
        "gclbench: 'method=grace dataset=digits seeds=2' is one word of 3 settings; without the"
        " quotes each is a word of its own: method=grace dataset=digits seeds=2\n"
    )


@pytest.mark.parametrize(
    "words,told",
    [
        (
            ["method=dmt", "--frobnicate"],
            (
                "there is no option '--frobnicate'; settings are KEY=VALUE, as in dataset=cora"
                " method.lr=1e-3"
            ),
        ),
        (
            ["--dataset", "cora"],
            "there is no option '--dataset'; settings are KEY=VALUE: dataset=cora",
        ),
        (
            ["--runs-dir=there"],
            "there is no option '--runs-dir=there'; settings are KEY=VALUE: runs_dir=there",
        ),
        (["--seed", "3"], "there is no option '--seed'; settings are KEY=VALUE: seeds=[3]"),
        (
            ["--epochs", "3"],
            "there is no option '--epochs'; settings are KEY=VALUE: method.epochs=3",
        ),
        (
            ["--temperature=0.5"],
            "there is no option '--temperature=0.5'; settings are KEY=VALUE: method.tau=0.5",
        ),
        (
            ["--workers", "2"],
            "there is no option '--workers'; settings are KEY=VALUE: launcher.workers=2",
        ),
        (
            ["--model", "grace"],
            "there is no option '--model'; settings are KEY=VALUE: method=grace",
        ),
        (["--gpu"], "there is no option '--gpu'; settings are KEY=VALUE: device=cuda"),
        (["--dryrun"], "there is no option '--dryrun'; did you mean --dry-run?"),
        (
            ["sweep", "table=dmat/1", "--dataset", "cora"],
            "there is no option '--dataset'; settings are KEY=VALUE: dataset=cora",
        ),
        (
            ["sweep", "-m", "table=dmat/1"],
            "-m is for runs; here every key takes several values, as in method=A,B",
        ),
        (
            ["search", "-m", "method=grace"],
            "-m is for runs; a search takes the values of a setting from space=",
        ),
        (
            ["sweep", "--dry-run", "seeds=3", "runs.yaml"],
            "a file of runs comes first: gclbench sweep runs.yaml seeds=3",
        ),
        (["sweep", "a.yaml", "b.yml"], "'b.yml' is one file of runs too many; give one"),
        (["status", "e410", "d146"], "give one sweep; 2 ids are named"),
        (
            ["show", "dataset=cora", "--runs", "x"],
            "--runs is for the id of a recorded run; leave it out",
        ),
        (
            ["show", "e410", "--config-dir", "x"],
            "--config-dir is for KEY=VALUE; leave it out for a recorded run",
        ),
        (
            ["status", ".", "--runs", "x"],
            (
                "--runs says where a sweep's id is looked for, and folders of records are named:"
                " leave it out"
            ),
        ),
        (
            ["table", "dmat/1", "dataset=cora,acm"],
            "'dataset=cora,acm' is an option here: --dataset cora acm",
        ),
        (["table", "dmat", "1"], "'1' is one word too many; an ID is one word, such as dmat/1"),
        (
            ["table", "dmat/1", "--dataste", "cora"],
            "there is no option '--dataste'; did you mean --dataset?",
        ),
        (
            ["table", "--runs", "there", "dmat/1"],
            "the ID comes first: gclbench table dmat/1 --runs there",
        ),
        (
            ["figure", "--dataset", "cora"],
            "the ID comes first: gclbench figure dmat/2 --dataset cora",
        ),
        (
            ["export", "method=grace"],
            "'method=grace': KEY=VALUE is for runs, `gclbench method=grace`",
        ),
        (
            ["report", "--output", "report.pdf"],
            "a report is HTML, not '.pdf'; name it FILE.html",
        ),
        (
            ["sweep"],
            "say which table: gclbench sweep table=dmat/1 (`gclbench table` lists them), or name a"
            " file of runs: gclbench sweep runs.yaml",
        ),
        (["data", "get"], "action cannot be 'get'; choose from fetch, verify, path"),
        (["table", "dmat/1", "--format"], "--format needs a value behind it"),
        (["table", "dmat/1", "--runs"], "--runs needs a value behind it"),
        (["method=grace", "--dry-run=1"], "--dry-run takes no value"),
    ],
)
def test_a_word_of_the_wrong_kind_is_answered_with_the_right_one(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    verb = f" {words[0]}" if words[0] in VERBS else ""
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err
        == f"gclbench{verb}: {told} (`gclbench{verb} --help` shows what there is)\n"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["method=grace", "method.architecture=[256,a]"],
            "method.architecture=[256, 'a'] has an item 'a', which must be a whole number",
        ),
        (
            ["method=grace", "filter.alpha=0.2"],
            "'filter.alpha' does not exist: filter=none has no settings. filter=gnnbp or"
            " filter=ssgc has it.",
        ),
        (
            ["method=grace", "negatives.em_steps=3"],
            "'negatives.em_steps' does not exist: negatives=uniform has no settings."
            " negatives=progcl_mix or negatives=progcl_weight has it.",
        ),
        (
            ["dataset=custom", "dataset.path="],
            "dataset.path must be given: dataset.path=…",
        ),
    ],
)
def test_a_value_or_setting_that_does_not_fit(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"gclbench: {told}\n"


def test_a_quoted_tilde_is_expanded_everywhere(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(here))
    assert main(["method=kmeans", "dataset=digits", "runs_dir=~/mine", "--dry-run"]) == 0
    assert f"recorded in {here}/mine" in capsys.readouterr().out
    for words in (
        ["table", "dmat/1", "--runs", "~/none"],
        ["export", "--runs=~/none", "--output", "x.csv"],
        ["dataset=custom", "dataset.path=~/none"],
        ["sweep", "~/none.yaml"],
    ):
        assert main(words) != 0
        assert f"{here}/none" in capsys.readouterr().err
    assert main(["dataset=custom", "dataset.path=~no_such_user_9/g.npz"]) == 1
    assert "there is no file ~no_such_user_9/g.npz" in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_a_folder_is_told_from_a_file_that_is_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "g").mkdir()
    (here / "f").write_text("")
    for words, told in (
        (["dataset=custom", "dataset.path=g"], "g is a folder, not a file; give one with dataset."),
        (["table", "dmat/1", "--runs", "f"], "'f' is a file, not a folder; name folders of"),
        (["method=grace", "--config-dir", "f"], "--config-dir f: it is a file, not a folder"),
    ):
        assert main(words) != 0
        assert told in capsys.readouterr().err


def test_a_comma_in_the_name_of_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a,b.npz").write_bytes(b"")
    assert main(["dataset=custom", "dataset.path=a,b.npz"]) == 2
    told = capsys.readouterr().err
    assert """of one file it is written "dataset.path='a,b.npz'\"""" in told
    assert "must be given" not in told


def test_rows_of_a_table_are_not_added_to_a_file_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.yaml").write_text("- method=kmeans task=clustering\n")
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "runs.yaml", "--with", "grace", "--dry-run"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "--with names rows of a paper's table, and a file lists its own runs" in told
    assert "table=PAPER/NUMBER for runs.yaml" in told


def test_a_second_row_behind_one_with_is_told_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["--with", "grace method.tau=0.5", "grace method.tau=0.6"]
    assert main(["sweep", "table=nml/1", *rows, "dataset=cora", "--dry-run"]) == 2
    told = capsys.readouterr().err
    assert "another one for 'grace method.tau=0.6': --with 'grace method.tau=0.6'" in told


def test_a_row_without_runs_is_told_a_table_that_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """dmat/1 has the row already, and its sweep would refuse it."""
    monkeypatch.chdir(tmp_path)
    small = ["dataset=sbm", "dataset.nodes=200", "task=clustering", "device=cpu"]
    assert main(["method=kmeans", *small]) == 0
    capsys.readouterr()
    row = "kmeans filter=gnnbp"
    assert main(["report", "--runs", "runs", "--with", row]) == 2
    told = capsys.readouterr().err
    (table,) = re.findall(r"`gclbench sweep table=(\S+) --with 'kmeans filter=gnnbp'` makes", told)
    assert main(["sweep", f"table={table}", "--with", row, "--dry-run"]) == 0
    assert main(["sweep", "table=dmat/1", "--with", row, "--dry-run"]) == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["méthode=grace"], "'méthode' does not exist: a setting is letters, digits, _ and dots."),
        (["méthod=grace"], "and dots. Did you mean 'method'?"),
        (["table", "own", "--runs", ""], "--runs names a folder, and '' names none"),
        (["table", "nml/1", "--with", ""], "--with names a method, and '' names none"),
        (["status", ""], "DIR|SWEEP names a folder or a sweep, and '' names none"),
        (["embed", "", "--output", "z.npy"], "RUN names a run, and '' names none"),
        (["export", "--runs", "runs", "--to", ""], "--to names a folder, and '' names none"),
        (["compare", "grace", "dgi", "--output", ""], "--output names a file, and '' names none"),
        (["method.lr =3"], "'method.lr =3' has blanks beside the setting or its '='; write method"),
        (["show", ""], "RUN names a run, and '' names none"),
        (["figure", "curve", ""], "RUN names a run, and '' names none"),
        (["table", "dmat/1", "--output", "-"], "--output names a file, and '-' is none; /dev/std"),
    ],
)
def test_what_is_named_by_nothing_is_told(
    words: list[str], told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        assert main(words) == 2
    assert told in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_words_behind_a_wrong_option_are_not_called_wrong(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["search", "method=grace", "-m", "task=clustering", "criterion=loss", "--nonsense"])
    err = capsys.readouterr().err
    assert "cannot be read" not in err
    assert "-m is for runs;" in err and "there is no option '--nonsense'" in err


@pytest.mark.parametrize(
    ("words", "goes_on"),
    [(["table", "dmat/1"], False), (["report"], False), (["method=grace"], True), ([], True)],
)
def test_what_records_nothing_does_not_say_that_it_goes_on(
    words: list[str],
    goes_on: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_main", interrupted)
    assert main(words) == 130
    said = "; what was recorded stays, the same command goes on from there" * goes_on
    assert capsys.readouterr().err == f"\ninterrupted{said}\n"
