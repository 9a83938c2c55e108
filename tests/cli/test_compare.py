"""`gclbench compare` as a command."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from gclbench.cli import main
from gclbench.cli.advised_store import into
from gclbench.config.validation import experiment_of
from gclbench.records import Record, RunSpec, Store

WORDS = ["compare", "kmeans", "method=kmeans filter=laplacian"]


def run(filter: str, seed: int, acc: float, dataset: dict[str, str]) -> Record:
    spec = RunSpec(
        dataset,
        {"name": filter},
        {"name": "kmeans"},
        {"name": "uniform"},
        {"name": "clustering"},
        seed,
        {},
        "ab" * 32,
    )
    return Record(spec.id, asdict(spec), "ok", {"acc": acc})


@pytest.fixture(autouse=True)
def stored(here: Path) -> None:
    for seed in range(4):
        for name, value in (("none", 0.5), ("laplacian", 0.6)):
            acc = value + 0.001 * seed * (name == "none")
            Store("runs").write(run(name, seed, acc, {"name": "digits"}))


def test_aligned_text_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(WORDS) == 0
    head, row, *rest = capsys.readouterr().out.splitlines()
    assert head.index("verdict") == row.index("B better") and "digits" in row
    assert rest[0].startswith("A: kmeans. B: method=kmeans filter=laplacian.")


@pytest.mark.parametrize("name", ["compared.csv", "deep/compared.md"])
def test_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--output", name]) == 0
    made = ", made the folder deep" if name.startswith("deep/") else ""
    assert capsys.readouterr().out == f"wrote {name}{made}\n"
    text = Path(name).read_text(encoding="utf-8")
    if name.endswith("csv"):
        (row,) = csv.DictReader(text.splitlines())
        assert (row["b"], row["n"], row["verdict"]) == (WORDS[2], "4", "below")
    else:
        assert text.startswith("| dataset | task |") and "\n- A: kmeans." in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["compare", "kmeans", "kmean"], "Did you mean 'kmeans'?"),
        (["compare", "kmeans", "method=kmeans"], "are the same settings"),
        ([*WORDS, "--output", "x.png"], "x.png has none of the suffixes .csv, .md"),
        ([*WORDS, "--dataset", "cor"], "Did you mean 'cora'?"),
        ([*WORDS, "--task", "clusterin"], "Did you mean 'clustering'?"),
        ([*WORDS, "--runs", "nowhere"], "there is no folder 'nowhere'"),
        (["compare", "kmeans", "method=kmeans 'filter"], "No closing quotation"),
    ],
)
def test_wrong_commands(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert text in capsys.readouterr().err


def test_torch_is_not_imported() -> None:
    words = [*WORDS, "--runs", "runs"]
    code = f"import sys, gclbench.cli; print(gclbench.cli.main({words}), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 False", done.stderr


def test_a_graph_of_ones_own_is_named_as_it_is_recorded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for seed in range(3):
        for name in ("none", "laplacian"):
            Store("runs").write(run(name, seed, 1.0, {"name": "blocks", "from": "custom"}))
    assert main([*WORDS, "--runs", "runs", "--dataset", "blocks"]) == 0
    out = capsys.readouterr().out
    assert "blocks" in out and "a tie in every seed" in out and "one seed" not in out
    assert main([*WORDS, "--runs", "runs", "--output", "tie.csv"]) == 0
    written = Path("tie.csv").read_text()
    assert ",a tie in every seed," in written and "undetermined" not in written
    assert main([*WORDS, "--runs", "runs", "--dataset", "blokcs"]) == 2
    assert "there is no dataset 'blokcs'" in capsys.readouterr().err


def test_commands_go_to_the_store_that_was_looked_in(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("my runs", "runs"):
        for seed in range(3):
            Store(folder).write(run("none", seed, 1.0, {"name": "cora"}))
        assert main([*WORDS, "--runs", folder, "--dataset", "cora"]) == 2
        commands = re.findall("`(gclbench [^`]*)`", capsys.readouterr().err)
        assert commands
        there = [text.endswith(" 'runs_dir=my runs'") for text in commands]
        assert all(there) if folder == "my runs" else not any(there)


def test_a_folder_is_typed_as_an_override_takes_it() -> None:
    found = {name: into([name]) for name in ("my runs", "my,runs", "/tmp/it's")}
    assert found["my runs"] == " 'runs_dir=my runs'"
    for name, words in found.items():
        typed = shlex.split(words)
        assert experiment_of(["method=kmeans", "dataset=digits", *typed]).runs_dir == name
