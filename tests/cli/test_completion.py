"""What the Tab key offers, as answered and in real shells."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gclbench.cli import VERBS, main
from gclbench.cli.candidates import candidates
from gclbench.cli.completion import SCRIPTS, _words


def offered(line: str) -> list[str]:
    return candidates(_words(f"gclbench {line}"))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sea", ["search"]),
        ("data", ["data", "dataset="]),
        ("method=gra", ["method=grace"]),
        ("-m method=dgi,gra", ["method=dgi,grace"]),
        ("task=[clustering,link", ["task=[clustering,link_prediction"]),
        ("method=grace method.ta", ["method.tau="]),
        ("method=kmeans method.ta", []),
        ("method.mask", ["method.mask_fraction="]),
        ("method=dmat_i filter.al", ["filter.alpha="]),
        ("filter=none filter.al", []),
        ("task.clustering.n_", ["task.clustering.n_init="]),
        ("launcher=slurm launcher.part", ["launcher.partition="]),
        ("rerun=", ["rerun=all", "rerun=failed", "rerun=incomplete", "rerun=never"]),
        ("tracking=w", ["tracking=wandb"]),
        ("list me", ["methods"]),
        ("data verify co", ["coauthor_cs", "coauthor_phy", "cora"]),
        ("table nml/", ["nml/1"]),
        ("table nml/1 --miss", ["--missing"]),
        ("figure cur", ["curve"]),
        ("embed --gr", ["--graph"]),
        ("search bud", ["budget="]),
        ("search method=grace search_", ["search_seed="]),
        ("table ow", ["own"]),
        ("submit sweep tab", ["table="]),
        ("compare dgi grac", ["grace", "grace_plus"]),
        ("search method=grace criterion=v", ["criterion=validation"]),
        ("sweep pap", ["paper="]),
        ("submit sw", ["sweep"]),
        ("completion f", ["fish"]),
        ("--dry", ["--dry-run"]),
        ("nothing", []),
    ],
)
def test_what_may_follow(line: str, found: list[str]) -> None:
    assert [name for name in offered(line) if name in found or not found] == found
    assert all(name.startswith(_words(f"gclbench {line}")[-1]) for name in offered(line))


def test_every_verb_is_offered_and_every_verb_has_an_answer() -> None:
    assert {*VERBS} <= {*offered("")}
    for verb in VERBS:
        assert "--help" in offered(f"{verb} --")


def test_runs_are_offered_by_their_ids() -> None:
    Path("runs/abc123").mkdir(parents=True)
    Path("runs/abc123/record.json").write_text("{}")
    Path("runs/abd").mkdir()
    assert offered("embed ab") == ["abc123"] == offered("figure curve ab")
    assert offered("show ab") == ["abc123"]


@pytest.mark.parametrize("line", ["met", "method=grace method.", "table ", "--", "tracking="])
def test_the_answer_takes_no_torch(line: str) -> None:
    code = (
        "import sys; from gclbench.cli import main; main(sys.argv[1:])\n"
        "assert 'torch' not in sys.modules, 'torch'; assert 'pandas' not in sys.modules, 'pandas'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "completion", "answer", f"gclbench {line}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


def test_scripts_are_printed_and_other_shells_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for shell, script in SCRIPTS.items():
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == script
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "shell cannot be 'tcsh'; choose from bash, zsh, fish" in capsys.readouterr().err


BASH = """
source script
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_LINE="$1"; COMP_POINT=${#COMP_LINE}
_gclbench
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { :; }
_files() { print FILES; }
compadd() { [[ ${@[-1]} == open ]] && print -l $open || print -l $closed; }
LBUFFER="$1"
source ./script
_gclbench
"""
FISH = """
source script
complete -C "$argv[1]" | string replace -r '\\t.*' ''
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("gclbench runs_d", "runs_dir="),
        ("gclbench method=kmea", "kmeans"),
        ("gclbench sear", "search"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_real_shell_completes(shell: str, line: str, found: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(SCRIPTS[shell])
    program = tmp_path / "gclbench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gclbench "$@"\n')
    program.chmod(0o755)
    text = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    arguments = [line] if shell == "fish" else [shell, line]
    done = subprocess.run(
        [shell, *flags, "-c", text, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        },
    )
    given = done.stdout.split()
    wanted = found if shell == "bash" or "=" not in line else f"method={found}"
    assert given == [wanted], done.stdout + done.stderr
