"""The first word of a command line: help, version, verbs, and what answers without torch."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gclbench import cli
from gclbench.cli import VERBS, main
from gclbench.cli.parser import KEYS
from gclbench.component.registry import KINDS, METHODS, RegistryConflict
from gclbench.config.validation import resolved
from gclbench.machine.memory_map import DiskTooSmall


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_names_every_verb_key_and_an_example(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 0
    out = capsys.readouterr().out
    for verb, summary in VERBS.items():
        assert verb in out and summary in out
    for key in (*KINDS, "seeds", "device", "runs_dir", "rerun", "time_limit"):
        assert f" {key}" in out
    assert "gclbench method=dmat_i dataset=cora" in out


def test_every_file_of_the_face_that_is_a_verb_is_listed_and_the_other_way_round() -> None:
    folder = Path(cli.__file__).parent
    verbs = {
        path.stem for path in folder.glob("*.py") if "def main(" in path.read_text(encoding="utf-8")
    } - {"__init__", "run"}
    assert verbs == set(VERBS)


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert f"usage: gclbench {verb}" in out
    assert "examples:" in out or verb == "doctor"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gclbench ")


@pytest.mark.parametrize(
    "word,guess",
    [
        ("lst", "list"),
        ("tabel", "table"),
        ("docter", "doctor"),
        ("LIST", "list"),
        ("stat", "status"),
    ],
)
def test_an_unknown_verb_is_told_the_nearest(
    word: str, guess: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert (
        captured.err
        == f"gclbench: there is no verb '{word}'. Did you mean 'gclbench {guess}'? Verbs:"
        f" {', '.join(VERBS)}. Settings are KEY=VALUE.\n"
    )


@pytest.mark.parametrize(
    "words,meant",
    [
        (["cora"], "dataset=cora"),
        (["DMAT-i", "cora"], "method=dmat_i"),
        (["method", "dmat_i"], "method=dmat_i"),
        (["clustering"], "task=clustering"),
        (["plot"], "figure"),
        (["run", "method=grace", "dataset=cora"], "method=grace dataset=cora"),
        (["run", "-m", "method=grace", "--dry-run"], "-m method=grace --dry-run"),
        (["run", "--dry-run"], "method=NAME dataset=NAME"),
        (["method", "=", "grace"], "method=grace"),
        (["train"], "method=NAME dataset=NAME"),
    ],
)
def test_a_run_without_its_keys_is_told_them(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert (
        f"there is no verb '{words[0]}'. Did you mean 'gclbench {meant}'?"
        in capsys.readouterr().err
    )


def test_verbs_may_follow_one_another_in_a_process(capsys: pytest.CaptureFixture[str]) -> None:
    """The module of the verb `list` must not stand in the way of the builtin."""
    assert main(["list", "tasks"]) == 0
    assert main(["lst"]) == 2
    assert "Did you mean 'gclbench list'?" in capsys.readouterr().err


def test_a_word_like_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xyzzy"]) == 2
    assert "there is no verb 'xyzzy'. Verbs: list, " in capsys.readouterr().err


def test_the_arguments_of_the_process_are_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gclbench", "list", "tasks"])
    assert main() == 0
    assert "clustering" in capsys.readouterr().out


def test_two_components_of_one_name_are_named_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def conflict(kind: str) -> list[str]:
        raise RegistryConflict(
            "method 'dmt' of other 1.0 is also defined in gclbench; rename one of them"
        )

    monkeypatch.setattr(METHODS, "names", lambda: conflict("method"))
    assert main(["list", "methods"]) == 2
    assert (
        capsys.readouterr().err
        == "gclbench: method 'dmt' of other 1.0 is also defined in gclbench; rename one of them\n"
    )


# --- real processes

WITHOUT_TORCH = """
import sys
from gclbench.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as ended:
    code = ended.code
names = ("torch", "torch_geometric", "sklearn", "pandas", "hydra")
heavy = [name for name in names if name in sys.modules]
print("imported:", heavy, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    "command,code",
    [
        (["--help"], 0),
        (["list"], 0),
        (["list", "methods"], 0),
        (["lst"], 2),
        (["table", "--help"], 0),
        (["show", "--help"], 0),
        (["data", "path", "cora"], 0),
        (["status", "nowhere"], 2),
    ],
)
def test_quick_answers_import_nothing_heavy(command: list[str], code: int, shell) -> None:
    result = shell("-c", WITHOUT_TORCH, *command)
    assert result.stderr.splitlines()[-1] == "imported: []", result.stderr
    assert result.returncode == code, result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["method=dmat_x"],
        ["-m", "method=dmt,dmat", "dataset=core"],
        ["method.lrr=1"],
        ["method.lr=["],
    ],
)
def test_a_misspelt_run_is_answered_before_torch_is_imported(command: list[str], shell) -> None:
    result = shell("-c", WITHOUT_TORCH, *command)
    assert result.stderr.splitlines()[-1] == "imported: ['hydra']", result.stderr
    assert result.returncode == 2, result.stderr


def test_python_dash_m_is_the_command(shell) -> None:
    result = shell("-m", "gclbench", "list", "methods")
    assert result.returncode == 0 and "dmat_i" in result.stdout
    assert shell("-m", "gclbench", "lst").returncode == 2


@pytest.mark.slow
def test_bad_overrides_exit_2_without_a_traceback(shell) -> None:
    result = shell(
        "-m", "gclbench", "methd=dmt", "method.tau=-1", "method.lr=[", "~filter", "task=[]"
    )
    assert result.returncode == 2 and result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 5 and all(line.startswith("gclbench: ") for line in lines)


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = (
        f"{sys.executable} -c 'import time; from gclbench.cli import main; time.sleep(0.5); raise"
        ' SystemExit(main(["list"]))\''
    )
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | true"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_the_keys_that_options_are_taken_for_are_those_of_a_command() -> None:
    assert set(KEYS) == {key.partition(".")[0] for key in resolved([])}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_device_behind_standard_output_is_an_error_of_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gclbench", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "gclbench: cannot write the output: No space left on device\n"


def test_streams_that_are_closed_are_none_at_all(tmp_path: Path) -> None:
    words = "-m gclbench dataset=sbm dataset.nodes=60 method=kmeans task=clustering"
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            f"'{sys.executable}' {words} {closed}",
            shell=True,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr, closed


def test_a_disk_that_is_full_elsewhere_is_not_taken_for_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(arguments: list[str]) -> int:
        raise DiskTooSmall(errno.ENOSPC, "filtered features do not fit; make room there")

    monkeypatch.setattr("gclbench.cli._main", full)
    assert main([]) == 1
    assert capsys.readouterr().err == "gclbench: filtered features do not fit; make room there\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough_leaves_the_exit_code(unbuffered: str, tmp_path: Path) -> None:
    words = ["dataset=sbm", "dataset.nodes=60", "method=bgrl", "negatives=nml", "task=clustering"]
    with subprocess.Popen(
        [sys.executable, "-m", "gclbench", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.wait(timeout=100) == 1, "a run that is refused is not ok"
        assert "BrokenPipe" not in process.stderr.read()
