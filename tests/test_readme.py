"""README's commands and Python lines, as a reader would type them, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str, heading: str) -> list[str]:
    """The fenced blocks of a language under a heading of README; those of no language are ''."""
    (section,) = re.findall(
        rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL
    ) or [""]
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [text for name, text in fenced if name == language]


COMMANDS = [
    shlex.split(line, comments=True)
    for text in blocks("", "Use")
    for line in text.splitlines()
    if line.strip()
]

CHECK = """
import numpy, pandas
assert isinstance(runs, pandas.DataFrame) and list(runs["status"]) == ["ok", "ok"], runs
assert runs["acc"].between(0.1, 1).all() and set(runs["seed"]) == {0, 1}, runs
assert graph.name == "digits" and graph.num_nodes == len(graph.y)
assert isinstance(table, pandas.DataFrame) and len(table) > 0, table
assert isinstance(z, numpy.ndarray) and z.ndim == 2 and len(z) == graph.num_nodes, z.shape
assert numpy.isfinite(z).all() and z.std() > 0
"""
"""What the comments of README's Python lines promise."""


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python …` in a folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "GCLBENCH_DATA": str(folder / "cache"), "OMP_NUM_THREADS": "1"},
    )


def recorded(folder: Path) -> dict[str, int]:
    """When each record was written, by run id (ns)."""
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/record.json")}


@pytest.mark.slow
def test_its_python_lines_do_what_their_comments_say(tmp_path: Path) -> None:
    lines = "".join(blocks("python", "From Python"))
    assert "gclbench.run(" in lines, "README has no Python lines under 'From Python'"
    (tmp_path / "lines.py").write_text(lines + CHECK, encoding="utf-8")
    first = call(tmp_path, "lines.py")
    assert first.returncode == 0, first.stdout + first.stderr
    before = recorded(tmp_path)
    again = call(tmp_path, "lines.py")
    assert again.returncode == 0, again.stdout + again.stderr
    assert len(before) == 2 and recorded(tmp_path) == before, "a recorded run was repeated"


def test_it_shows_commands() -> None:
    assert len(COMMANDS) >= 8 and {command[0] for command in COMMANDS} == {"gclbench"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_is_taken_as_it_is_printed(
    command: list[str], mirror: Path, tmp_path: Path
) -> None:
    """Runs are only planned: they take hours."""
    runs = command[1] == "-m" or "=" in command[1]
    planned = ["--dry-run"] if runs else []
    if command[1] == "compare":
        # It compares what is recorded; README is read where the committed records are.
        (tmp_path / "results").symlink_to(Path(__file__).resolve().parents[1] / "results")
    result = call(tmp_path, "-m", "gclbench", *command[1:], *planned)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout and not result.stderr, result.stderr
    if runs:
        assert re.search(r"^[1-9]\d* runs?: 0 are recorded in runs", result.stdout, re.MULTILINE)
    if "--output" in command:
        output = tmp_path / command[command.index("--output") + 1]
        assert output.stat().st_size > 1000
