"""Runs on another device than the CPU, rehearsed without one: `other_device`.

Each training is stopped after its first step and taken up from its checkpoint, all on the device.
Its numbers are those of an undisturbed run on the CPU.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from other_device import DEVICE, DeviceFault, Elsewhere, rehearsal
from own_collections import save_cycles
from small_embeddings import of_collections

from gclbench.component.registry import METHODS, NEGATIVES, TASKS
from gclbench.component.settings import defaults
from gclbench.config.validation import Experiment, experiment_of
from gclbench.launch.plan import expand
from gclbench.launch.specification import specification
from gclbench.methods.dgi import Dgi
from gclbench.records import Record, Store
from gclbench.run import datasets, runner
from gclbench.run.unit import Unit
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.watch import Preempted

GRAPH = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6")
SMALL = {
    "epochs": "2",
    "architecture": "[8,6]",
    "hidden": "6",
    "projector": "5",
    "predictor": "5",
    "batch_size": "24",
    "subgraph_nodes": "20",
    "steps_per_epoch": "2",
    "pretrain_epochs": "2",
    "max_order": "3",
    "repetitions": "1",
    "n_init": "1",
    "dimensions": "6",
    "walks": "2",
    "length": "5",
}
"""Settings of methods, where a method has them. Two steps of several batches each."""

ON_NODES = [
    name for name in METHODS.names() if "nodes" in getattr(METHODS.load(name), "items", ("nodes",))
]
"""The methods that embed nodes. Those on collections are in methods/test_collection_model.py."""

ON_COLLECTIONS = {
    name for name in TASKS.names() if getattr(TASKS.load(name), "items", "nodes") == "graphs"
}
"""The tasks that take graphs of a collection, none on a single graph."""

CONTRASTED = [name for name in ON_NODES if getattr(METHODS.load(name), "takes_negatives", False)]
"""The methods that take strategies for negatives, perhaps at one of their settings."""

# The warm-ups end before the second step, so that what follows them is tried too.
AT_ONCE = {
    "progcl_weight": ("negatives.start_epoch=1",),
    "progcl_mix": ("negatives.start_epoch=1",),
}


def save_with_split(path: Path) -> None:
    """A circle of 40 nodes with a split of its own."""
    nodes = np.arange(40)
    np.savez(
        path,
        x=np.random.default_rng(0).normal(size=(40, 5)),
        edge_index=np.stack([nodes, (nodes + 1) % 40]),
        y=nodes % 2,
        train_mask=nodes < 20,
        val_mask=(nodes >= 20) & (nodes < 30),
        test_mask=nodes >= 30,
    )


def small(method: str) -> list[str]:
    known = {*defaults(METHODS.load(method))} - of_collections(method)
    found = [f"method.{name}={value}" for name, value in SMALL.items() if name in known]
    return [f"method={method}", *found]


def recorded(overrides: list[str], device: str, folder: Path, interrupted: bool) -> list[Record]:
    """The records of a command's runs of seed 3, by task."""
    graph = () if any(word.startswith("dataset=") for word in overrides) else GRAPH
    # Devices are compared here, and a processor may have fast products where the other has none.
    fixed = ("device=cpu", "seeds=[3]", "precision=float32")
    experiment = experiment_of([*graph, *fixed, *overrides])
    store = Store(folder)
    records = []
    for unit in expand([experiment], store).units:
        records += _run(replace(unit, device=device), experiment, store, interrupted)
    return sorted(records, key=lambda record: record.name("task"))


def _run(unit: Unit, experiment: Experiment, store: Store, interrupted: bool) -> list[Record]:
    stop = threading.Event()

    def stopped(done: int, total: int, loss: float) -> None:
        stop.set()

    specs = {
        task: specification(experiment, task, unit.seed, unit.dataset_hash) for task in unit.tasks
    }
    loaded = datasets.load(experiment.components.dataset)
    elsewhere = rehearsal() if unit.device == DEVICE else contextlib.nullcontext()
    with elsewhere:
        if interrupted:
            unit = replace(unit, checkpoint_every=1e9)
            try:
                return runner.run(unit, specs, experiment.components, loaded, store, stopped, stop)
            except Preempted:
                pass
        return runner.run(unit, specs, experiment.components, loaded, store)


def rehearse(folder: Path, *overrides: str) -> list[Record]:
    """Runs on the device, which end as they do on the CPU."""
    there = recorded([*overrides], DEVICE, folder / "there", interrupted=True)
    here = recorded([*overrides], "cpu", folder / "here", interrupted=False)
    for one, other in zip(there, here, strict=True):
        assert one.status == other.status, f"{one.reason}\n{one.traceback}"
        assert one.status in ("ok", "unsupported"), f"{one.reason}\n{one.traceback}"
        assert one.metrics == other.metrics
        assert one.fit.get("loss") == other.fit.get("loss")
        assert one.reason == other.reason
        assert one.fit.get("resumed", 0) == int("loss" in one.fit), "it was taken up once"
    return there


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
class TestEverythingRunsOnIt:
    @pytest.mark.parametrize("method", ON_NODES)
    def test_every_method(self, method: str, tmp_path: Path) -> None:
        records = rehearse(tmp_path, *small(method), "task=[classification,clustering]")
        assert "ok" in {record.status for record in records}

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ON_NODES)
    def test_every_method_on_the_other_tasks(self, method: str, tmp_path: Path) -> None:
        records = rehearse(tmp_path, *small(method), "task=[contrast,link_prediction]")
        contrast, links = (record.status for record in records)
        # Two views without negatives to choose; and pairs of nodes at `objective=nodes` alone.
        shown = {*CONTRASTED, "kmeans", "local_gcl"} - {"mvgrl"}
        assert (contrast == "ok") == (method in shown)
        assert (links == "ok") != getattr(METHODS.load(method), "needs_labels", False)

    @pytest.mark.parametrize("strategy", NEGATIVES.names())
    def test_every_strategy(self, strategy: str, tmp_path: Path) -> None:
        chosen = [f"negatives={strategy}", *AT_ONCE.get(strategy, ()), "task=[clustering,contrast]"]
        records = rehearse(tmp_path, *small("grace"), *chosen)
        assert [record.status for record in records] == ["ok", "ok"], [r.reason for r in records]

    @pytest.mark.slow
    @pytest.mark.parametrize("strategy", NEGATIVES.names())
    @pytest.mark.parametrize("method", CONTRASTED)
    def test_every_strategy_on_every_base(self, method: str, strategy: str, tmp_path: Path) -> None:
        settings = small(method)
        if "objective" in defaults(METHODS.load(method)):
            settings.append("method.objective=nodes")
        chosen = [f"negatives={strategy}", *AT_ONCE.get(strategy, ())]
        chosen.append("task=[classification,clustering,contrast,link_prediction]")
        records = rehearse(tmp_path, *settings, *chosen)
        assert {record.status for record in records} == {"ok"}

    @pytest.mark.parametrize("task", sorted({*TASKS.names()} - ON_COLLECTIONS))
    def test_every_task(self, task: str, tmp_path: Path) -> None:
        needed = {
            "tsne": ["task.tsne.perplexity=5"],
            "classification_public": ["dataset=custom", f"dataset.path={tmp_path / 'own.npz'}"],
        }
        save_with_split(tmp_path / "own.npz")
        (record,) = rehearse(tmp_path, *small("dmat_i"), f"task=[{task}]", *needed.get(task, ()))
        assert record.status == "ok", record.reason

    @pytest.mark.parametrize("task", sorted(ON_COLLECTIONS))
    @pytest.mark.parametrize("method", ["graphcl", "gin"])
    def test_every_task_of_collections(self, method: str, task: str, tmp_path: Path) -> None:
        save_cycles(tmp_path / "cycles.npz")
        given = ["dataset=custom_graphs", f"dataset.path={tmp_path / 'cycles.npz'}"]
        pieces = ["task.similarity.nodes=[6]"] if task == "similarity" else []
        (record,) = rehearse(tmp_path, *small(method), *given, f"task=[{task}]", *pieces)
        if method == "gin" and task != "graph_classification":
            assert "learns from" in record.reason
        else:
            assert record.status == "ok", record.reason


@dataclass(frozen=True)
class Forgetful(Dgi):
    """A method with a mistake that no run on a CPU shows."""

    mistake: str = "left"

    def model(self, *given: Any, **more: Any) -> Model:
        model = super().model(*given, **more)
        loss, mistake = model.loss, self.mistake

        def wrong(step: Step) -> Loss:
            found = loss(step)
            value = found.value
            if mistake == "left":
                value = value + torch.zeros(3).sum(dim=0, keepdim=True).sum(0) + torch.zeros(1)[:1]
            elif mistake == "mask":
                value = value + torch.ones(3)[torch.ones(3, device=value.device) > 0].sum()
            elif mistake == "written":
                torch.zeros(()).add_(value.detach())
            elif mistake == "unseeded":
                value = value * (1 + 0 * torch.rand((), device=value.device))
            elif mistake == "numpy":
                value.detach().numpy()
            return Loss(value.sum(), found.terms)

        model.loss = wrong  # type: ignore[method-assign]
        return model


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("left", "takes tensors of two devices"),
        ("mask", "takes tensors of two devices"),
        ("written", "takes tensors of two devices"),
        ("unseeded", "no seed of the run sets its generator"),
        ("numpy", "numpy"),
    ],
)
def test_a_planted_mistake_is_caught(
    mistake: str, told: str, tmp_path: Path, register_method: Callable[[str, type], None]
) -> None:
    register_method("forgetful", Forgetful)
    overrides = [*small("forgetful"), f"method.mistake={mistake}", "task=[clustering]"]
    (here,) = recorded(overrides, "cpu", tmp_path / "here", interrupted=False)
    (there,) = recorded(overrides, DEVICE, tmp_path / "there", interrupted=False)
    assert here.status == "ok", "on the CPU nothing is wrong with it"
    assert there.status == "failed" and told in there.reason


def test_what_a_gpu_does_too() -> None:
    with rehearsal():
        x = torch.arange(6.0).view(2, 3).to(DEVICE)
        assert (x * torch.tensor(2.0)).tolist() == [[0, 2, 4], [6, 8, 10]], "a number of the CPU"
        assert x[torch.tensor([1])].tolist() == [[3, 4, 5]], "indices on the CPU"
        assert x.cpu().sum() == 15 and not isinstance(x.cpu(), Elsewhere)
        here = torch.zeros(2, 3)
        here.copy_(x)
        assert float(here.sum()) == 15
        x[:, 0].add_(1)
        assert x.tolist() == [[1, 1, 2], [4, 4, 5]], "a view shares its memory"
        weight = torch.ones(3, 1).to(DEVICE).requires_grad_()
        (x @ weight).sum().backward()
        assert weight.grad is not None and weight.grad.tolist() == [[5], [5], [7]]
        with pytest.raises(DeviceFault, match=r"mm.* takes tensors of two devices: meta \(2, 3\)"):
            x @ torch.ones(3, 1)
        with pytest.raises(DeviceFault):
            torch.zeros(2, 3).add_(x)
    assert torch.zeros(2).to(DEVICE).is_meta, "outside the block the word means what it did"
