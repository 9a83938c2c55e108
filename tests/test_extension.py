"""A method of another package: one file and an entry point, no change to gclbench."""

from __future__ import annotations

import importlib.util
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
    shutil.copy(source / "random_projection.py", target)
    metadata = target / "gclbench_random_projection-0.3.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gclbench-random-projection\nVersion: 0.3.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[gclbench.methods]\nrandom_projection = random_projection:RandomProjection\n"
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


def test_it_is_as_short_as_promised() -> None:
    files = [path for path in SOURCE.iterdir() if path.suffix in (".py", ".toml")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 60


def test_it_is_listed_with_its_origin(command: Command) -> None:
    result = command("list", "methods")
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "random_projection" in line]
    assert line.split(maxsplit=1) == ["random_projection", "from gclbench-random-projection 0.3.0"]


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


def test_its_settings_are_checked_and_suggested_like_any_others(command: Command) -> None:
    result = command(
        "method=random_projection", "method.dimensoin=8", "dimension=4", "method.dimension=0"
    )
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        (
            "gclbench: 'method.dimensoin' does not exist. Did you mean 'method.dimension'? Known:"
            " method.dimension"
        ),
        (
            "gclbench: 'dimension' does not exist. Did you mean 'method.dimension'? Known:"
            " checkpoint_every, dataset, device, filter, launcher, memory_limit, method, negatives,"
            " rerun, runs_dir, seeds, task, time_limit, tracking"
        ),
        "gclbench: method.dimension=0 is out of range: it must be ≥ 1",
    ]


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
