"""launcher=ray without Ray: settings, addresses, environment."""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gclbench.component.settings import bind
from gclbench.config.validation import experiment_of
from gclbench.launch.launcher import LaunchError
from gclbench.launch.plan import expand
from gclbench.launch.ray import PASSED_ON, Ray, environment, knock, record_interrupted
from gclbench.records import Store


def test_no_ray_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LaunchError, match=r"launcher=ray needs Ray: pip install 'gclbench\[ray\]'"):
        Ray().check()


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_that_refuses_is_named_at_once(prefix: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        address = f"{prefix}127.0.0.1:{taken.getsockname()[1]}"
        begun = time.monotonic()
        with pytest.raises(
            LaunchError,
            match=f"launcher.address={address}: nobody answers there .*Connection refused",
        ):
            knock(address)
        assert time.monotonic() - begun < 5


def test_an_address_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        knock(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("address", ["head", "head:", ":6379", "ray://head", "head:x"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(LaunchError, match=f"launcher.address={address} is no address: HOST:PORT"):
        knock(address)


def test_wrong_settings() -> None:
    errors: list[str] = []
    bind(Ray, {"adress": "x", "cpus": 0, "retries": -1}, "launcher", errors)
    assert errors == [
        "'launcher.adress' does not exist. Did you mean 'launcher.address'? "
        "Known: launcher.address, launcher.cpus, launcher.gpus, launcher.retries",
        "launcher.cpus=0 is out of range: it must be > 0, for example 1",
        "launcher.retries=-1 is out of range: it must be ≥ 0, for example 1",
    ]


def test_workers_get_what_they_need_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(PASSED_ON):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracker:5000")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    for secret in ("A_VARIABLE", "WANDB_API_KEY", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.setenv(secret, "x")
    monkeypatch.setenv("PYTHONPATH", f"src{os.pathsep}/opt")
    assert environment() == {
        "ATEN_CPU_CAPABILITY": "avx2",
        "GCLBENCH_OFFLINE": "1",
        "MLFLOW_TRACKING_URI": "http://tracker:5000",
        "OMP_NUM_THREADS": "2",
        "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}/opt",
    }
    monkeypatch.delenv("PYTHONPATH")
    assert "PYTHONPATH" not in environment()


def test_what_ray_ended_without_a_word_is_recorded_as_interrupted(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sbm = [
        "dataset=sbm",
        "dataset.nodes=60",
        "dataset.classes=2",
        "dataset.features=6",
        "method=kmeans",
        "task=clustering",
    ]
    units = expand([experiment_of([*sbm, "seeds=2", f"runs_dir={tmp_path}"])], store).units
    record_interrupted(units[:1], str(tmp_path))
    (first,) = store.scan()
    assert (first.seed, first.status) == (0, "interrupted")
    # A worker that did record what it was at knows more: its record stays.
    store.write(replace(first, reason="its own"))
    record_interrupted(units, str(tmp_path))
    assert {record.seed: record.reason == "its own" for record in store.scan()} == {
        0: True,
        1: False,
    }
