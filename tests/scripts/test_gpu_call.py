"""What a call of a lent GPU starts and brings back; its Python only notes what it is asked."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import gpu_sweep
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_call.sh"

NOTES = """#!/bin/bash
echo "$*" >> "$NOTED"
case "$*" in
*--better-by-mps*) exit 1 ;;
*gpu_sweep.py*)
    last="${!#}"
    mkdir -p "$last"
    # One list is over, the other still has its runs.
    if [[ $* == *"--plan launches"* && ! -d $last/runs && ! -f $last/gpu_sweep.json ]]; then
        mkdir "$last/runs"
    else
        echo '{}' > "$last/gpu_sweep.json"
        echo packed > "$last/records.tar.gz"
    fi
    ;;
*export*)
    last="${!#}"
    mkdir -p "$last"
    echo exported > "$last/some.jsonl"
    ;;
*equivalence.py*) echo "of $*" ;;
esac
"""


@pytest.fixture
def lent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as it lies on the machine, with a `python3` that notes its words in `noted`."""
    for folder in (".carry", ".whl", "bin", "out"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".carry" / "commit").write_text("0123456789ab\n")
    (tmp_path / ".whl" / "some.whl").touch()
    python = tmp_path / "bin" / "python3"
    python.write_text(NOTES)
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("NOTED", str(tmp_path / "noted"))
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    monkeypatch.setenv("WORK", str(tmp_path / "work"))
    monkeypatch.setenv("DEVICE", "cpu")
    return tmp_path


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(SCRIPT), *words], cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_the_first_call_starts_all_and_both_bring_it_back(lent: Path) -> None:
    first = called(lent, "first", "2", "1")
    assert first.returncode == 0, first.stderr
    noted = (lent / "noted").read_text()
    for plan in gpu_sweep.PLANS:
        assert f"gpu_sweep.py run --device cpu --plan {plan} --minutes 1 --output" in noted
    assert "--parts training tiles workers" in noted and "--parts kernel tests" in noted
    assert "by MPS" not in first.stdout
    assert "of " in first.stdout and "--methods homogcl phases" in first.stdout
    brought = lent / "out"
    assert {file.name for file in brought.iterdir()} == {
        "products.tar.gz",
        "launches.tar.gz",
        "reports.tar.gz",
    }
    with tarfile.open(brought / "launches.tar.gz") as archive:
        assert "records/some.jsonl" in archive.getnames(), "of a list that is under way"
    for file in brought.iterdir():
        file.unlink()
    rest = called(lent, "rest", "3")
    assert rest.returncode == 0, rest.stderr
    assert (brought / "products.tar.gz").read_text() == "packed\n"
    with tarfile.open(brought / "reports.tar.gz") as archive:
        names = archive.getnames()
    assert "./products/gpu_sweep.json" in names and "./lane1.log" in names
    assert not any("records" in name for name in names)


def test_what_was_not_packed_is_said(lent: Path) -> None:
    (lent / ".carry" / "commit").unlink()
    found = called(lent, "first", "2", "1")
    assert found.returncode == 2 and not (lent / "noted").exists()
    assert found.stderr.strip().endswith("python scripts/gpu_sweep.py pack makes it")


@pytest.mark.parametrize("words", [(), ("second",)])
def test_another_word_is_told_the_two(lent: Path, words: tuple[str, ...]) -> None:
    found = called(lent, *words)
    assert found.returncode == 2
    assert "gpu_call.sh first SECONDS MINUTES, or gpu_call.sh rest SECONDS" in found.stderr
