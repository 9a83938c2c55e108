"""What a run ran on."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gclbench.machine import environment
from gclbench.machine.environment import (
    LIBRARIES,
    PeakMemory,
    device_name,
    instructions,
    version,
    versions,
)


@pytest.fixture
def fresh(monkeypatch):
    """No answer of an earlier call, and no git: a test says what it would answer."""
    for cached in (environment.versions, environment._processor, environment._commit):
        cached.cache_clear()
    answers: list[SimpleNamespace] = []
    real = subprocess.run

    def run(command, **options):
        return answers.pop(0) if command[0] == "git" else real(command, **options)

    monkeypatch.setattr(subprocess, "run", run)
    yield answers
    for cached in (environment.versions, environment._processor, environment._commit):
        cached.cache_clear()


def answer(stdout: str, returncode: int = 0) -> SimpleNamespace:
    return SimpleNamespace(stdout=stdout, returncode=returncode)


@pytest.fixture
def source_tree(tmp_path, monkeypatch):
    """gclbench as if it ran from a source tree."""
    (tmp_path / "gclbench").mkdir()
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(
        environment, "__file__", str(tmp_path / "gclbench" / "machine" / "environment.py")
    )
    return tmp_path


def test_versions_of_everything_that_numbers_depend_on(fresh, source_tree):
    fresh.extend([answer("0123456789ab\n"), answer("")])
    found = versions()
    assert set(found) == {"gclbench", "python", "platform", "commit", *LIBRARIES}
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert found["torch"] == torch.__version__
    assert found["commit"] == "0123456789ab"
    assert all(isinstance(value, str) and value for value in found.values())


def test_torchs_version_names_its_build_without_importing_it():
    """A quick command must not wait for torch."""
    code = (
        "import sys; from gclbench.machine.environment import versions;"
        "print(versions()['torch']); assert 'torch' not in sys.modules;"
        "import torch; print(torch.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    read, imported = done.stdout.split()
    assert read == imported


@pytest.mark.parametrize(
    "source,found",
    [
        ("__version__ = '2.13.0+cu130'\ncuda = '13.0'\n", "2.13.0+cu130"),
        ("from x import y\n", None),
        ("((", None),
    ],
)
def test_the_build_is_read_from_torchs_source(tmp_path, monkeypatch, source, found):
    """A wheel of PyPI says 2.13.0 in its metadata, whatever it was built for."""
    monkeypatch.delitem(sys.modules, "torch")
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert environment._torch_build() is None, "no such file"
    (tmp_path / "version.py").write_text(source, encoding="utf-8")
    assert environment._torch_build() == found


@pytest.mark.parametrize(
    ("answers", "commit"),
    [
        ([answer("0123456789ab\n"), answer("")], "0123456789ab"),
        ([answer("0123456789ab\n"), answer(" M gclbench/watch.py\n")], "0123456789ab+changes"),
        ([answer("", 128), answer("", 128)], "unknown"),
    ],
)
def test_commit_of_a_source_tree(fresh, source_tree, answers, commit):
    fresh.extend(answers)
    assert environment._commit() == commit


def test_commit_of_an_installed_package(fresh, source_tree, monkeypatch):
    (source_tree / ".git").rmdir()
    monkeypatch.delenv("GCLBENCH_COMMIT", raising=False)
    assert environment._commit() == "none (installed from a package)"
    environment._commit.cache_clear()
    monkeypatch.setenv("GCLBENCH_COMMIT", "0123456789ab")
    assert environment._commit() == "0123456789ab", "of a tree copied without its .git"


def test_the_name_of_a_commit_does_not_hide_the_trees_own(fresh, source_tree, monkeypatch):
    monkeypatch.setenv("GCLBENCH_COMMIT", "named")
    fresh.extend([answer("0123456789ab\n"), answer("")])
    assert environment._commit() == "0123456789ab"


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)])
def test_no_git_is_no_error(fresh, source_tree, monkeypatch, error):
    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr(subprocess, "run", broken)
    assert environment._commit() == "unknown"


def test_a_library_that_is_not_installed(fresh, source_tree, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    fresh.extend([answer("0123456789ab\n"), answer("")])
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert versions()["scipy"] == "not installed"
    assert version() == "not installed"


def test_device_name_of_a_processor(fresh):
    name = device_name("cpu")
    assert name.endswith(" cores")
    assert int(name.split()[-2]) >= 1
    assert len(name) > len(", 1 cores")


def test_the_instructions_are_those_that_torch_computes_with():
    assert instructions() == torch.backends.cpu.get_cpu_capability() != ""
    code = "from gclbench.machine.environment import instructions; print(instructions())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ATEN_CPU_CAPABILITY": "default"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "DEFAULT\n", "what is chosen, not what the processor has"


def test_peak_memory_sees_what_was_used_in_between():
    memory = PeakMemory("cpu")
    before = memory.read()["rss_peak"]
    block = np.ones(8 << 20)  # 64 MiB, touched
    after = memory.read()["rss_peak"]
    assert set(memory.read()) == {"rss_peak"}
    assert after >= block.nbytes
    if environment._reset_high_water_mark():
        assert after - before >= 0.8 * block.nbytes
        del block
        assert memory.read()["rss_peak"] >= 0
        assert PeakMemory("cpu").read()["rss_peak"] < after, "a new watch forgets the old peak"


def test_peak_memory_without_the_kernels_help(monkeypatch):
    monkeypatch.setattr(environment, "_reset_high_water_mark", lambda: False)
    assert PeakMemory("cpu").read()["rss_peak"] > 1 << 20
