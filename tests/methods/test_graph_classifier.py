"""Supervised classifiers of graphs: what they see of a fold, and that each layer learns."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from methods.small_collection import small_collection

from gclbench.cli import main
from gclbench.component.registry import DATASETS, METHODS, Entry
from gclbench.config.overrides import ConfigErrors
from gclbench.config.validation import experiment_of
from gclbench.graph import Graph, Unsupported
from gclbench.methods.gat_graphs import GatGraphs
from gclbench.methods.gcn_graphs import GcnGraphs
from gclbench.methods.gin import Gin
from gclbench.records import Store
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

NAMES = ("gin", "gin_eps", "graphsage", "gcn_graphs", "gat_graphs")


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_learns_paths_from_rings(name: str) -> None:
    graph = small_collection(60)
    labels = graph.y.clone()
    labels[40:] = -1
    settings = METHODS.load(name)(epochs=30, hidden=8, layers=2, batch_size=20, steps_per_epoch=3)
    watch = Watch()
    found = settings.fit(graph, labels, Streams(0), watch)
    assert found.z.shape == (60, 4 + 16) and found.scores.shape == (60, 2)
    right = found.scores.argmax(dim=1) == graph.y
    assert right[:40].float().mean() > 0.7
    assert watch.curve[-1][1] < 0.6 * watch.curve[0][1]


def test_no_other_graph_takes_part_in_a_training() -> None:
    graph = small_collection()
    labels = graph.y.clone()
    labels[16:] = -1
    other = small_collection()
    # Other features and other labels of the graphs that are tested.
    other.x = other.x.clone()
    other.x[other.graph_of >= 16] = other.x[other.graph_of >= 16].roll(1, dims=1)
    other.y = other.y.clone()
    other.y[16:] = 1 - other.y[16:]
    first, second = (
        Gin(epochs=2, hidden=8, steps_per_epoch=5).fit(one, labels, Streams(0), Watch())
        for one in (graph, other)
    )
    assert torch.equal(first.z[:16], second.z[:16])
    assert torch.equal(first.scores[:16], second.scores[:16])
    assert not torch.equal(first.z[16:], second.z[16:])


def test_statistics_of_the_training_graphs_change_no_step_and_read_no_other_graph() -> None:
    graph = small_collection()
    labels = graph.y.clone()
    labels[16:] = -1
    found, losses = {}, {}
    for statistics in ("running", "training"):
        watch = Watch()
        settings = GcnGraphs(
            epochs=4, hidden=8, batch_size=5, steps_per_epoch=4, statistics=statistics
        )
        found[statistics] = settings.fit(graph, labels, Streams(0), watch)
        losses[statistics] = watch.curve
    assert losses["running"] == losses["training"]
    assert not torch.equal(found["running"].scores, found["training"].scores)
    other = graph.clone()
    other.x = other.x.clone()
    other.x[other.graph_of >= 16] = other.x[other.graph_of >= 16].roll(1, dims=1)
    again = settings.fit(other, labels, Streams(0), Watch())
    assert torch.equal(found["training"].scores[:16], again.scores[:16])


def test_a_last_batch_of_one_node_does_not_stop_the_statistics() -> None:
    graph = small_collection()
    settings = GcnGraphs(
        epochs=1,
        hidden=8,
        batch_size=len(graph.y) - 1,
        steps_per_epoch=0,
        statistics="training",
    )
    assert settings.fit(graph, graph.y, Streams(0), Watch()).scores.isfinite().all()


def test_the_rate_is_halved_by_epochs() -> None:
    graph = small_collection()
    model = Gin(epochs=9, halve_every=3, batch_size=10).model(graph, graph.y, Streams(0))
    assert [model.rate(Step(n, 9)) for n in (1, 3, 4, 7)] == [1.0, 1.0, 0.5, 0.25]
    assert len(list(model.losses(Step(1, 9)))) == 50
    constant = Gin(halve_every=0).model(graph, graph.y, Streams(0))
    assert constant.rate(Step(90, 100)) == 1.0


def test_every_step_draws_its_batch_from_all_training_graphs() -> None:
    graph = small_collection()
    labels = graph.y.clone()
    labels[16:] = -1
    model, again, other = (
        Gin(batch_size=10, steps_per_epoch=7).model(graph, labels, Streams(seed))
        for seed in (0, 0, 1)
    )
    epochs = [model.cut() for _ in range(2)]
    for parts in epochs:
        assert [len(part.unique()) for part in parts] == [10] * 7, "no graph twice"
    drawn = torch.stack([torch.stack(parts) for parts in epochs])
    assert drawn.unique().tolist() == list(range(16))
    assert len({tuple(part.tolist()) for parts in epochs for part in parts}) == 14
    assert torch.equal(drawn, torch.stack([torch.stack(again.cut()) for _ in range(2)]))
    assert not torch.equal(drawn[0], torch.stack(other.cut()))
    few = Gin(batch_size=100, steps_per_epoch=2).model(graph, labels, Streams(0))
    assert [sorted(part.tolist()) for part in few.cut()] == [[*range(16)]] * 2


def test_the_recorded_loss_is_the_mean_over_the_steps() -> None:
    graph = small_collection()
    model = Gin(batch_size=10, steps_per_epoch=7).model(graph, graph.y, Streams(0))
    losses = list(model.losses(Step(1, 1)))
    values = torch.stack([loss.value.detach() for loss in losses])
    noted = torch.stack([loss.noted for loss in losses])
    torch.testing.assert_close(noted.sum(), values.mean())


def test_an_epoch_of_no_steps_is_a_pass() -> None:
    graph = small_collection()
    model = Gin(batch_size=10, steps_per_epoch=0).model(graph, graph.y, Streams(0))
    parts = model.cut()
    assert [len(part) for part in parts] == [10, 10, 4]
    assert torch.cat(parts).sort().values.tolist() == list(range(24))
    assert len(list(model.losses(Step(1, 1)))) == 3


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_training_that_is_stopped_goes_on_to_the_same_bits(
    name: str, steps: int, tmp_path: Path
) -> None:
    graph = small_collection()
    labels = graph.y.clone()
    labels[16:] = -1
    settings = METHODS.load(name)(epochs=5, hidden=8, batch_size=6, steps_per_epoch=steps)
    straight = settings.fit(graph, labels, Streams(0), Watch())
    stop = threading.Event()

    def until(done: int, total: int, loss: float) -> None:
        if done == 2:
            stop.set()

    def kept() -> Checkpoint:
        return Checkpoint(tmp_path / "state", "key", 1e9)

    with pytest.raises(Preempted, match="stopped at iteration 2 of 5"):
        settings.fit(graph, labels, Streams(0), Watch(until, checkpoint=kept(), stop=stop))
    torch.manual_seed(99)  # nothing may come from the global state
    watch = Watch(checkpoint=kept())
    resumed = settings.fit(graph, labels, Streams(0), watch)
    assert watch.resumed == 1
    assert torch.equal(resumed.z, straight.z) and torch.equal(resumed.scores, straight.scores)


def test_scores_are_those_of_the_heads_of_all_levels() -> None:
    graph = small_collection()
    model = Gin(hidden=8, layers=2).model(graph, graph.y, Streams(0)).eval()
    with torch.no_grad():
        found = model.embed(Step(1, 1))
        parts = found.z.split([4, 8, 8], dim=1)
        by_level = [head(part) for head, part in zip(model.head.heads, parts, strict=True)]
    torch.testing.assert_close(found.scores, sum(by_level))
    sums = torch.zeros(graph.items, 4).index_add_(0, graph.graph_of, graph.x)
    assert torch.equal(parts[0], sums), "the input is a level"


def test_what_nothing_is_learnt_from() -> None:
    graph = small_collection()
    none = torch.full((graph.items,), -1)
    with pytest.raises(Unsupported, match="gin layers learns from the labels of training graphs"):
        Gin().fit(graph, none, Streams(0), Watch())
    with pytest.raises(Unsupported, match="hidden=6 is shared by 4 heads .* give a multiple of 4"):
        GatGraphs(hidden=6).fit(graph, graph.y, Streams(0), Watch())
    with pytest.raises(ConfigErrors, match="batch_size=1 is out of range: it must be ≥ 2"):
        experiment_of(["method=gin", "dataset=mutag", "method.batch_size=1"])


class Small:
    """A collection of a test."""

    def load(self) -> Graph:
        return small_collection()

    def __hash__(self) -> int:
        return 1


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`dataset=small`, in an empty folder."""
    from dataclasses import make_dataclass

    small = make_dataclass("Small", [], bases=(Small,), frozen=True)
    entry = Entry("small", "a test's", "nowhere:Small", "a test", builtin=False)
    monkeypatch.setitem(DATASETS.entries, "small", entry)
    monkeypatch.setitem(DATASETS._classes, "small", small)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))


SHORT = ("method.epochs=2", "method.steps_per_epoch=2")
FOLDS = ("task=graph_classification", "task.graph_classification.folds=3")


def test_a_run_trains_once_for_each_fold(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []
    fit = Gin.fit

    def noted(self: Gin, graph: Graph, labels: torch.Tensor, *rest: object) -> object:
        assert graph.y is None
        seen.append(labels)
        return fit(self, graph, labels, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Gin, "fit", noted)
    words = ["method=gin", "dataset=small", *SHORT, "device=cpu"]
    assert main([*words, *FOLDS]) == 0
    hidden = torch.stack([labels < 0 for labels in seen])
    assert hidden.shape == (3, 24) and (hidden.sum(dim=0) == 1).all()
    (path,) = Path("runs").iterdir()
    record = Store(Path("runs")).read(path.name)
    assert record is not None and record.ok, record
    assert record.split["protocol"] == "stratified_3_folds"
    assert {"accuracy", "svm_accuracy", "accuracy_fold_std"} <= set(record.metrics)
    assert [iteration for iteration, _ in record.fit["curve"]] == [1, 2]
    assert main([*words, "task=graph_clustering"]) == 1
    (other,) = (name.name for name in Path("runs").iterdir() if name.name != path.name)
    reason = Store(Path("runs")).read(other).reason  # type: ignore[union-attr]
    assert reason.endswith("task=graph_classification reveals those of its training graphs")


def test_trainings_per_fold_keep_nothing_say_so_and_are_not_repeated_for_it(
    small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["method=gin", "dataset=small", *SHORT, "device=cpu", *FOLDS]
    asked = [*words, "save=[embedding,model]", "criterion=silhouette", "rerun=incomplete"]
    why = "method=gin is trained once for each fold of task=graph_classification, so there is no"
    assert main([*asked, "--dry-run"]) == 0
    assert f"1 of all runs: {why}" in capsys.readouterr().out
    assert main(asked) == 0
    assert f"1 run: {why}" in capsys.readouterr().err
    (record,) = Store("runs").scan()
    assert [remark.startswith(why) for remark in record.fit["remarks"]] == [True]
    path = Path("runs") / record.id
    assert [file.name for file in path.iterdir()] == ["record.json"]
    time = (path / "record.json").stat().st_mtime_ns
    assert main(asked) == 0
    assert (path / "record.json").stat().st_mtime_ns == time, "nothing lacks"
    assert main(["embed", record.id, "--output", "x.npy"]) == 1
    assert why in capsys.readouterr().err
