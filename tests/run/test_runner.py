"""The pipeline: what a method may see, how runs end, and what is recorded."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.settings import OneOf
from gclbench.config.validation import load
from gclbench.embedding import Contrast, Embedding
from gclbench.graph import MASKS, Unsupported
from gclbench.launch.execution import execute
from gclbench.records import Record, Store, StoreError
from gclbench.run import datasets
from gclbench.run.ending import Ending
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Watch

SMALL = ("dataset=sbm", "dataset.nodes=80", "dataset.classes=2", "dataset.features=8")
ENDINGS = (
    "fine",
    "nan_loss",
    "nan_embedding",
    "memory",
    "gpu_memory",
    "allocator",
    "error",
    "long",
    "unsupported",
    "exit",
    "rows",
    "sleep",
)


@dataclass(frozen=True)
class Unruly:
    """A method that ends as it is told."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False

    ending: Annotated[str, OneOf(*ENDINGS)] = "fine"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        match self.ending:
            case "nan_loss":
                watch(1, 10, 0.5)
                watch(2, 10, math.nan)
            case "nan_embedding":
                return Embedding(graph.x * math.inf)
            case "memory":
                raise MemoryError("no room")
            case "gpu_memory":
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            case "allocator":
                raise RuntimeError(
                    "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"
                    " allocate 8 bytes"
                )
            case "error":
                raise ZeroDivisionError("division of a cake\nby nobody")
            case "long":
                watch(1, 10, 0.5)
            case "unsupported":
                raise Unsupported("this method wants hypergraphs")
            case "exit":
                raise SystemExit(3)
            case "rows":
                return Embedding(graph.x[:-1])
            case "sleep":
                time.sleep(60)
        return Embedding(graph.x)


@dataclass(frozen=True)
class Spy:
    """A method that keeps what it is given."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    seen: ClassVar[list[tuple[Data, Tensor]]] = []

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        type(self).seen.append((graph, labels))
        return Embedding(graph.x)


@dataclass(frozen=True)
class LabelledSpy(Spy):
    """The same, semi-supervised."""

    needs_labels: ClassVar[bool] = True


@pytest.fixture(autouse=True)
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register_method: Callable[[str, type], None]
) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    register_method("unruly", Unruly)
    register_method("spy", Spy)
    register_method("labelled_spy", LabelledSpy)
    Spy.seen.clear()
    datasets.load.cache_clear()
    yield tmp_path
    datasets.load.cache_clear()


def run(*overrides: str) -> dict[str, Record]:
    """Runs a command; records by task (of one seed)."""
    small = () if "dataset=custom" in overrides else SMALL
    records = execute(load([*small, "device=cpu", *overrides]))
    return {f"{record.name('task')}": record for record in records}


def write_graph(path: Path, labelled: bool = True, masked: bool = True) -> Path:
    """60 nodes on a ring with chords, two classes, a public split."""
    nodes = np.arange(60)
    edges = np.concatenate([np.stack([nodes, (nodes + step) % 60]) for step in (1, 2, 7)], axis=1)
    arrays: dict[str, Any] = {
        "x": np.random.default_rng(0).normal(size=(60, 5)),
        "edge_index": edges,
    }
    if labelled:
        arrays["y"] = nodes % 2
    if masked:
        arrays |= {
            "train_mask": nodes < 20,
            "val_mask": (nodes >= 20) & (nodes < 30),
            "test_mask": nodes >= 30,
        }
    np.savez(path, **arrays)
    return path


# --- what a method may see
# -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task",
    [
        "clustering",
        "classification",
        "link_prediction",
        "[classification,clustering,link_prediction]",
    ],
)
def test_an_unsupervised_method_sees_no_label_and_no_mask(here: Path, task: str) -> None:
    write_graph(here / "graph.npz")
    public = ["task.classification.protocol=public"] if "classification" in task else []
    records = run("method=spy", "dataset=custom", "dataset.path=graph.npz", f"task={task}", *public)
    assert Spy.seen and all(record.ok for record in records.values())
    for graph, labels in Spy.seen:
        assert graph.y is None
        assert not any(mask in graph for mask in MASKS)
        assert labels.shape == (60,) and bool((labels == -1).all())


def test_a_semi_supervised_method_sees_the_labels_of_training_nodes_only(here: Path) -> None:
    write_graph(here / "graph.npz")
    record = run(
        "method=labelled_spy",
        "dataset=custom",
        "dataset.path=graph.npz",
        "task.classification.protocol=public",
    )
    assert set(record) == {"classification"}
    ((graph, labels),) = Spy.seen
    assert graph.y is None and not any(mask in graph for mask in MASKS)
    assert labels[:20].tolist() == [0, 1] * 10
    assert bool((labels[20:] == -1).all())


def test_a_semi_supervised_method_sees_no_label_in_clustering() -> None:
    run("method=labelled_spy", "task=[clustering,link_prediction]")
    assert len(Spy.seen) == 2
    assert all(bool((labels == -1).all()) for _, labels in Spy.seen)


@pytest.mark.parametrize("filtering", ["none", "gnnbp"])
def test_link_prediction_hides_held_out_edges_from_method_and_filter(filtering: str) -> None:
    experiment = load(
        [*SMALL, "method=spy", f"filter={filtering}", "task=link_prediction", "seeds=[5]"]
    )
    (record,) = execute(experiment)
    assert record.ok
    ((seen, _),) = Spy.seen
    whole = datasets.load(experiment.components.dataset).graph
    task = experiment.components.tasks["link_prediction"]
    split = task.split(whole, Streams(5))
    assert record.split == {"protocol": split.protocol, "hash": split.hash}
    visible = {tuple(pair) for pair in seen.edge_index.T.tolist()}
    held_out = [
        tuple(pair) for part in ("val_edges", "test_edges") for pair in split.parts[part].T.tolist()
    ]
    assert len(held_out) > 10 and len(visible) == whole.edge_index.shape[1] - 2 * len(held_out)
    for a, b in held_out:
        assert (a, b) not in visible and (b, a) not in visible
    component = experiment.components.filter
    training_only = component.apply(task.hide(whole, split)).x
    assert torch.equal(seen.x, training_only)
    if filtering == "gnnbp":
        assert not torch.allclose(seen.x, component.apply(whole).x)


def test_features_of_a_held_out_graph_are_not_kept_on_disk_and_others_are(here: Path) -> None:
    run("method=spy", "filter=gnnbp", "task=link_prediction")
    assert not list((here / "cache").rglob("*.npy"))
    assert (
        run("method=spy", "filter=gnnbp", "task=clustering")["clustering"].filter_report["cached"]
        is False
    )
    assert len(list((here / "cache").rglob("*.npy"))) == 1
    again = run("method=spy", "filter=gnnbp", "task=clustering", "rerun=all")["clustering"]
    assert again.filter_report["cached"] is True
    assert torch.equal(Spy.seen[-1][0].x, Spy.seen[-2][0].x)


def test_tasks_that_hide_nothing_share_one_embedding() -> None:
    records = run("method=spy", "task=[clustering,classification]")
    assert len(Spy.seen) == 1
    assert all(
        record.ok and record.shared == ["load", "filter", "fit"] for record in records.values()
    )
    run("method=spy", "task=[clustering,classification,link_prediction]", "rerun=all")
    assert len(Spy.seen) == 3


# --- how runs end
# --------------------------------------------------------------------------------------------


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
    components = load([*settings, "dataset=digits"]).components
    found = Ending.of(Diverged("the loss became nan"), components, stepped)
    assert found == Ending("diverged", f"the loss became nan{advice}")


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
        execute(load([*SMALL, "method=unruly", "task=clustering", "seeds=3"]))
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


# --- what is recorded
# ----------------------------------------------------------------------------------------


def test_a_record_says_how_it_came_to_be(here: Path) -> None:
    write_graph(here / "graph.npz")
    records = run(
        "method=dmat_i",
        "method.epochs=2",
        "dataset=custom",
        "dataset.path=graph.npz",
        "task=[classification,clustering]",
        "seeds=[4]",
    )
    record = records["classification"]
    assert record.ok and record.seed == 4
    assert set(record.seconds) == {"load", "split", "hide", "filter", "fit", "evaluate"}
    assert all(value >= 0 for value in record.seconds.values())
    assert record.memory["rss_peak"] > 1e7
    assert record.environment["torch"] == torch.__version__ and record.device
    assert record.fit["iterations"] == 2 and math.isfinite(record.fit["loss"])
    assert record.filter_report["solver"]
    assert record.repairs and "one direction" in " ".join(record.repairs)
    assert record.command.endswith("task=classification 'seeds=[4]'")
    assert (
        set(record.split) == {"protocol", "hash"} and record.split["protocol"] == "random_10_10_80"
    )
    assert records["clustering"].split == {}, (
        "clustering has no split; that of another task must not be recorded with it"
    )


def test_what_the_loss_compares_is_measured_after_a_training_of_pairs_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Contrast, "mean_cosine", lambda self: 0.25)
    trained = run("method=grace", "method.epochs=1", "task=[clustering,link_prediction]")
    assert [record.fit["mean_cosine"] for record in trained.values()] == [0.25, 0.25]
    for others in (
        ["method=grace", "method.epochs=0"],
        ["method=kmeans"],
        ["method=dgi", "method.epochs=1"],
    ):
        assert "mean_cosine" not in run(*others, "task=clustering")["clustering"].fit


def test_a_split_is_not_recorded_with_another_task() -> None:
    records = run("method=unruly", "method.ending=error", "task=[classification,clustering]")
    assert records["classification"].split["protocol"] == "random_10_10_80"
    assert records["clustering"].split == {}


def test_runs_are_bit_identical_and_do_not_depend_on_other_seeds_or_tasks() -> None:
    command = (
        "method=dmat_i",
        "method.epochs=3",
        "method.batch_size=32",
        "task=[clustering,classification]",
    )
    together = execute(load([*SMALL, *command, "seeds=3"]))
    alone = execute(load([*SMALL, *command, "seeds=[2]", "rerun=all"]))
    single = execute(load([*SMALL, *command[:3], "task=classification", "seeds=[2]", "rerun=all"]))
    by_id = {record.id: record.metrics for record in together}
    assert [record.metrics for record in alone] == [by_id[record.id] for record in alone]
    assert single[0].metrics == by_id[single[0].id]
    assert (
        len({str(record.metrics) for record in together if record.name("task") == "clustering"}) > 1
    ), "seeds must differ"


def test_the_graph_is_loaded_once_for_the_runs_that_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gclbench.data.sbm import SBM

    loads = []
    plain = SBM.load
    monkeypatch.setattr(SBM, "load", lambda self: loads.append(self) or plain(self))
    run("method=unruly", "task=clustering", "seeds=2")
    run("method=kmeans", "task=clustering")
    assert len(loads) == 1
    run("method=kmeans", "task=clustering", "dataset.seed=1")
    assert len(loads) == 2
