"""What a newcomer adds from a package of their own, with no change to gclbench.

| to add     | files                                            |
| a method   | one module, an entry point in gclbench.methods   |
| a strategy | one module, an entry point in gclbench.negatives |
| a dataset  | one module, an entry point in gclbench.datasets  |
| a paper    | one module, an entry point in gclbench.papers    |
"""

from __future__ import annotations

import configparser
import csv
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent / "extension_package"

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package was installed into: by pip where setuptools is there, else by
    hand as pip does."""
    source = shutil.copytree(
        SOURCE,
        tmp_path_factory.mktemp("source") / "package",
        ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"),
    )
    target = tmp_path_factory.mktemp("site")
    if (
        importlib.util.find_spec("setuptools") is not None
        and importlib.util.find_spec("pip") is not None
    ):
        options = [
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--disable-pip-version-check",
            "--quiet",
            "--target",
            str(target),
        ]
        result = subprocess.run(
            [sys.executable, "-m", "pip", "install", *options, str(source)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert result.returncode == 0, result.stderr
        return target
    project = configparser.ConfigParser()
    project.optionxform = str  # type: ignore[assignment,method-assign]
    project.read(source / "pyproject.toml", encoding="utf-8")
    for path in source.glob("*.py"):
        shutil.copy(path, target)
    metadata = target / "gclbench_random_projection-0.3.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gclbench-random-projection\nVersion: 0.3.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "".join(
            line
            for section in project.sections()
            if section.startswith("project.entry-points.")
            for line in (
                f"[{section.partition(chr(34))[2].rstrip(chr(34))}]\n",
                *(f"{name} = {value.strip(chr(34))}\n" for name, value in project[section].items()),
            )
        )
    )
    return target


@pytest.fixture
def command(installed: Path, tmp_path: Path) -> Command:
    """Runs `gclbench …` in an empty folder of a Python that has the package."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
        environment = {
            **os.environ,
            "PYTHONPATH": paths,
            "GCLBENCH_DATA": str(tmp_path / "cache"),
            "OMP_NUM_THREADS": "1",
        }
        call = [sys.executable, "-m", "gclbench", *arguments]
        return subprocess.run(
            call, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path
        )

    return run


def test_each_part_is_as_short_as_promised() -> None:
    lines = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCE.iterdir()
        if path.suffix in (".py", ".toml")
    }
    assert all(count <= 50 for count in lines.values()), lines


def test_it_is_listed_with_its_origin(command: Command) -> None:
    result = command("list", "methods")
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "random_projection" in line]
    assert line.split(maxsplit=1) == ["random_projection", "from gclbench-random-projection 0.3.0"]


@pytest.mark.slow
def test_it_runs_at_its_settings_and_is_recorded(command: Command, tmp_path: Path) -> None:
    result = command(
        "method=random_projection",
        "dataset=digits",
        "method.dimension=8",
        "task=clustering",
        "task.clustering.n_init=1",
    )
    assert result.returncode == 0, result.stderr
    assert "digits   random_projection  clustering  acc" in result.stdout
    (path,) = tmp_path.glob("runs/*/record.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["status"] == "ok" and record["spec"]["method"] == {
        "name": "random_projection",
        "dimension": 8,
    }


@pytest.mark.slow
def test_its_settings_are_checked_and_suggested_like_any_others(command: Command) -> None:
    result = command(
        "method=random_projection", "method.dimensoin=8", "dimension=4", "method.dimension=0"
    )
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        (
            "gclbench: 'method.dimensoin' does not exist. Did you mean 'method.dimension'?"
            " Known of method=random_projection:"
            " method.dimension"
        ),
        (
            "gclbench: 'dimension' does not exist. Did you mean 'method.dimension'? Known:"
            " checkpoint_every, criterion, dataset, device, filter, launcher, memory_limit, method,"
            " negatives, precision, rerun, runs_dir, save, seeds, task, threads, time_limit,"
            " tracking"
        ),
        "gclbench: method.dimension=0 is out of range: it must be ≥ 1, for example 16",
    ]


def test_a_dataset_is_listed_with_its_origin(command: Command) -> None:
    result = command("list", "datasets")
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "ring_of_cliques" in line]
    assert line.split(maxsplit=1) == ["ring_of_cliques", "from gclbench-random-projection 0.3.0"]


@pytest.mark.slow
def test_a_dataset_is_loaded_at_its_settings_and_recorded(command: Command, tmp_path: Path) -> None:
    result = command(
        "method=kmeans",
        "filter=none",
        "dataset=ring_of_cliques",
        "dataset.cliques=4",
        "task=[clustering,classification]",
    )
    assert result.returncode == 0, result.stderr
    found = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("runs/*/record.json")]
    records = {record["spec"]["task"]["name"]: record for record in found}
    clustering = records["clustering"]
    assert {record["status"] for record in found} == {"ok"} and len(found) == 2
    assert clustering["spec"]["dataset"]["name"] == "ring_of_cliques"
    assert clustering["spec"]["dataset"]["cliques"] == 4
    assert clustering["metrics"]["acc"] == 1.0, "the classes are the cliques"
    assert clustering["repairs"] == []


@pytest.mark.slow
def test_a_datasets_settings_are_checked_and_suggested(command: Command) -> None:
    result = command("method=kmeans", "dataset=ring_of_cliques", "dataset.clique=4")
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "gclbench: 'dataset.clique' does not exist. Did you mean 'dataset.cliques'?"
        " Known of dataset=ring_of_cliques:"
        " dataset.cliques, dataset.size"
    ]
    result = command("method=kmeans", "dataset=ring_of_cliques", "dataset.size=0")
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "gclbench: dataset.size=0 is out of range: it must be ≥ 1, for example 10"
    ]


@pytest.mark.slow
def test_its_filter_and_its_settings_for_a_dataset_come_with_it(
    command: Command, tmp_path: Path
) -> None:
    result = command(
        "method=random_projection", "dataset=digits", "task=clustering", "task.clustering.n_init=1"
    )
    assert result.returncode == 0, result.stderr
    (path,) = tmp_path.glob("runs/*/record.json")
    spec = json.loads(path.read_text(encoding="utf-8"))["spec"]
    assert spec["method"] == {"name": "random_projection", "dimension": 12}
    assert spec["filter"] == {"name": "agc", "order": 3}


@pytest.mark.slow
def test_the_command_wins_over_what_it_states(command: Command) -> None:
    result = command("show", "method=random_projection", "dataset=cora", "filter=none")
    assert result.returncode == 0, result.stderr
    assert "filter:\n  name: none\nmethod:\n  name: random_projection\n  dimension: 16\n" in (
        result.stdout
    )


@pytest.mark.slow
def test_show_prints_its_configuration(command: Command) -> None:
    result = command("show", "method=random_projection", "dataset=digits")
    assert result.returncode == 0, result.stderr
    assert "Did you mean 'random_projection'?" in command("method=random_projections").stderr
    assert (
        "filter:\n  name: agc\n  order: 3\nmethod:\n  name: random_projection\n  dimension: 12\n"
    ) in result.stdout


def test_without_the_package_its_name_is_unknown(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "gclbench", "list", "methods"]
    result = subprocess.run(call, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert result.returncode == 0 and "random_projection" not in result.stdout


@pytest.mark.slow
def test_a_strategy_runs_with_any_base_and_a_pair_states_it(
    command: Command, tmp_path: Path
) -> None:
    """`method=weighted_grace` chooses its strategy, and both take the dataset's row."""
    short = ("dataset=ring_of_cliques", "task=clustering", "method.epochs=2")
    for words in (
        ("method=weighted_grace",),
        ("method=dmat_i", "negatives=constant_weight"),
        ("method=weighted_grace", "negatives=uniform"),
    ):
        result = command(*words, *short)
        assert result.returncode == 0, result.stderr
    found = {}
    for path in tmp_path.glob("runs/*/record.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["status"] == "ok", record["reason"]
        spec = record["spec"]
        found[spec["method"]["name"], spec["negatives"]["name"]] = (
            spec["method"]["tau"],
            spec["negatives"].get("weight"),
        )
    assert found == {
        ("weighted_grace", "constant_weight"): (0.25, 3.0),
        ("dmat_i", "constant_weight"): (1.0, 2.0),
        ("weighted_grace", "uniform"): (0.25, None),
    }


@pytest.mark.slow
def test_a_paper_s_table_holds_its_printed_numbers_beside_the_runs(command: Command) -> None:
    run = command(
        "method=random_projection", "dataset=ring_of_cliques", "task=clustering", "seeds=2"
    )
    assert run.returncode == 0, run.stderr
    (line,) = [line for line in run.stdout.splitlines() if "cliques Table 1" in line]
    assert "  acc  " in line and "  97.5 ± 1.5  " in line
    table = command("table", "cliques/1", "--format", "csv")
    assert table.returncode == 0, table.stderr
    (row,) = csv.DictReader(io.StringIO(table.stdout))
    assert (row["dataset"], row["metric"], row["n"]) == ("ring_of_cliques", "acc", "2")
    assert [row[key] for key in ("paper", "paper_mean", "paper_runs")] == [
        "97.5 ± 1.5",
        "0.975000",
        "10",
    ]
    sweep = command("sweep", "table=cliques/1", "seeds=3", "--dry-run")
    assert sweep.returncode == 0, sweep.stderr
    assert "3 runs: 2 are recorded in runs, 1 is to be done" in sweep.stdout
