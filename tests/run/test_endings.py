"""How runs end: every ending is a record, and the sweep goes on."""

from __future__ import annotations

import errno
import itertools
import time
from pathlib import Path
from typing import Any

import pytest
from own_collections import save_cycles
from small_runs import SMALL, Unruly, run, write_graph
from torch_geometric.data import Data

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.launch.execution import execute
from gclbench.records import Record, Store, StoreError
from gclbench.run.clock import Clock
from gclbench.run.ending import Ending
from gclbench.tasks.classification import Classification
from gclbench.training.watch import Diverged


@pytest.mark.parametrize(
    "settings,stepped,advice",
    [
        (["method=grace"], True, "; a smaller method.lr or a larger method.tau may help"),
        (["method=grace"], False, "; a larger method.tau may help"),
        (
            ["method=nml_gcl"],
            True,
            "; a smaller method.lr or negatives.lr or a larger method.tau may help",
        ),
        (["method=nml_gcl"], False, "; a smaller negatives.lr or a larger method.tau may help"),
        (
            ["method=nml_gcl", "negatives.metric=oracle"],
            True,
            "; a smaller method.lr or a larger method.tau may help",
        ),
        (["method=augcl", "negatives.estimator=distance"], False, "; a larger method.tau may help"),
        (["method=mvgrl"], True, "; a smaller method.lr may help"),
        (
            ["method=mvgrl", "method.objective=nodes"],
            True,
            "; a smaller method.lr or a larger method.tau may help",
        ),
        (["method=bgrl"], True, "; a smaller method.lr may help"),
        (["method=dmt"], True, "; a smaller method.lr or a larger method.tau may help"),
        (["method=agc"], False, ""),
    ],
)
def test_a_diverged_run_names_settings_that_are_in_use(
    settings: list[str], stepped: bool, advice: str
) -> None:
    """The first loss is that of the initial weights, whatever the rate."""
    components = experiment_of([*settings, "dataset=digits"]).components
    found = Ending.of(Diverged("the loss became nan"), components, stepped)
    assert found == Ending("diverged", f"the loss became nan{advice}")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_what_is_out_of_memory(error: Exception) -> None:
    components = experiment_of(["method=agc", "dataset=digits"]).components
    assert Ending.of(error, components, stepped=True).status == "oom"
    other = OSError(errno.ENOSPC, "CUDA error: out of memory")
    assert Ending.of(other, components, stepped=True).status == "failed"


@pytest.mark.parametrize(
    "ending,status,reason",
    [
        ("nan_loss", "diverged", "the loss became nan at iteration 2 of 10"),
        (
            "nan_embedding",
            "diverged",
            "the embedding holds NaN or infinite values",
        ),
        ("memory", "oom", "MemoryError: no room"),
        ("gpu_memory", "oom", "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
        (
            "allocator",
            "oom",
            (
                "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"
                " to allocate 8 bytes"
            ),
        ),
        ("error", "failed", "ZeroDivisionError: division of a cake"),
        ("exit", "failed", "SystemExit: 3"),
        (
            "long",
            "timeout",
            "stopped after 1e-06 s at iteration 1 of 10; time_limit=SECONDS sets it",
        ),
        ("unsupported", "unsupported", "this method wants hypergraphs"),
    ],
)
def test_every_ending_is_a_record_of_each_task(ending: str, status: str, reason: str) -> None:
    limit = ["time_limit=0.000001"] if ending == "long" else []
    records = run("method=unruly", f"method.ending={ending}", *limit)
    assert set(records) == {"clustering", "classification", "link_prediction"}
    for record in records.values():
        assert (record.status, record.reason, record.metrics) == (status, reason, {})
        assert ("Traceback" in record.traceback) == (status == "failed")
        stored = Store("runs").read(record.id)
        assert stored is not None and (stored.status, stored.reason) == (status, reason)


def test_a_method_that_never_looks_at_the_time_is_ended_too() -> None:
    started = time.monotonic()
    records = run(
        "method=unruly", "method.ending=sleep", "task=[clustering,classification]", "time_limit=0.1"
    )
    assert time.monotonic() - started < 30
    for record in records.values():
        assert (record.status, record.limits) == ("timeout", {"time": 0.1})
        assert record.reason == "stopped after 1.1 s (time_limit=0.1); time_limit=SECONDS sets it"


def test_an_evaluation_that_takes_too_long_is_its_own_tasks_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gclbench.tasks.clustering import Clustering

    monkeypatch.setattr(Clustering, "evaluate", lambda *arguments: time.sleep(60))
    # Enough for the other task on a busy machine.
    records = run("method=unruly", "task=[clustering,classification]", "time_limit=3")
    assert {name: record.status for name, record in records.items()} == {
        "clustering": "timeout",
        "classification": "ok",
    }


def test_an_evaluation_that_fails_is_its_own_tasks_failure() -> None:
    records = run("method=unruly", "method.ending=rows")
    assert {record.status for record in records.values()} == {"failed"}
    assert "79" in records["clustering"].reason


@pytest.mark.parametrize("tasks", ["classification,clustering", "clustering,classification"])
def test_a_split_that_fails_is_its_own_tasks_failure(
    tasks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def split(*arguments: object) -> None:
        raise IndexError("a bug in the split\r\nand more")

    monkeypatch.setattr(Classification, "split", split)
    records = run("method=unruly", f"task=[{tasks}]")
    assert {name: (record.status, record.reason) for name, record in records.items()} == {
        "clustering": ("ok", ""),
        "classification": ("failed", "IndexError: a bug in the split"),
    }


def test_seconds_of_a_split_and_of_an_evaluation_are_their_own_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the other phases are of the training that the tasks share."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    clock = Clock(0.0)
    for _ in range(2):
        for name in ("split", "hide", "evaluate"):
            with clock.phase(name):
                pass
        found = clock.taken(0.0)
    assert found == {"load": 0.0, "hide": 2.0, "split": 1.0, "evaluate": 1.0}


def test_the_sweep_goes_on_after_a_run_that_failed() -> None:
    statuses = [
        run("method=unruly", f"method.ending={ending}", "task=clustering")["clustering"].status
        for ending in ("error", "memory", "fine")
    ]
    assert statuses == ["failed", "oom", "ok"]


def test_a_task_that_makes_no_sense_leaves_the_others_alone(here: Path) -> None:
    write_graph(here / "graph.npz", labelled=False, masked=False)
    records = run(
        "method=kmeans",
        "dataset=custom",
        "dataset.path=graph.npz",
        "task=[classification,link_prediction]",
    )
    assert records["link_prediction"].ok
    assert (
        records["classification"].status == "unsupported"
        and "needs labels" in records["classification"].reason
    )


def test_an_interrupt_ends_the_sweep_and_keeps_what_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits = iter([None, KeyboardInterrupt()])
    plain = Unruly.fit

    def fit(self: Unruly, *arguments: Any) -> Embedding:
        ending = next(fits)
        if ending is not None:
            raise ending
        return plain(self, *arguments)

    monkeypatch.setattr(Unruly, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        execute(experiment_of([*SMALL, "method=unruly", "task=clustering", "seeds=3"]))
    assert sorted((record.seed, record.status) for record in Store("runs").scan()) == [
        (0, "ok"),
        (1, "interrupted"),
    ]


def test_a_record_that_cannot_be_written_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Store, record: Record) -> Path:
        raise StoreError(28, "cannot write there: the disk is full")

    monkeypatch.setattr(Store, "write", refuse)
    with pytest.raises(StoreError, match="the disk is full"):
        run("method=unruly")


@pytest.mark.parametrize("past_torch", [False, True])
def test_a_method_that_writes_into_the_graph_is_the_one_that_fails(
    past_torch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = run("method=kmeans", "task=clustering", "filter=none")["clustering"]

    def fit(self: Unruly, graph: Data, *arguments: Any) -> Embedding:
        if past_torch:
            graph.x.numpy()[:] += 1
        else:
            graph.x.div_(3)
        return Embedding(graph.x.clone())

    monkeypatch.setattr(Unruly, "fit", fit)
    culprit = run("method=unruly", "task=clustering", "filter=none")["clustering"]
    assert culprit.status == "failed"
    assert "Unruly.fit wrote into graph.x, which other runs share; work on a copy" in culprit.reason
    again = run("method=kmeans", "task=clustering", "filter=none", "rerun=all")["clustering"]
    assert again.ok and again.metrics == clean.metrics and again.id == clean.id


def test_edited_graphs_are_not_scored_where_the_graphs_came_through_a_filter() -> None:
    """The copies would reach the method unfiltered."""
    save_cycles("graphs.npz")
    command = [
        *("device=cpu", "method=graph_statistics", "dataset=custom_graphs"),
        *("dataset.path=graphs.npz", "task=similarity"),
        *("task.similarity.nodes=[6]", "task.similarity.triplets=5"),
    ]
    plain, filtered = (
        execute(experiment_of([*command, f"filter={name}"]))[0] for name in ("none", "ssgc")
    )
    assert plain.ok and "triplet_accuracy_n6" in plain.metrics
    assert (filtered.status, filtered.metrics) == ("unsupported", {})
    assert "or saw it through a filter; try method=graph_statistics" in filtered.reason
