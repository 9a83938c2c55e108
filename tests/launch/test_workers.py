"""How many workers a sweep takes by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gclbench.cli import main
from gclbench.launch import local, pool, workers
from gclbench.launch.execution import unheard, unseen
from gclbench.launch.sweep import Sweep
from gclbench.launch.workers import PROCESS, workers_for
from gclbench.machine import threads
from gclbench.methods.mvgrl import Mvgrl
from gclbench.run import datasets
from gclbench.run.unit import Unit

UNIT = Unit(
    "kmeans",
    "sbm",
    ("dataset=sbm", "dataset.nodes=60"),
    0,
    ("clustering",),
    ("0" * 16,),
    "ab",
    ("",),
    device="cpu",
)


@pytest.fixture(autouse=True)
def a_large_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "cores", lambda: 8)
    monkeypatch.setattr(workers, "available_memory", lambda: 64 * PROCESS)


def test_one_per_core_and_never_more_than_units() -> None:
    assert workers_for([UNIT] * 20) == 8
    assert workers_for([UNIT] * 3) == 3
    assert workers_for([UNIT]) == 1


def test_settings_of_any_task_are_understood() -> None:
    unit = replace(UNIT, tasks=("tsne",), overrides=(*UNIT.overrides, "task.tsne.perplexity=5"))
    assert workers_for([unit] * 3) == 3


def test_cores_are_divided_by_the_threads_of_a_run() -> None:
    assert workers_for([replace(UNIT, threads=3)] * 20) == 2
    assert workers_for([replace(UNIT, threads=9)] * 20) == 1


def test_the_largest_graph_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "NODES_OF_ONE_THREAD", 100)
    large = replace(UNIT, overrides=("dataset=sbm", "dataset.nodes=200"), dataset_hash="cd")
    assert workers_for([UNIT, large, UNIT]) == 1


def test_memory_permitting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "available_memory", lambda: int(2.5 * PROCESS))
    assert workers_for([UNIT] * 20) == 2
    monkeypatch.setattr(workers, "available_memory", lambda: 0)
    assert workers_for([UNIT] * 20) == 1


def test_what_a_method_holds_besides_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each method on a graph is asked with its settings, not only the first or last one."""
    monkeypatch.setattr(workers, "available_memory", lambda: int(4.5 * PROCESS))
    words = ("dataset=sbm", "dataset.nodes=60", "method=mvgrl")
    mvgrl = replace(UNIT, method="mvgrl", overrides=(*words, "method.subgraphs=2"))
    assert workers_for([UNIT, mvgrl, UNIT] * 5) == 4
    monkeypatch.setattr(Mvgrl, "held_bytes", lambda self, graph: PROCESS * (self.subgraphs > 0))
    assert workers_for([UNIT, mvgrl, UNIT] * 5) == 2
    whole = replace(mvgrl, overrides=(*words, "method.subgraphs=0"))
    assert workers_for([whole] * 5) == 4
    assert workers_for([mvgrl, whole] * 5) == workers_for([whole, mvgrl] * 5) == 2


def test_a_graph_is_read_once_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    load = datasets.load
    monkeypatch.setattr(datasets, "load", lambda dataset: read.append(dataset) or load(dataset))
    both = [replace(UNIT, overrides=(*UNIT.overrides, f"method={name}")) for name in ("gcn", "dgi")]
    workers_for([*both, *both])
    assert len(read) == 1


def test_one_per_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    assert workers_for([replace(UNIT, device="auto")] * 20) == 4
    assert workers_for([replace(UNIT, device="cuda:1")] * 20) == 1
    assert workers_for([UNIT] * 20) == 8, "device=cpu"


def test_a_graph_that_cannot_be_had_is_left_to_its_run() -> None:
    gone = replace(UNIT, overrides=("dataset=custom", "dataset.path=nowhere.npz"))
    assert workers_for([gone] * 4) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-m", "seeds=2"], "auto"),
        (["seeds=2"], 1),
        (["-m", "seeds=2", "launcher.workers=1"], 1),
        (["-m", "seeds=2", "launcher=local", "launcher.workers=3"], 3),
        (["-m", "seeds=2", "launcher=local"], "auto"),
    ],
)
def test_a_sweep_takes_it_by_itself(
    words: list[str],
    expected: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    monkeypatch.setattr(local.Local, "run", lambda self, *rest: seen.append(self.workers))
    main([*words, "method=kmeans", "dataset=sbm", "dataset.nodes=60", f"runs_dir={tmp_path / 'r'}"])
    assert seen == [expected]


@pytest.mark.parametrize(
    ("devices", "dealt"),
    [
        (["auto", "cuda"], True),
        (["cpu", "cuda"], True),
        (["cuda:1", "auto"], False),
        (["cpu", "cpu"], False),
    ],
)
def test_gpus_are_dealt_out_unless_one_is_named(
    devices: list[str], dealt: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A worker that is given one GPU has no `cuda:1`."""
    seen: list[bool] = []
    monkeypatch.setattr(pool, "environments", lambda workers, gpus: seen.append(gpus) or [])
    monkeypatch.setattr(pool, "Pool", lambda *arguments: SimpleNamespace(run=lambda units: None))
    units = tuple(replace(UNIT, device=device) for device in devices)
    sweep = Sweep(str(tmp_path), units, "local", {})
    local.Local(workers=2).run(sweep, unseen, unheard)
    assert seen == [dealt]
