"""docs/first-hour.md, as a reader would follow it: its files written, its commands executed."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:^`([^`\n]+)`:\n\n)?^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
"""(file, language, text) of every block; the file is named in the line before."""

INSTALL = "pip install -e ."


def steps() -> list[tuple[str, str]]:
    """(file, its text) and ("", command), in order, without the installation."""
    found = []
    for file, language, text in BLOCKS:
        if language == "sh":
            found += [("", line) for line in text.splitlines() if line != INSTALL]
        else:
            found.append((file, text))
    return found


def test_every_block_is_a_command_or_a_named_file() -> None:
    assert {language for _, language, _ in BLOCKS} == {"sh", "python", "toml"}
    assert all(bool(file) != (language == "sh") for file, language, _ in BLOCKS)
    assert PAGE.count("```") == 2 * len(BLOCKS)
    commands = [text for file, text in steps() if not file]
    assert len(commands) >= 14
    assert {text.split()[0] for text in commands} == {"gclbench", "python", "pip"}
    # What CI runs in a fresh environment.
    assert INSTALL in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_first_hour(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "results").symlink_to(ROOT / "results")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, words in (("gclbench", "-m gclbench"), ("python", ""), ("pip", "-m pip")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (tools / name).chmod(0o755)
    site = tmp_path / "site"
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(site), *sys.path[1:]]),
        "PIP_TARGET": str(site),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GCLBENCH_DATA": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    if importlib.util.find_spec("setuptools") is not None:
        environment["PIP_NO_BUILD_ISOLATION"] = "0"  # as pip reads it: no isolation
    printed: dict[str, str] = {}
    took: list[str] = []
    for file, text in steps():
        if file:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(text, encoding="utf-8")
            continue
        begun = time.perf_counter()
        done = subprocess.run(
            text,
            shell=True,
            executable="/bin/bash",
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        took.append(f"{time.perf_counter() - begun:6.1f} s  {text}")
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        printed[text] = done.stdout
    sys.stdout.write("\n".join(took))  # pytest -s shows it
    (own,) = (
        text for command, text in printed.items() if command == "gclbench table own --runs runs"
    )
    assert "own/clustering" in own and "own/classification" in own and "blocks" in own
    row = next(
        text for command, text in printed.items() if command.endswith("my_method --dataset cora")
    )
    assert "my_method minus the other columns: accuracy" in row and "(3) ▼" in row
    missing = next(text for command, text in printed.items() if "--missing" in command)
    assert "--with my_method" in missing
    assert r"my\_method" in (tmp_path / "nml-1.tex").read_text(encoding="utf-8")
    assert "blocks" in (tmp_path / "own.tex").read_text(encoding="utf-8")
    assert "Own runs" in (tmp_path / "report.html").read_text(encoding="utf-8")
