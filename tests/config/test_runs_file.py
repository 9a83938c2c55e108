"""`gclbench sweep FILE.yaml`: a list of sweeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.cli import main
from gclbench.config.overrides import ConfigErrors
from gclbench.config.runs_file import commands_of
from gclbench.config.validation import Experiment

FILE = """
common: dataset=cora,acm seeds=3
runs:
  - method=grace method.tau=0.4 dataset=cora   # its own dataset
  - [method=dgi, "method.lr=1e-3,1e-4"]
  - method=bgrl,grace grace.lr=0.1 dataset=acm
"""


def commands(path: Path, text: str, *more: str) -> list[str]:
    path.write_text(text)
    return [" ".join(words) for words in commands_of(path, list(more))]


def test_entries_are_sweeps_over_what_they_have_in_common(tmp_path: Path) -> None:
    assert commands(tmp_path / "runs.yaml", FILE) == [
        "seeds=3 method=grace method.tau=0.4 dataset=cora",
        "dataset=cora seeds=3 method=dgi method.lr=0.001",
        "dataset=cora seeds=3 method=dgi method.lr=0.0001",
        "dataset=acm seeds=3 method=dgi method.lr=0.001",
        "dataset=acm seeds=3 method=dgi method.lr=0.0001",
        "seeds=3 method=bgrl dataset=acm",
        "seeds=3 method=grace method.lr=0.1 dataset=acm",
    ]


def test_words_after_the_file_stand_above_it(tmp_path: Path) -> None:
    text = "- method=grace seeds=3\n- method=grace seeds=5\n"
    assert commands(tmp_path / "runs.yaml", text, "seeds=1") == ["method=grace seeds=1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs: []", "has no 'runs'"),
        ("method: grace", "has no 'runs'"),
        ("runs: [method=grace]\ncomon: seeds=3", "unknown key 'comon'. Did you mean 'common'?"),
        ("- {method: grace}", "entry 1: {'method': 'grace'} is neither a text"),
        ("- method=grace\n- method=dgi method=grace", "entry 2: 'method' is set twice"),
        ("- 'method=\"grace'", "entry 1: No closing quotation"),
        ("- [", "cannot be read as YAML"),
        ("- method=dgi grace.tau=1", "entry 1: 'grace.tau=1' is a setting of grace"),
    ],
)
def test_what_is_wrong_is_told_by_entry(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        commands(tmp_path / "runs.yaml", text)
    assert message in str(caught.value)
    assert str(tmp_path / "runs.yaml") in str(caught.value)


def test_the_verb_plans_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "runs.yaml").write_text(
        "common: dataset=digits task=clustering\nruns:\n  - method=grace,dgi grace.tau=0.5\n"
        "  - method=kmeans seeds=2\n"
    )
    assert main(["sweep", "runs.yaml", "--dry-run"]) == 0
    assert "4 runs: 0 are recorded in runs" in capsys.readouterr().out
    for path, told in (
        ("none", "there is no file none.yaml"),
        ("folder", "folder.yaml is a folder, not a file"),
    ):
        assert main(["sweep", f"{path}.yaml"]) == 2
        assert told in (err := capsys.readouterr().err)
        assert "give one with gclbench sweep FILE.yaml" in err


@pytest.mark.parametrize(
    ("file", "words", "workers"),
    [
        ("", [], "auto"),
        ("common: launcher.workers=1\n", [], 1),
        ("", ["launcher.workers=3"], 3),
    ],
)
def test_the_runs_of_a_file_are_spread_over_workers(
    file: str,
    words: list[str],
    workers: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gclbench.launch.execution.carry_out", lambda first, *_: seen.append(first))
    seen: list[Experiment] = []
    text = f"{file}runs:\n  - method=kmeans dataset=digits task=clustering seeds=2\n"
    (tmp_path / "runs.yaml").write_text(text)
    main(["sweep", "runs.yaml", *words])
    assert [each.launcher.workers for each in seen] == [workers]


def test_entries_that_name_several_places_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.yaml"
    path.write_text(
        f"common: method=linear dataset=digits\nruns:\n- runs_dir={tmp_path}/a\n"
        f"- runs_dir={tmp_path}/b launcher.workers=2\n"
    )
    assert main(["sweep", str(path)]) == 2
    told = capsys.readouterr().err
    assert f"several values of runs_dir: {tmp_path}/a, {tmp_path}/b; a sweep has one" in told
    assert "several values of launcher.workers: 1, 2; a sweep has one launcher.workers" in told
    assert not (tmp_path / "a").exists()
    assert (
        main(["sweep", str(path), "--dry-run", f"runs_dir={tmp_path}/a", "launcher.workers=2"]) == 0
    )


def test_entries_of_several_launchers_are_told_of_these_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.yaml"
    path.write_text(
        "common: method=linear dataset=digits\nruns:\n- launcher=local\n- launcher=slurm\n"
    )
    assert main(["sweep", str(path), "--dry-run"]) == 2
    told = capsys.readouterr().err
    assert "several values of launcher: local, slurm" in told and "launcher." not in told
    path.write_text(
        "common: method=linear dataset=digits launcher=slurm\n"
        "runs:\n- seeds=1\n- launcher.partition=gpu\n"
    )
    assert main(["sweep", str(path), "--dry-run"]) == 2
    told = capsys.readouterr().err
    assert "launcher.partition: null, gpu;" in told and "for all: launcher.partition=gpu" in told
